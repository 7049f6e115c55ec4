"""oh-my-pi's session files as sources: the title at their head, and the marks by which they are told from pi's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, Final

import msgspec

from eventstore.event import Facts, NewEvent
from eventstore.formats.oh_my_pi.own_kinds import DIALECT, OWN_KINDS, SLOT
from eventstore.formats.pi.file import objects_in
from eventstore.formats.pi.session_file import PiFile, PiReading
from eventstore.formats.source import Derived, Known, Piece, Reader, Source
from eventstore.javascript import TooDeepError, epoch_ms, stringify, tolerant_json
from eventstore.records import Resume

SLOT_BYTES: Final = 256
"""The size of the first line, its end included, however long the title is."""
_HEADER_MARKS: Final = frozenset(
    {"title", "titleSource", "additionalDirectories", "previousSessionFiles", "providerPromptCacheKey"}
)
_ROLES: Final = ("developer", "pythonExecution", "fileMention")
_MARKED: Final = re.compile(
    rb'"type"\s*:\s*"(?:session|model_change|message|%b)"|"fromExtension"|"blob:sha256:[0-9a-f]{64}"'
    % b"|".join(each.encode() for each in sorted({SLOT, *OWN_KINDS}))
)


def has_marks(beginning: bytes) -> bool:
    """Return True if a file that begins so has what oh-my-pi writes and pi does not."""
    # All that decides is in few lines; the others are not decoded.
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
    return type_ in OWN_KINDS or b'"blob:sha256:' in line or (is_marked is not None and is_marked(record))


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
    "session": lambda record: not _HEADER_MARKS.isdisjoint(record),
    "model_change": lambda record: isinstance(record.get("model"), str) and "provider" not in record,
    "message": _is_of_its_roles,
    "compaction": _is_by_extension,
    "branch_summary": _is_by_extension,
}
"""What tells a record of a type that pi writes, too, or the title at the head."""


class TitledFile(PiFile):
    """An open session file of oh-my-pi."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, DIALECT)
        source.file.seek(0)
        line = source.file.readline(SLOT_BYTES + 1)
        self._title = _title_of(line)
        self.slot = SLOT_BYTES if self._title and len(line) == SLOT_BYTES and line.endswith(b"\n") else 0

    def read(self, resume: Resume, known: Known) -> Reader:
        return _TitledReading(self._source, self._header, self._dialect, resume, known, title=self._title)


def _title_of(line: bytes) -> dict[str, Any]:
    """Return the title at the head of a file, decoded; nothing where there is none."""
    try:
        record: Any = tolerant_json(line)
    except msgspec.DecodeError:
        return {}
    return record if isinstance(record, dict) and record.get("type") == SLOT and _is_slot(record) else {}


class _TitledReading(PiReading):
    def __init__(self, *args: Any, title: dict[str, Any]) -> None:
        super().__init__(*args)
        self._title = title

    def pieces(self) -> Iterator[Piece]:
        # Each reading tells the title: it changes in place, in bytes that are not read again.
        if self._title:
            yield Derived(_title_event(self._title, f"{DIALECT.harness}/{self._header.version}"))
        yield from super().pieces()


def _title_event(slot: dict[str, Any], written_as: str) -> NewEvent:
    """Return the note of a title; the same one again is the same event."""
    told = {name: slot[name] for name in ("title", "source", "updatedAt") if name in slot}
    body = stringify(told).encode()
    return NewEvent(
        id=f"title-{sha256(body).hexdigest()[:16]}",
        kind="note",
        body=body,
        format=written_as,
        parent=None,
        time=epoch_ms(slot.get("updatedAt")),
        facts=Facts(),
    )
