"""Export a session: the imported file unchanged, or a harness's file with later events."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from eventstore.errors import BadInputError, CorruptionError, NotFoundError
from eventstore.files.glue import PurgedError, segment_bytes
from eventstore.harnesses import harnesses
from eventstore.harnesses.base import Export
from eventstore.imports import import_parts, newest_import
from eventstore.log import EventLog, Snapshot
from eventstore.records import Import


def export_original(log: EventLog, session: str) -> Iterator[bytes]:
    """Yield the file that a session was imported from, in pieces, as at its newest import.

    A file with several sessions is returned whole for each of them. Raises NotFoundError for a session that
    was not imported from a file; raises CorruptionError at the end if the pieces differ from the bytes that
    were read.
    """
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        newest = newest_import(snapshot, head)
        while newest is not None and newest.kept_by:
            head = snapshot.head(newest.kept_by)
            newest = newest_import(snapshot, head)
        if newest is None or not newest.is_file:
            raise _no_file(session, is_imported=newest is not None)
        digest = sha256()
        _check_whole(snapshot, head.name, newest)
        for piece in _pieces(snapshot, head.name, newest):
            digest.update(piece)
            yield bytes(piece)
        if digest.hexdigest() != newest.digest:
            raise CorruptionError(
                head.name, head.import_seq, "the reassembled file differs from the imported one"
            )


def _check_whole(snapshot: Snapshot, session: str, newest: Import) -> None:
    """Raise BadInputError if some of a file was purged, before a part of it is written."""
    try:
        for _ in _pieces(snapshot, session, newest):
            pass
    except PurgedError as error:
        raise BadInputError(
            f"session {session!r}",
            "some of it was purged, so its original file is not here any more",
            f"export it as {' or '.join(sorted(export_formats()))}",
        ) from error


def _pieces(snapshot: Snapshot, session: str, newest: Import) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file; bytes that change in place come from the newest import."""
    changed = b"".join(segment_bytes(snapshot, [session], newest.head))
    yield changed
    to_skip = len(changed)
    for part in reversed(import_parts(snapshot, session, newest)):
        for segment in [part.lines, part.tail] if part is newest else [part.lines]:
            for piece in segment_bytes(snapshot, [session, *part.sessions], segment):
                yield piece[to_skip:]
                to_skip = max(0, to_skip - len(piece))


def _no_file(session: str, *, is_imported: bool) -> NotFoundError:
    was = "it was read from a database, not from a file" if is_imported else "it was written here"
    forms = " or ".join(sorted(export_formats()))
    return NotFoundError("imported file of session", session, f"{was}: export it as {forms}")


def export_session(log: EventLog | Snapshot, session: str, form: str) -> Iterator[bytes]:
    """Yield all of a session as a harness's file.

    Its own records are as they are; what was appended since is data, if the harness has no such record. Raises
    BadInputError for an unknown format.
    """
    exports = export_formats()
    if form not in exports:
        raise BadInputError(f"format {form!r}", "is not known", f"use one of {', '.join(sorted(exports))}")
    with log.snapshot() as snapshot:
        yield from exports[form](snapshot, session)


def export_formats() -> dict[str, Export]:
    """Return the exporters by format name."""
    return {name: export for each in harnesses() for name, export in each.exports.items()}
