"""Define sources of sessions, and the pieces that a format reads them as."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from hashlib import sha256
from io import BufferedReader, FileIO
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, Protocol

import msgspec

from eventstore.errors import BadInputError
from eventstore.event import MAX_RECORD_BYTES, Event, NewEvent
from eventstore.log import SourceState
from eventstore.records import Remark, Resume

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BEGINNING_BYTES: Final = 64 << 10
"""Bytes of a file by which its harness is recognized."""
_TOGETHER: Final = 128 << 10
"""Bytes of adjacent lines that are taken together."""
_LARGEST_LINE: Final = 2 * MAX_RECORD_BYTES
"""Bytes of the longest line; one that is too large for a record is kept up to here."""
_COPY_BYTES: Final = 1 << 20
_END_BYTES: Final = 16 << 10
"""Bytes at each end of a followed file's known part that are compared."""
_CLOCK_STEP: Final = 2_000_000_000
"""Nanoseconds in which some file systems give two changes the same time."""


def source_path(path: str | os.PathLike[str]) -> bytes:
    """Return the path by which `Snapshot.source` knows a file."""
    return os.path.abspath(os.fsencode(path))


class _Beginning(FileIO):
    """The first `size` bytes of an open file."""

    def __init__(self, handle: int, size: int) -> None:
        super().__init__(handle, closefd=False)
        self._size = size

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        """Read into a buffer as much as fits; return the number of bytes, 0 at the end."""
        return super().readinto(memoryview(buffer)[: max(0, self._size - self.tell())])


class _LineReader(BufferedReader):
    """A file whose lines are not larger than any harness writes."""

    def __init__(self, raw: FileIO, name: str) -> None:
        super().__init__(raw, _TOGETHER)
        self._called = name

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line; raise BadInputError for one that is too large, without reading all of it."""
        if size is not None and size >= 0:
            return super().readline(size)
        line = super().readline(_LARGEST_LINE)
        if len(line) == _LARGEST_LINE:
            problem = f"has a line of more than {_LARGEST_LINE:,} bytes, from byte {self.tell() - len(line) + 1:,} on"
            raise BadInputError(self._called, problem, "name a session file that is whole")
        return line


class _Prefix(msgspec.Struct, frozen=True):
    """The first `size` bytes of a file: digests of both ends, and by the bytes left out.

    `format` opened the file, and `found` is what it found in them.
    """

    device: int
    inode: int
    size: int
    ends: bytes
    digests: dict[int, Any]
    format: Any
    found: Any


FollowedFiles = dict[bytes, _Prefix]
"""The parts of files that a process has read and imports again and again, by path."""


class Source:
    """An open file with sessions; `name` identifies it in messages.

    `file` ends where it ended when it was opened. A harness may write on meanwhile, but every part of an import has to
    see the same records, and the rest of a torn line is no line. Of a file in `followed`, only both ends of the bytes
    that are known are read again, if they are as they were; `format` is then what had opened it, and `found` what that
    had found in them.
    """

    def __init__(
        self,
        file: BinaryIO,
        path: str | os.PathLike[str],
        name: str,
        followed: FollowedFiles | None = None,
    ) -> None:
        self.path, self.name = path, name
        self._followed = followed
        self.stat = os.fstat(file.fileno())
        self.size = self.stat.st_size
        self.file: BinaryIO = _LineReader(_Beginning(file.fileno(), self.size), name)
        self._digests: dict[int, tuple[int, Any]] = {}
        self._known = self._known_part()
        self.format: Any = self._known.format if self._known is not None else None
        self.found: Any = self._known.found if self._known is not None else None

    def _known_part(self) -> _Prefix | None:
        """Return what is known of a followed file if it is the same one and has its ends still."""
        known = self._followed.get(source_path(self.path)) if self._followed is not None else None
        if known is None or (self.stat.st_dev, self.stat.st_ino) != (known.device, known.inode):
            return None
        return known if known.size <= self.size and known.ends == self._ends(known.size) else None

    def replace(self, file: BinaryIO, size: int) -> None:
        """Read another file from here on: the decompressed one."""
        self.file, self.size, self._followed = file, size, None

    def state(
        self, *, read: int, harness: str, sessions: tuple[str, ...], trusts_status: bool
    ) -> SourceState:
        """Return the state of the file when it was opened, read up to the offset `read`."""
        is_settled = time.time_ns() - self.stat.st_mtime_ns > _CLOCK_STEP
        # Bytes that were not read may have changed: the next import has to look.
        trusts_status &= is_settled and self._known is None
        return SourceState(
            path=source_path(self.path),
            size=self.stat.st_size,
            modified=self.stat.st_mtime_ns if trusts_status else 0,
            device=self.stat.st_dev,
            inode=self.stat.st_ino,
            read=read,
            harness=harness,
            sessions=sessions,
        )

    def beginning(self) -> bytes:
        """Return the file's first bytes."""
        self.file.seek(0)
        return self.file.read(BEGINNING_BYTES)

    def digest_to(self, offset: int, skip: int = 0):  # type: ignore[no-untyped-def]  # noqa: ANN201  hashlib's type is private
        """Return SHA-256 of the bytes before `offset`, except the first `skip`; seek to `offset`."""
        # Matching a source with its session asks for the same bytes as reading it.
        start, digest = self._digests.get(skip, (skip, sha256()))
        if start > offset:
            start, digest = skip, sha256()
        self.file.seek(start)
        left = offset - start
        digest = digest.copy()
        while left and (block := self.file.read(min(_COPY_BYTES, left))):
            digest.update(block)
            left -= len(block)
        self._digests[skip] = offset, digest.copy()
        return digest

    def begins_with(self, size: int, digest: str, skip: int = 0) -> bool:
        """Return True if `digest` is that of the first `size` bytes, except the first `skip`."""
        known = self._known.digests if self._known is not None and self._known.size == size else {}
        if skip in known and known[skip].hexdigest() == digest:
            self._digests = {each: (size, its) for each, its in known.items()}
        whole: str = self.digest_to(size, skip).hexdigest()
        return whole == digest

    def keep(self, size: int, digests: dict[int, Any]) -> None:
        """Keep the digests of the first `size` bytes for the next import of a followed file."""
        if self._followed is not None:
            device, inode, ends = self.stat.st_dev, self.stat.st_ino, self._ends(size)
            copies = {skip: digest.copy() for skip, digest in digests.items()}
            known = _Prefix(device, inode, size, ends, copies, self.format, self.found)
            self._followed[source_path(self.path)] = known

    def _ends(self, size: int) -> bytes:
        """Return a digest of both ends of the first `size` bytes; keep the file's position."""
        number, start = self.file.fileno(), max(0, size - _END_BYTES)
        first, last = os.pread(number, min(size, _END_BYTES), 0), os.pread(number, size - start, start)
        return sha256(first + last).digest()


class SeenRecords(dict[str, int]):
    """The offsets of the records of a reading, by id, to recognize repeats.

    Their bytes stay in the file: repeats are rare, and a digest of each record would take as long as its decoding.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._file = source.file

    def is_repeat(self, event_id: str, body: bytes) -> bool:
        """Return True if the record with this id, which was met, has these bytes."""
        # No object's text begins with all of another's, so equal bytes are the whole record.
        return os.pread(self._file.fileno(), len(body), self[event_id]) == body


class SourceGrowth(Enum):
    """The ways in which a source changes, which determine where the next import starts."""

    APPENDED = "appended"
    """Bytes are appended: reading resumes. If most records changed, it is a new generation."""
    REWRITTEN = "rewritten"
    """The file is rewritten: reading starts over. It is the same session, whatever changed."""
    ROWS = "rows"
    """Database rows that change in place: without bytes to keep, no export of the original."""


class SourceSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session in a source: name, format of its records, header as written ("{}" for none)."""

    name: str
    format: str
    header: bytes = b"{}"


class SourceRecord(msgspec.Struct, frozen=True, gc=False):
    """A record at its place in the source; its bytes are the event's body.

    `session` is the index of its session in the source.
    """

    event: NewEvent
    session: int = 0
    line: int = 0


class SourceRecords(msgspec.Struct, frozen=True, gc=False):
    """Adjacent lines that are one record each, with a line end; `data` is their bytes.

    Most lines of a file are such, and cost less together. They are of the first session and valid UTF-8. `line` is the
    number of the first one.
    """

    events: list[NewEvent]
    data: bytes
    line: int

    def pieces(self) -> Iterator[SourceRecord | Glue]:
        """Yield the lines piece by piece."""
        for number, event in enumerate(self.events, self.line):
            yield SourceRecord(event, line=number)
            yield LINE_END


class Glue(msgspec.Struct, frozen=True, gc=False):
    """Bytes between records."""

    data: bytes


TOO_LARGE: Final = "is larger than a record may be"
LINE_END: Final = Glue(b"\n")


class DerivedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event that follows from the source without bytes in it: a link, a note.

    `into` names the session of another source that gets the event, in its newest
    generation; if it is not in the store, the event is dropped. An event with an existing id is skipped, so that of
    several with one id the first counts.
    """

    event: NewEvent
    session: int = 0
    into: str = ""


class SourceRemark(msgspec.Struct, frozen=True, gc=False):
    """A remark on a line that is no record or is read differently; line 0 is the whole file."""

    what: Literal["skipped", "differs"]
    line: int
    reason: str
    session: int = 0


class Tail(msgspec.Struct, frozen=True, gc=False):
    """Marks the unfinished rest of a source, which the next import reads again."""


Piece = SourceRecord | SourceRecords | Glue | DerivedEvent | SourceRemark | Tail


class LineReader(Protocol):
    """A reading of a file of lines, line by line."""

    @property
    def line(self) -> int:
        """The number of the next line, from 1."""

    def whole(self, text: bytes, offset: int) -> NewEvent | Iterable[Piece]:
        """Return the event of a line that is one record of the first session, else its pieces.

        `text` is the line without its end, at an offset of the file; the pieces include the end.
        """

    def torn(self, text: bytes, offset: int) -> Iterable[Piece]:
        """Return the pieces of the file's last line, which has no end."""

    def go_past(self) -> None:
        """Go on to the next line without reading this one."""


def pieces_of_lines(file: BinaryIO, offset: int, reader: LineReader) -> Iterator[Piece]:
    """Yield the pieces of a file from an offset on, adjacent records of a line together."""
    file.seek(offset)
    while block := file.read(_TOGETHER):
        if not block.endswith(b"\n"):
            block += file.readline()
        *lines, rest = block.split(b"\n")
        events: list[NewEvent] = []
        begin, line, at = 0, reader.line, 0
        for text in lines:
            found = reader.whole(text, offset + at) if len(text) <= MAX_RECORD_BYTES else _past(text, reader)
            if isinstance(found, NewEvent):
                events.append(found)
            else:
                if events:
                    yield SourceRecords(events, block[begin:at], line=line)
                    events = []
                yield from found
                begin, line = at + len(text) + 1, reader.line
            at += len(text) + 1
        if events:
            yield SourceRecords(events, block[begin:at], line=line)
        if len(rest) > MAX_RECORD_BYTES:
            yield Tail()
            yield from (SourceRemark("skipped", reader.line, TOO_LARGE), Glue(rest))
        elif rest:
            yield from reader.torn(rest, offset + at)
        offset += len(block)


def _past(text: bytes, reader: LineReader) -> Sequence[Piece]:
    """Return the pieces of a line that is too large for a record, and go past it."""
    remark = SourceRemark("skipped", reader.line, TOO_LARGE)
    reader.go_past()
    return remark, Glue(text + LINE_END.data)


def one_by_one(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces with each record by itself."""
    for piece in pieces:
        if isinstance(piece, SourceRecords):
            yield from piece.pieces()
        else:
            yield piece


def without_parent(line: int, parent: str, result: str) -> Remark:
    """Return the remark on a record whose parent is missing, with the result in the harness."""
    return Remark(line, f"its parent {parent!r} is not in the file, so {result}")


class KnownEvents(Protocol):
    """The log's contents for parts of a source that are not read again."""

    def has(self, session: int, event_id: str) -> bool:
        """Return True if the session has this event."""

    def body(self, session: int, event_id: str) -> bytes | None:
        """Return the bytes of the record with this id in those parts, or None."""

    def sessions_with(self, event_id: str) -> Sequence[str]:
        """Return the other sources' sessions that have an event with this id."""

    def name(self, session: int) -> str:
        """Return the name that the log has for a session of the source."""

    def event(self, session: str, event_id: str) -> Event | None:
        """Return an event of any session in the store, or None."""

    def next(self, session: str, event_id: str) -> Event | None:
        """Return the entry of the same format that a session has behind an event, or None."""


class SessionReader(Protocol):
    """One reading of a source. All but `pieces` describes what was read so far."""

    def pieces(self) -> Iterator[Piece]:
        """Yield all pieces of the source in the order of its bytes."""

    @property
    def line(self) -> int:
        """The number of the next line, from 1; without lines, of the next record."""

    @property
    def state(self) -> dict[str, Any]:
        """The data that another reading needs to continue here."""
        return {}

    def records(self, session: int) -> int:
        """Return a session's number of records in the source, including earlier readings."""

    def resumed(self, session: int) -> int:  # noqa: ARG002  others are asked
        """Return the first line of a session's rows that is read, 0 if all are."""
        return 0

    def unknown(self, session: int) -> Mapping[str, int]:  # noqa: ARG002  others are asked
        """Return a session's numbers of records by unknown type, including earlier readings."""
        return {}

    def orphans(self, session: int) -> Sequence[Remark]:  # noqa: ARG002  others are asked
        """Return remarks on a session's records with a missing parent, in order (`without_parent`)."""
        return ()


class SourceContents(Protocol):
    """A source that a format has opened.

    `passing` are reasons of remarks that hold only while nothing follows. The first `slot` bytes are no record,
    and change in place.
    """

    sessions: Sequence[SourceSession]
    growth: SourceGrowth
    passing: frozenset[str]
    slot: int = 0

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        """Start to read where an earlier reading ended."""
