"""Read an export of opencode's, whose records are messages.

It is `{"info": …, "messages": [{"info": …, "parts": […]}, …]}`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

import msgspec

from eventstore.errors import BadInputError
from eventstore.event import MAX_RECORD_BYTES, Absent, EventFacts, NewEvent, Place
from eventstore.facts import facts_of_node
from eventstore.harnesses.names import is_name, stored_id
from eventstore.harnesses.opencode.message_nodes import node_of_record
from eventstore.harnesses.opencode.related_sessions import child_links, parent_links
from eventstore.harnesses.opencode.session_records import (
    Record,
    asking,
    is_done_summary,
    record_of,
    text,
    time_of,
    version_of,
)
from eventstore.harnesses.source import (
    TOO_LARGE,
    Glue,
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

BEGINNING: Final = re.compile(
    rb'(?:\xef\xbb\xbf)?(?:Exporting session: [^\n]*\n)?\s*\{\s*"info"\s*:\s*(?=\{)'
)
_MESSAGE: Final = re.compile(rb'\{\s*"(?:info"\s*:\s*\{|parts"\s*:\s*\[)')
PLACE: Final = Place(absent=Absent.ROOT)
"""The place of a record of opencode's."""
REPEAT: Final = "the same message again; it counts once"
_decode: Final = json.JSONDecoder(strict=False).raw_decode


class OpencodeDocument(SourceContents):
    """An export: one session, written anew with each export."""

    growth = SourceGrowth.REWRITTEN
    passing: frozenset[str] = frozenset()

    def __init__(self, source: Source) -> None:
        """Raise BadInputError for a file that names no session."""
        source.file.seek(0)
        self.text = source.file.read()
        found = BEGINNING.match(self.text)
        self._ends = _ends_in(self.text, found.start() + found[0].rindex(b"{")) if found else {}
        stop = self._end_of(found.end()) if found else 0
        is_whole = found and stop and not self._has_another(found.end(), stop)
        self.info_span = (found.end(), stop) if is_whole and found else (0, 0)
        self.info = record_of(self.text[slice(*self.info_span)]).session
        self.name = text(self.info.get("id")) or _named_by(record for record, _, _ in self.messages())
        if not is_name(self.name):
            raise BadInputError(source.name, "its session has no id", "export it again")
        self.version = version_of(self.info.get("version"))
        header = self.text[slice(*self.info_span)] or b"{}"
        self.sessions: Sequence[SourceSession] = [
            SourceSession(name=self.name, format=self.version, header=header)
        ]

    @cached_property
    def _characters(self) -> str:
        # One character a byte: JSON's own characters are ASCII.
        return self.text.decode("latin-1")

    def _end_of(self, at: int) -> int:
        """Return where the object at an offset ends; 0 if there is none."""
        if at in self._ends:
            return self._ends[at]
        try:
            value, stop = _decode(self._characters, at)
        except (ValueError, RecursionError):
            return 0
        return stop if isinstance(value, dict) else 0

    def messages(self) -> Iterator[tuple[Record, int, int]]:
        """Yield each message with where it begins and ends; go past what cannot be read."""
        at = self.info_span[1]
        while found := _MESSAGE.search(self.text, at):
            start, read = found.start(), self._message_at(found.start())
            at = start + 1
            if read is not None and not self._has_another(start, read[1]):
                at = read[1]
                yield read[0], start, at

    def _message_at(self, start: int) -> tuple[Record, int] | None:
        stop = self._end_of(start)
        record = record_of(self.text[start:stop]) if stop else Record()
        return (record, stop) if is_name(record.message) else None

    def _has_another(self, start: int, stop: int) -> bool:
        """Return True if a message holds another one: it has lost its end."""
        if start in self._ends:
            return False
        inner = _MESSAGE.finditer(self.text, start + 1, stop)
        read = (self._message_at(found.start()) for found in inner)
        return any(each[0].info.get("role") in ("user", "assistant") for each in read if each)

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:  # noqa: ARG002  it is read as a whole
        return _Reader(self, known)


class _Whole(msgspec.Struct):
    info: msgspec.Raw
    messages: list[msgspec.Raw] = []


_decode_whole: Final = msgspec.json.Decoder(_Whole).decode


def _ends_in(text: bytes, at: int) -> dict[int, int]:
    """Map the beginnings of a sound document's objects to their ends; {} for another document.

    The document begins at an offset. Its objects are not decoded.
    """
    try:
        whole = _decode_whole(memoryview(text)[at:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    ends = dict[int, int]()
    for raw in map(bytes, (whole.info, *whole.messages)):
        # Between messages are no braces.
        start = text.find(raw if len(ends) <= 1 else b"{", at)
        at = start + len(raw)
        if start < 0 or not raw.startswith(b"{") or not text.startswith(raw, start):
            break
        ends[start] = at
    return ends


def _named_by(messages: Iterable[Record]) -> str:
    """Return the session that most messages name, of several the shortest; "" for none."""
    names = Counter(text(each.info.get("sessionID")) for each in messages)
    return min(filter(None, names), key=lambda name: (-names[name], len(name)), default="")


class _Reader(SessionReader):
    def __init__(self, document: OpencodeDocument, known: KnownEvents) -> None:
        self._document, self._known = document, known
        self._line, self._count = 1, 0
        self._seen: dict[str, bytes] = {}

    @property
    def line(self) -> int:
        return self._line

    def records(self, session: int) -> int:  # noqa: ARG002
        return self._count

    def pieces(self) -> Iterator[Piece]:
        document, (start, stop) = self._document, self._document.info_span
        yield Glue(document.text[:start])
        if stop:
            yield self._record(session_event(document.text[start:stop], document.name, document.version))
        else:
            yield SourceRemark("skipped", self._line, "its session's information cannot be read")
        yield from parent_links(document.info, 0, self._known)
        spans = list(document.messages())
        order = Order(record for record, _, _ in spans)
        for record, start, end in spans:
            yield from self._between(document.text[stop:start])
            yield from self._message(record, document.text[start:end], order)
            stop = end
        yield from self._between(document.text[stop:])

    def _between(self, data: bytes) -> Iterator[Piece]:
        """Yield the bytes between messages, with a remark if a message among them cannot be read."""
        if _MESSAGE.search(data):
            self._line += 1
            yield SourceRemark("skipped", self._line, "not JSON, or without an id")
        yield Glue(data)

    def _message(self, record: Record, body: bytes, order: Order) -> Iterator[Piece]:
        is_repeat = record.message in self._seen
        if len(body) > MAX_RECORD_BYTES or self._seen.get(record.message) == body:
            self._line += 1
            yield SourceRemark("skipped", self._line, REPEAT if is_repeat else TOO_LARGE)
            yield Glue(body)
            return
        self._seen.setdefault(record.message, body)
        event = message_event(record, body, self._document.version, order)
        if is_repeat:
            yield SourceRemark("differs", self._line + 1, "its id is that of another message, which counts")
            name = f"{event.id}~{self._line + 1}"
            event = msgspec.structs.replace(event, id=name, kind="note", facts=EventFacts())
        yield self._record(event)
        if is_repeat:
            return
        yield from child_links(self._document.name, 0, event.id, record.parts, {self._document.name: 0})

    def _record(self, event: NewEvent) -> SourceRecord:
        self._count += 1
        self._line += self._count > 1
        return SourceRecord(event, line=self._line)


def session_event(body: bytes, name: str, version: str) -> NewEvent:
    """Return the record of what a session says of itself."""
    record = record_of(body)
    facts, time = (
        facts_of_node(node_of_record(version, "note", record, body), "note", body),
        time_of(record.session),
    )
    return NewEvent(
        id=f"{name}~info", kind="note", body=body, format=version, time=time, facts=facts, place=PLACE
    )


class Order:
    """The order of a session's messages, and what its compactions keep."""

    def __init__(self, messages: Iterable[Record]) -> None:
        """Sort messages; of several with one id, the first counts."""
        ordered = sorted(messages, key=lambda each: (each.time or 0, each.message))
        self._names = list(dict.fromkeys(each.message for each in ordered))
        self._above = dict(pairwise(reversed(self._names)))
        self._tails = {
            each.message: text(asked.get("tail_start_id"))
            for each in ordered
            if (asked := asking(each.parts))
        }

    def parent(self, name: str) -> str | None:
        """Return the message before one, None for the first."""
        return self._above.get(name)

    def first_kept(self, summary: Record) -> str | None:
        """Return the first message that a compaction keeps, None for none."""
        question = text(summary.info.get("parentID"))
        if tail := self._tails.get(question):
            return tail if tail in self._above or tail == self._names[0] else self._names[0]
        # What came between the question and its answer stays.
        return question if question in self._tails and self.parent(summary.message) != question else None


def message_event(record: Record, body: bytes, version: str, order: Order) -> NewEvent:
    """Return the event of a message with all its parts; `body` is the JSON of `record`."""
    info, target = record.info, None
    if info.get("role") == "user":
        kind = "custom" if asking(record.parts) else "message"
    elif info.get("summary") is True:
        kind = "compaction" if is_done_summary(info) else "custom"
    else:
        kind = "message"
    facts = facts_of_node(node_of_record(version, kind, record, body), kind, body)
    if kind == "compaction" and (target := order.first_kept(record)):
        facts = msgspec.structs.replace(facts, target=stored_id(target))
    parent = order.parent(record.message)
    return NewEvent(
        id=stored_id(record.message),
        kind=kind,
        body=body,
        format=version,
        parent=None if parent is None else stored_id(parent),
        time=record.time,
        facts=facts,
        place=PLACE,
    )
