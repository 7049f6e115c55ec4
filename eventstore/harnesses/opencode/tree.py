"""Read the files of a session of a release before 1.2: its own, one a message, one a part.

They are below `storage`, in `session/PROJECT`, `message/SESSION` and `part/MESSAGE`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from eventstore.errors import BadInputError
from eventstore.harnesses.names import is_name, stored_id
from eventstore.harnesses.opencode.related_sessions import origin, parent_links
from eventstore.harnesses.opencode.rows import Rows, joined
from eventstore.harnesses.opencode.session_records import (
    AT_ONCE,
    Record,
    fields_of,
    made_later,
    number,
    record_of,
    text,
    time_of,
    version_of,
)
from eventstore.harnesses.source import (
    DerivedEvent,
    KnownEvents,
    Piece,
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    SourceRecord,
    SourceRemark,
    SourceSession,
)
from eventstore.records import Resume

SESSION: Final = re.compile(rb'\s*\{\s*"id"\s*:\s*"ses_')
"""The beginning of a session's file."""


class OpencodeTree(SourceContents):
    """The files of one session, which change in place."""

    growth = SourceGrowth.ROWS
    passing: frozenset[str] = frozenset()

    def __init__(self, source: Source) -> None:
        """Raise BadInputError for a file that names no session, or is none of a tree."""
        self.path = Path(os.fsdecode(source.path)).absolute()
        folder = self.path.parent.parent
        self.storage = folder.parent
        source.file.seek(0)
        header = source.file.read()
        self.info = fields_of(header)
        name = text(self.info.get("id"))
        if not is_name(name) or folder.name != "session":
            problem = "is not in opencode's folder" if name else "its session has no id"
            raise BadInputError(source.name, problem, "name the file in storage/session")
        version = version_of(self.info.get("version"))
        self.sessions = [SourceSession(name=name, format=version, header=header)]

    @property
    def is_left(self) -> bool:
        """True if a later release took the sessions over: its database is what goes on."""
        return next(self.storage.parent.glob("opencode*.db"), None) is not None

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:  # noqa: ARG002  it is read as a whole
        return _Reader(self, known)


class _Reader(SessionReader):
    def __init__(self, tree: OpencodeTree, known: KnownEvents) -> None:
        self._tree, self._known = tree, known
        self._line, self._count = 1, 0

    @property
    def line(self) -> int:
        return self._line

    def records(self, session: int) -> int:  # noqa: ARG002
        return self._count

    def pieces(self) -> Iterator[Piece]:
        (session,) = self._tree.sessions
        yield from parent_links(self._tree.info, 0, self._known)
        rows = Rows(session, {session.name: 0})
        pieces: list[Piece] = [rows.header(session.header, 1)]
        bodies = list(self._bodies(pieces))
        if original := self._original([found for found in map(record_of, bodies) if found.copied]):
            yield DerivedEvent(origin("fork", original))
        pieces += rows.messages(bodies, 1)
        self._line += len(bodies)
        for piece in pieces:
            if isinstance(piece, SourceRecord):
                self._count += 1
                # What the database took over may have changed there since.
                if self._tree.is_left and self._known.has(0, stored_id(piece.event.id)):
                    continue
            yield piece

    def _original(self, copied: Sequence[Record]) -> str:
        """Return the session that a fork's messages were copied from, "" if none has their times.

        Copies have ids of their own; the file of an original is named after its time.
        """
        times = {each.time or 0 for each in (*copied[:1], *copied[-1:])}
        for folder in sorted((self._tree.storage / "message").iterdir(), reverse=True) if times else ():
            if folder.name != self._tree.path.stem and is_name(folder.name):
                near = (
                    path
                    for path in folder.glob("*.json")
                    if any(abs(made_later(path.stem, time)) <= AT_ONCE for time in times)
                )
                # What cannot be read is told where it is imported.
                with suppress(OSError):
                    if times <= {time_of(fields_of(path.read_bytes())) for path in near}:
                        return folder.name
        return ""

    def _bodies(self, remarks: list[Piece]) -> Iterator[bytes]:
        """Yield messages with their parts, oldest first; add remarks on unreadable files."""
        found = {}
        for raw, path in self._objects("message", self._tree.path.stem, remarks):
            info = fields_of(raw)
            found[number(time_of(info)), text(info.get("id")), path.stem] = raw
        for place in sorted(found):
            yield joined(found[place], (part for part, _ in self._objects("part", place[-1], remarks)))

    def _objects(self, kind: str, name: str, remarks: list[Piece]) -> Iterator[tuple[bytes, Path]]:
        """Yield the objects in the files of a folder of the tree, with their paths, sorted by name."""
        try:
            paths = sorted(
                path for path in (self._tree.storage / kind / name).iterdir() if path.suffix == ".json"
            )
        except FileNotFoundError:
            return
        except OSError as error:
            remarks.append(SourceRemark("skipped", 0, f"{kind}/{name} cannot be read ({error.strerror})"))
            return
        for path in paths:
            try:
                raw, why = path.read_bytes(), "is not JSON"
            except OSError as error:
                raw, why = b"", f"cannot be read ({error.strerror})"
            if fields_of(raw):
                yield raw, path
            else:
                remarks.append(SourceRemark("skipped", 0, f"{kind}/{name}/{path.name} {why}"))
