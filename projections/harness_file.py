"""Write a session as a file that a harness resumes: all of it, or the context at its leaf."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from eventstore.errors import BadInputError, RefoldError
from eventstore.files.exporting import export_formats, export_session
from eventstore.files.importing import ImportResult, import_sessions
from eventstore.harnesses import harness
from eventstore.imports import newest_import
from eventstore.javascript import tolerant_json
from eventstore.log import EventLog, Snapshot
from eventstore.memory import MemoryLog
from eventstore.paths import events
from eventstore.records import FORMAT
from projections.context.build import context_at
from projections.context.cursor import resolve_cursor
from projections.resuming import resumable_at


class HarnessFile(NamedTuple):
    """A session as a harness's file, in pieces, and counts of what it lacks, by name."""

    pieces: Iterable[bytes]
    lost: Counter[str]


def harness_file(log: EventLog | Snapshot, session: str, form: str) -> HarnessFile:
    """Return a session as a file that the harness `form` resumes with refold's context.

    If the session's own records, with what the store added, give that context, they are the file. Otherwise it holds
    the context at the session's leaf alone. Raises NotFoundError; raises BadInputError for another form, or if there
    is no message.
    """
    if form not in (forms := export_formats()):
        raise BadInputError(f"format {form!r}", "is not known", f"use one of {', '.join(sorted(forms))}")
    with log.snapshot() as snapshot:
        if _is_exact(snapshot, session, form):
            return HarnessFile(export_session(log, session, form), Counter())
        resumable, lost = resumable_at(snapshot, resolve_cursor(snapshot, session))
        written = harness(form).written(resumable)
    if written is None or not (resumable.messages or resumable.summary):
        problem = f"a file of {form} cannot hold its messages" if written is None else "has no message"
        remedy = "export it as a file of its own harness, or as markdown"
        raise BadInputError(f"session {session!r}", problem, remedy)
    return HarnessFile(written.pieces, lost + written.lost)


def _is_exact(snapshot: Snapshot, session: str, form: str) -> bool:
    """Return True if all records, exported, give the context that refold has."""
    head, its = snapshot.head(session), harness(form)
    if its.needs_header and newest_import(snapshot, head) is None:
        return False
    versions = its.versions
    entries = [(each.seq, each.format) for each in events(snapshot, session) if each.is_entry]
    if not entries:
        return True
    if entries[-1][0] == head.leaf and all(version in versions for _, version in entries):
        return True
    sent = _messages(snapshot, session, form)
    if not sent:
        # A file that only holds data of another harness is none of this one's.
        return all(version in (*versions, FORMAT) for _, version in entries)
    with _read_again(export_session(snapshot, session, form)) as (log, found):
        # Data of another harness in a file may make it one of that harness.
        names = [each.id for each in found if each.format in versions]
        if not names:
            return False
        with log.snapshot() as again:
            return sent == _messages(again, session if session in names else names[0], form)


def _messages(snapshot: Snapshot, session: str, form: str) -> list[Any]:
    """Return the session's own messages in its context, by the rules of a harness."""
    context = context_at(snapshot, resolve_cursor(snapshot, session), rules=form)
    return [tolerant_json(part.raw) for part in context.parts if part.session == session]


@contextmanager
def _read_again(pieces: Iterable[bytes]) -> Iterator[tuple[MemoryLog, Sequence[ImportResult]]]:
    """Import a file from its pieces; no session is found in one that cannot be read."""
    with TemporaryDirectory() as folder:
        file, log = Path(folder) / "session", MemoryLog()
        with file.open("wb") as out:
            out.writelines(pieces)
        found: Sequence[ImportResult] = ()
        with suppress(RefoldError):
            found = import_sessions(log, file)
        yield log, found
