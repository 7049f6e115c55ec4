"""A source of sessions, and the pieces that a format reads it as."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Protocol

import msgspec

from eventstore.event import Event, NewEvent
from eventstore.records import Resume

BEGINNING: Final = 64 << 10
"""Bytes of a file by which its harness is recognized."""
_COPY_BYTES: Final = 1 << 20


class Source:
    """A file with sessions, open for reading. `name` is what messages call it by."""

    def __init__(self, file: BinaryIO, path: str | os.PathLike[str], name: str) -> None:
        self.file, self.path, self.name = file, path, name
        self.size = os.fstat(file.fileno()).st_size

    def beginning(self) -> bytes:
        """Return the file's first bytes."""
        self.file.seek(0)
        return self.file.read(BEGINNING)

    def digest_to(self, offset: int, skip: int = 0):  # type: ignore[no-untyped-def]  # noqa: ANN201  hashlib's type is private
        """Return SHA-256 of the bytes before `offset` but for the first `skip`, and stand there."""
        digest = sha256()
        self.file.seek(skip)
        offset -= skip
        while offset and (block := self.file.read(min(_COPY_BYTES, offset))):
            digest.update(block)
            offset -= len(block)
        return digest


class Growth(Enum):
    """The ways that a source changes, which decide where the next import of it begins."""

    APPENDED = "appended"
    """Bytes come behind those that are there: reading goes on where it ended."""
    REWRITTEN = "rewritten"
    """The file is written anew: it is read from its beginning."""
    ROWS = "rows"
    """Rows of a database: there are no bytes to keep, and so no export of the original."""


class SourceSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session in a source: its name, the format of its records, and its header as it came ("{}": none)."""

    name: str
    format: str
    header: bytes = b"{}"


class SourceRecord(msgspec.Struct, frozen=True, gc=False):
    """A record at its place in the source: where the source has bytes, those of the event's body.

    `session` is its session's place among the source's. `waits_for` is the id of a record that comes later in the
    source and is to be stored before this one, its parent.
    """

    event: NewEvent
    session: int = 0
    line: int = 0
    waits_for: str = ""


class Glue(msgspec.Struct, frozen=True, gc=False):
    """Bytes between records."""

    data: bytes


class DerivedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event that follows from the source and has no bytes in it: a link, a move, a note.

    `into` names a session of another source that the event goes into, its newest generation; where the store does not
    have it, the event is dropped. One that the session has under the event's id already stays as it is.
    """

    event: NewEvent
    session: int = 0
    into: str = ""


class SourceRemark(msgspec.Struct, frozen=True, gc=False):
    """Something to know of a line: it holds what is no record, or its harness reads it otherwise."""

    what: Literal["skipped", "differs"]
    line: int
    reason: str
    session: int = 0


class Tail(msgspec.Struct, frozen=True, gc=False):
    """From here on the source is not finished: the next import reads it again."""


Piece = SourceRecord | Glue | DerivedEvent | SourceRemark | Tail


class KnownEvents(Protocol):
    """The contents of the log for the parts of a source that are not read again."""

    def has(self, session: int, event_id: str) -> bool:
        """Return True if the session has this event."""

    def body(self, session: int, event_id: str) -> bytes | None:
        """Return the bytes of the record with this id in the parts that are not read again, or None."""

    def sessions_with(self, event_id: str, among: Sequence[str] | None = None) -> Sequence[str]:
        """Return the names of the sessions of other sources that have an event with this id.

        It asks each session of the store once, or those in `among`: ask of all by the first record alone.
        """

    def event(self, session: str, event_id: str) -> Event | None:
        """Return an event of any session of the store, by the session's name, or None."""


class SessionReader(Protocol):
    """One reading of a source. All but `pieces` tells of what has been read so far."""

    def pieces(self) -> Iterator[Piece]:
        """Yield the source's pieces in the order of its bytes, of which none is left out."""

    @property
    def line(self) -> int:
        """The number of the next line, from 1; where there are none, of the next record."""

    @property
    def state(self) -> dict[str, Any]:
        """The data that another reading needs to go on from here."""

    def records(self, session: int) -> int:
        """Return how many records a session has in the source, those of earlier readings included."""

    def orphans(self, session: int) -> Sequence[tuple[int, str]]:
        """Return the lines of records whose parent has not come, with the parent's id, in order."""


class SourceContents(Protocol):
    """A source that a format has opened.

    `is_mutable`: whatever has changed in it, a session in it is the one that the log has under its name. Otherwise one
    of which more records have changed than not is another generation. `passing` are the reasons of remarks that hold
    only as long as nothing follows. The first `slot` bytes are no record, and change in place.
    """

    sessions: Sequence[SourceSession]
    growth: Growth
    is_mutable: bool
    passing: frozenset[str]
    slot: int = 0

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        """Begin to read where an earlier reading has ended."""


class SessionLocation(msgspec.Struct, frozen=True, kw_only=True):
    """A folder in which a harness keeps its sessions.

    `environment` maps a variable that names a folder to the place in that one, the first that is set and not empty
    counts; `default` is where it is without one. `pattern` matches the sessions' files below it.
    """

    environment: Mapping[str, str]
    default: str
    pattern: str

    def folder(self, environment: Mapping[str, str]) -> str:
        """Return the folder; "~" in it stands for the home folder."""
        named = (
            Path(environment[name], place)
            for name, place in self.environment.items()
            if environment.get(name)
        )
        return str(next(named, self.default))
