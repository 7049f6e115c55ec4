"""Read and write oh-my-pi's session files, and distinguish them from pi's."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from eventstore.event import Event, EventFacts, Flag, NewEvent
from eventstore.frame import decode
from eventstore.harnesses.lines import objects_in
from eventstore.harnesses.names import is_name
from eventstore.harnesses.oh_my_pi.dialect import ADDED_KINDS, DIALECT, HEADER_FIELDS, SLOT
from eventstore.harnesses.pi import context_file
from eventstore.harnesses.pi.dialects import Dialect
from eventstore.harnesses.pi.export import export_file
from eventstore.harnesses.pi.file import PiHeader
from eventstore.harnesses.pi.session_file import PiFile, PiReading
from eventstore.harnesses.refold.events import compose
from eventstore.harnesses.resumable import Resumable, Written, without_unanswered
from eventstore.harnesses.source import (
    BEGINNING_BYTES,
    DerivedEvent,
    KnownEvents,
    Piece,
    SessionReader,
    Source,
    SourceRecord,
    SourceRecords,
    one_by_one,
)
from eventstore.imports import origin_link, started_link
from eventstore.javascript import TooDeepError, epoch_ms, iso_time, stringify, tolerant_json
from eventstore.log import Snapshot
from eventstore.records import Link, Resume, own_record

SLOT_BYTES: Final = 256
"""Bytes of the first line, with its line end, whatever the length of the title."""
_BLOB: Final = b'"blob:sha256:'
_REFERENCE: Final = re.compile(r"blob:sha256:([0-9a-f]{64})")
_LEVELS: Final = 6
"""Parent folders to search for blobs: a subagent's file is deeper than its parent's."""
_TASK: Final = b'"results"'
_AGENT: Final = re.compile(r"[\w.-]+")
"""A subagent's name, which is its file's name: no path separators."""
_NOTED_FIELDS: Final = ("title", "source", "updatedAt")
"""The fields of the first line that are kept as a note."""
_ROLES: Final = ("developer", "pythonExecution", "fileMention")
_MARKED: Final = re.compile(
    rb'"type"\s*:\s*"(?:session|model_change|message|%b)"|"fromExtension"|"blob:sha256:[0-9a-f]{64}"'
    % b"|".join(each.encode() for each in sorted({SLOT, *ADDED_KINDS}))
)


def has_marks(beginning: bytes) -> bool:
    """Return True if the beginning of a file has records that oh-my-pi writes and pi does not."""
    # Only a few types of lines can decide this; the others are not decoded.
    return any(_is_marked(line) for line in beginning.split(b"\n") if _MARKED.search(line))


def _is_marked(line: bytes) -> bool:
    try:
        records = [tolerant_json(line)]
    except (msgspec.DecodeError, TooDeepError):
        records = [record for *_, record in objects_in(line, DIALECT)[0]]
    return any(isinstance(each, dict) and _has_mark(each, line) for each in records)


def _has_mark(record: dict[str, Any], line: bytes) -> bool:
    type_ = record.get("type")
    if not isinstance(type_, str):
        return False
    is_marked = _MARKS.get(type_)
    return type_ in ADDED_KINDS or _BLOB in line or (is_marked is not None and is_marked(record))


def _is_slot(record: dict[str, Any]) -> bool:
    return (
        record.get("v") == 1 and isinstance(record.get("title"), str) and isinstance(record.get("pad"), str)
    )


def _is_of_its_roles(record: dict[str, Any]) -> bool:
    message = record.get("message")
    return isinstance(message, dict) and message.get("role") in _ROLES


def _is_by_extension(record: dict[str, Any]) -> bool:
    return "fromExtension" in record


_MARKS: Final[dict[str, Callable[[dict[str, Any]], bool]]] = {
    SLOT: _is_slot,
    "session": lambda record: not HEADER_FIELDS.isdisjoint(record),
    "model_change": lambda record: isinstance(record.get("model"), str) and "provider" not in record,
    "message": _is_of_its_roles,
    "compaction": _is_by_extension,
    "branch_summary": _is_by_extension,
}
"""Tests by record type that oh-my-pi, not pi, wrote a record or the title line."""


class TitledFile(PiFile):
    """An open session file of oh-my-pi."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, DIALECT)
        source.file.seek(0)
        line = source.file.readline(SLOT_BYTES + 1)
        self._title = _title_of(line)
        self.slot = SLOT_BYTES if self._title and len(line) == SLOT_BYTES and line.endswith(b"\n") else 0

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        return _TitledReading(self._source, self._header, self._dialect, resume, known, title=self._title)


def _title_of(line: bytes) -> dict[str, Any]:
    """Return the decoded title at the head of a file, nothing if it has none."""
    try:
        record: Any = tolerant_json(line)
    except (msgspec.DecodeError, TooDeepError):
        return {}
    return record if isinstance(record, dict) and record.get("type") == SLOT and _is_slot(record) else {}


class _TitledReading(PiReading):
    """Read a session file with the blobs and the subagents' sessions beside it."""

    def __init__(
        self,
        source: Source,
        header: PiHeader,
        dialect: Dialect,
        resume: Resume,
        known: KnownEvents,
        *,
        title: dict[str, Any],
    ) -> None:
        super().__init__(source, header, dialect, resume, known)
        self._title, self._known = title, known
        self._session, self._version = header.session, f"{dialect.harness}/{header.version}"
        self._path = Path(os.fsdecode(source.path))
        self._blobs = set[str]()

    def pieces(self) -> Iterator[Piece]:
        # Report the title on each read: it changes in place, in bytes that are not read again.
        if self._title:
            noted = {name: value for name, value in self._title.items() if name in _NOTED_FIELDS}
            digest = sha256(stringify(noted).encode()).hexdigest()
            yield self._note(f"title-{digest[:16]}", noted, epoch_ms(noted.get("updatedAt")))
        if parent := _session_in(Path(f"{self._path.parent}.jsonl")):
            call = self._known.event(parent, started_link(self._session))
            link = own_record(call) if call is not None else None
            started_by = link.event if isinstance(link, Link) else ""
            yield DerivedEvent(_link("subagent", parent, started_by, origin_link("subagent", started_by)))
        for several in super().pieces():
            is_plain = isinstance(several, SourceRecords) and not (
                _BLOB in several.data or _TASK in several.data
            )
            for piece in (several,) if is_plain else one_by_one((several,)):
                yield piece
                if isinstance(piece, SourceRecord):
                    yield from self._beside(piece.event)

    def _beside(self, event: NewEvent) -> Iterator[DerivedEvent]:
        """Yield a record's images from beside the file, and links to the sessions it started."""
        if _BLOB in event.body:
            for digest in sorted({*_references(tolerant_json(event.body))} - self._blobs):
                self._blobs.add(digest)
                if data := self._blob(digest):
                    yield self._note(f"blob-{digest}", {"blob": digest, "data": data}, event.time)
        if _TASK in event.body and event.kind == "message":
            for child in map(_session_in, self._started(tolerant_json(event.body))):
                if child:
                    yield DerivedEvent(_link("child", child, event.id, started_link(child)))
                    origin = _link(
                        "subagent", self._known.name(0), event.id, origin_link("subagent", event.id)
                    )
                    yield DerivedEvent(origin, into=child)

    def _note(self, event_id: str, fields: dict[str, Any], time: int | None) -> DerivedEvent:
        """Return a note; the same note again is the same event."""
        body = stringify(fields).encode()
        note = NewEvent(
            id=event_id,
            kind="note",
            body=body,
            format=self._version,
            parent=None,
            time=time,
            facts=EventFacts(flags=Flag.GIVES_TITLE if isinstance(fields.get("title"), str) else 0),
        )
        return DerivedEvent(note)

    def _blob(self, digest: str) -> str:
        """Return the text that the harness substitutes for a reference, "" if its blob is not found.

        An image becomes base64; a data URL was stored as text and is returned unchanged.
        """
        for folder in list(self._path.absolute().parents)[:_LEVELS]:
            try:
                data = (folder / "blobs" / digest).read_bytes()
            except OSError:
                continue
            if sha256(data).hexdigest() == digest:
                is_address = data.startswith(b"data:image/")
                return data.decode("utf-8", "replace") if is_address else b64encode(data).decode()
        return ""

    def _started(self, record: Any) -> Iterator[Path]:
        """Yield the session files of the subagents whose results a record holds."""
        details = record["message"].get("details") if isinstance(record.get("message"), dict) else None
        results = details.get("results") if isinstance(details, dict) else None
        for result in results if isinstance(results, list) else ():
            name = result.get("id") if isinstance(result, dict) else None
            if isinstance(name, str) and _AGENT.fullmatch(name):
                yield self._path.parent / self._path.name.removesuffix(".jsonl") / f"{name}.jsonl"


def _session_in(path: Path) -> str:
    """Return the id of the session in an oh-my-pi file; "" if it is not one or does not exist."""
    try:
        with path.open("rb") as file:
            beginning = file.read(BEGINNING_BYTES)
    except OSError:
        return ""
    for line in beginning.split(b"\n")[:2]:
        with suppress(msgspec.DecodeError, TooDeepError):
            record: Any = tolerant_json(line)
            if isinstance(record, dict) and record.get("type") == "session":
                name = record.get("id")
                return name if isinstance(name, str) and is_name(name) else ""
    return ""


def _link(relation: Literal["child", "subagent"], session: str, event: str, name: str) -> NewEvent:
    return compose(Link(relation=relation, session=session, event=event), id=name, time=None)


def _references(value: Any, key: str = "") -> Iterator[str]:
    """Yield the digests of the blobs that a record shows, not of compacted history."""
    if isinstance(value, str):
        if found := _REFERENCE.fullmatch(value):
            yield found[1]
    elif key != "frames":
        named = value.items() if isinstance(value, dict) else ()
        listed = ((key, each) for each in value) if isinstance(value, list) else ()
        for name, each in (*named, *listed):
            yield from _references(each, name)


def export_titled(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    """Yield the lines of a version 3 file for a session, including what the store appended."""
    yield title_slot(*_title(snapshot, session))
    yield from export_file(snapshot, session, DIALECT)


def _title(snapshot: Snapshot, session: str) -> tuple[str, str]:
    """Return a session's newest title and its time, from an entry or from the imported file."""
    titles = [snapshot.locate(session, each) for each in snapshot.ids(session, "title-")]
    newest = snapshot.head(session).info_seq or max(titles, default=0)
    event: Event | None = decode(snapshot.frame(session, newest), session) if newest else None
    fields: Any = tolerant_json(event.body) if event else {}
    title = fields.get("title", fields.get("name"))
    return title if isinstance(title, str) else "", iso_time(event.time if event else None) or iso_time(
        0
    ) or ""


def title_slot(title: str, updated_at: str) -> bytes:
    """Return a file's first line: 256 bytes with its line end; a title that does not fit is cut."""
    while True:
        fields = {"type": SLOT, "v": 1, "title": title, "updatedAt": updated_at, "pad": ""}
        line = stringify(fields).encode("utf-8", "replace")
        room = SLOT_BYTES - 1 - len(line)
        if room >= 0:
            return line.removesuffix(b'"}') + b" " * room + b'"}\n'
        title = title[: min(len(title) - 1, SLOT_BYTES)]


def written(resumable: Resumable) -> Written:
    """Return a file for a context.

    oh-my-pi sends no call without a result, and no seal of a thought beside such a call.
    """
    lost: Counter[str] = Counter()
    file = context_file.written(without_unanswered(resumable, lost), DIALECT)
    slot = title_slot(resumable.title, iso_time(resumable.time) or "")
    return Written([slot, *file.pieces], lost + file.lost)
