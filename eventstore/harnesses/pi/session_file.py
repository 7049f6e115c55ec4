"""Open pi's session files as sources: header, records, and the bytes between them."""

from __future__ import annotations

import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final

from eventstore.errors import BadInputError, NoSessionError
from eventstore.event import NewEvent
from eventstore.harnesses.lines import BLANK, BOM, objects_in
from eventstore.harnesses.names import is_name
from eventstore.harnesses.pi.dialects import NEWEST_VERSION, PI, Dialect
from eventstore.harnesses.pi.file import PiHeader, PiReader
from eventstore.harnesses.source import (
    LINE_END,
    Glue,
    KnownEvents,
    Piece,
    SeenRecords,
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    SourceRecord,
    SourceRemark,
    SourceSession,
    Tail,
    pieces_of_lines,
    without_parent,
)
from eventstore.records import Remark, Resume

_GOES_ON: Final = "the file ends with a repeat of an older record: {} continues from there"


class PiFile(SourceContents):
    """An open session file of pi, or of a harness that writes like pi."""

    growth = SourceGrowth.APPENDED

    def __init__(self, source: Source, dialect: Dialect = PI) -> None:
        self._source, self._dialect = source, dialect
        self.passing = frozenset({_GOES_ON.format(dialect.harness)})
        source.file.seek(0)
        self._header = find_header(source.file, source.name, dialect)
        written_as = f"{dialect.harness}/{self._header.version}"
        self.sessions = (
            SourceSession(name=self._header.session, format=written_as, header=self._header.raw),
        )

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        return PiReading(self._source, self._header, self._dialect, resume, known)


class PiReading(SessionReader):
    """One reading of a session file."""

    def __init__(
        self, source: Source, header: PiHeader, dialect: Dialect, resume: Resume, known: KnownEvents
    ) -> None:
        self._source, self._header, self._offset, self._line = source, header, resume.offset, resume.line
        self._goes_on = _GOES_ON.format(dialect.harness)
        self._lines = PiReader(
            header,
            SeenRecords(source),
            dialect,
            state=resume.state,
            is_known=partial(known.has, 0),
            earlier=partial(known.body, 0) if resume.offset else None,
        )

    def pieces(self) -> Iterator[Piece]:
        if not self._offset and self._header.differs:
            yield SourceRemark("differs", max(self._header.line, 1), self._header.differs)
        yield from pieces_of_lines(self._source.file, self._offset, self)
        if self._lines.repeated:
            yield SourceRemark("differs", self._lines.repeated, self._goes_on)

    def whole(self, text: bytes, offset: int) -> NewEvent | Iterator[Piece]:
        event = self._lines.plain(text, offset)
        if event is None:
            return self._pieces_of(text + b"\n", offset)
        self._line += 1
        return event

    def torn(self, text: bytes, offset: int) -> Iterator[Piece]:
        yield Tail()
        yield from self._pieces_of(text, offset)

    def go_past(self) -> None:
        self._line += 1

    def _pieces_of(self, raw: bytes, offset: int) -> Iterator[Piece]:
        """Yield the pieces of a line at an offset."""
        is_whole = raw.endswith(b"\n")
        line = self._lines.line(self._line, raw, offset)
        at = 0
        for start, stop, event in line.records:
            if at < start:
                yield Glue(raw[at:start])
            yield SourceRecord(event, line=line.number)
            at = stop
        if at < len(raw):
            yield LINE_END if at == len(raw) - 1 and is_whole else Glue(raw[at:])
        for reason in line.skipped:
            yield SourceRemark("skipped", line.number, reason)
        for number, reason in line.differs:
            yield SourceRemark("differs", number, reason)
        self._line += is_whole

    @property
    def line(self) -> int:
        return self._line

    @property
    def state(self) -> dict[str, Any]:
        return self._lines.state

    def records(self, session: int) -> int:  # noqa: ARG002  a file holds one
        return self._lines.records

    def unknown(self, session: int) -> Mapping[str, int]:  # noqa: ARG002
        return self._lines.unknown

    def orphans(self, session: int) -> Sequence[Remark]:  # noqa: ARG002
        return [without_parent(*each, "contexts start here") for each in self._lines.orphans]


_NUL_WITHIN: Final = 4096
_Header = tuple[bytes, dict[str, Any], int, bool]
"""A header as written and decoded, its line, and True if nothing precedes it."""
_UTF_16: Final = (BOM_UTF16_LE, BOM_UTF16_BE)


def find_header(lines: Iterable[bytes], source: str, dialect: Dialect = PI) -> PiHeader:
    """Return a file's header; if none is intact, derive one from the first record.

    A file is a session if it has a header preceded only by records, or if more than half of its lines hold
    records; blank lines and damaged records do not count. A text that quotes records is none. Raises
    BadInputError for a file that is no session, and for an unknown version.
    """
    header: _Header | tuple[()] = ()
    first: tuple[bytes, dict[str, Any]] | tuple[()] = ()
    line, filled, held = b"", 0, 0
    for number, line in enumerate(lines, 1):
        _check_text(line, number, source, dialect)
        text = line.removeprefix(BOM).strip(BLANK)
        objects = [
            (text[start:stop], each)
            for start, stop, each in objects_in(text, dialect)[0]
            if _can_be_typed(each) and not (dialect.slot and each.get("type") == dialect.slot)
        ]
        entries = [(raw, each) for raw, each in objects if dialect.is_type(each.get("type"))]
        if not (header or first) and entries[:1] != objects[:1]:
            problem = "is not a session file: no session begins with this record"
            raise NoSessionError(source, problem, _remedy(dialect), line=number)
        for raw, decoded in entries:
            if decoded["type"] == "session":
                header = header or (raw, decoded, number, not first)
            else:
                first = first or (raw, decoded)
        held += bool(entries)
        filled += bool(objects) or (text != b"" and not text.startswith(b"{"))
        if header and held == filled:
            return _header(source, dialect, header)
    if 2 * held > filled:
        return _header(source, dialect, header) if header else _headless(dialect, *first)
    if held:
        problem = f"is not a session file: {held:,} of {filled:,} lines hold records, and none is a header"
        raise NoSessionError(source, problem, _remedy(dialect))
    if line:
        raise NoSessionError(source, "contains no readable record", _remedy(dialect))
    raise BadInputError(source, "is empty", "there is nothing to import")


def _can_be_typed(decoded: dict[str, Any]) -> bool:
    """Return True unless the object's type is no text, which marks a damaged record."""
    return isinstance(decoded.get("type", ""), str)


def _remedy(dialect: Dialect) -> str:
    return f"name a session file of {dialect.harness}"


def _check_text(line: bytes, number: int, source: str, dialect: Dialect) -> None:
    if line.startswith(_UTF_16) or (line[:1] == b"{" and line[1:2] == b"\0") or line[:2] == b"\0{":
        raise BadInputError(source, "is in UTF-16", "save it as UTF-8", line=number)
    if b"\0" in line[:_NUL_WITHIN]:
        raise NoSessionError(source, "is not text", _remedy(dialect), line=number)


def _headless(dialect: Dialect, raw: bytes, decoded: dict[str, Any]) -> PiHeader:
    """Return a substitute header for a file without one, derived from its first record."""
    return PiHeader(
        raw=b"{}",
        session=f"headless-{sha256(raw).hexdigest()[:16]}",
        version=NEWEST_VERSION if "parentId" in decoded else 1,
        line=0,
        differs=f"there is no session header: {_refusal(dialect)}",
    )


def _refusal(dialect: Dialect) -> str:
    """Return what the harness does with a file without a valid header; only pi overwrites it."""
    return (
        "pi treats the file as empty and replaces it"
        if dialect is PI
        else f"{dialect.harness} does not open it"
    )


def _header(source: str, dialect: Dialect, found: _Header) -> PiHeader:
    raw, decoded, number, is_first = found
    session, differs = decoded.get("id"), ""
    if not isinstance(session, str) or not is_name(session):
        session = f"noid-{sha256(raw).hexdigest()[:16]}"
        differs = f"the session header has no id: {_refusal(dialect)}"
    elif not is_first:
        differs = f"an entry precedes the session header: {_refusal(dialect)}"
    return PiHeader(
        raw=raw,
        session=session,
        version=_version(decoded.get("version"), source, dialect, number),
        line=number,
        differs=differs,
    )


def _version(version: Any, source: str, dialect: Dialect, number: int) -> int:
    """Return the version, 1 if it is missing; pi treats an invalid one as the newest."""
    if version is None:
        return 1
    if isinstance(version, bool) or not isinstance(version, int | float):
        return NEWEST_VERSION
    if version > NEWEST_VERSION:
        raise BadInputError(
            source,
            f"{dialect.harness} session version {json.dumps(version)} is unknown",
            f"this refold reads versions 1 to {NEWEST_VERSION}",
            line=number,
        )
    return int(max(version, 1))
