"""Read the events of a session in opencode's database, each as a record.

A part is written when it begins, while it goes on, and when it ends. Its entry is the record of its end; before that,
and when it changes later, its records are entries that only contexts show. Messages taken back leave a branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from eventstore.event import Event, Flag, NewEvent, Place
from eventstore.facts import facts_of_node
from eventstore.harnesses.names import stored_id
from eventstore.harnesses.opencode.document import PLACE
from eventstore.harnesses.opencode.event_rows import MESSAGE, PART, PART_REMOVED, REMOVED, Row, subject
from eventstore.harnesses.opencode.message_nodes import node_of
from eventstore.harnesses.opencode.sent import encoded
from eventstore.harnesses.opencode.session_records import (
    Json,
    Record,
    asking,
    fields,
    fields_of,
    is_cleared,
    is_done,
    is_done_summary,
    moment,
    record_of,
    text,
    time_of,
)
from eventstore.kinds import is_entry

_CONTENT: Final = frozenset({"text", "reasoning", "tool", "file", "subtask"})
_CHANGING: Final = _CONTENT | {"step-start", "compaction"}
"""Types of parts that change what is sent."""


class _Message(msgspec.Struct):
    """A message as events told it: its parts by id, its first entry, and the one above."""

    raw: bytes
    info: Json
    above: str | None = None
    first: str = ""
    parts: dict[str, bytes] = {}
    done: set[str] = set()
    last: str = ""


class EventReader:
    """Read the events of one session."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._rows: Sequence[Row] = ()
        self._decoded: list[Json] = []
        self._messages: dict[str, _Message] = {}
        self._tip: str | None = None
        self._root = ""
        self._title = ""
        self._removed: dict[int, str | None] = {}

    def begin_with(self, record: Record, event: NewEvent) -> None:
        """Go past a record of a message that the events do not have."""
        if record.message:
            info = encoded(record.info)
            parts = {text(part.get("id")): encoded(part) for part in record.parts}
            self._messages[record.message] = _Message(
                info, record.info, self._tip, event.id, parts, set(parts), event.id
            )
            self._tip, self._root = event.id, self._root or event.id

    def go_on(self, tip: str | None, root: str, title: str) -> None:
        """Begin behind events that were read before; `tip` is the last entry, `root` the first."""
        self._tip, self._root, self._title = tip, root, title

    def go_past(self, row: Row, event: Event) -> None:
        """Go past an event that was read before, and what became of it."""
        data, name = fields_of(row.data), subject(row)
        message = self._messages.get(name)
        if row.type == MESSAGE:
            info = fields(data.get("info"))
            message = self._messages.setdefault(name, _Message(b"", info, parts={}, done=set()))
            message.raw, message.info = encoded(info), info
        elif row.type == REMOVED:
            self._messages.pop(name, None)
        elif message is not None and row.type == PART_REMOVED:
            message.parts.pop(text(data.get("partID")), None)
        elif message is not None:
            self._put(message, fields(data.get("part")))
        about = self._messages.get(record_of(event.body).message)
        if about is not None and event.is_entry:
            about.first = about.first or event.id
            about.last = event.id if event.role == "assistant" else about.last

    def events(self, rows: Sequence[Row]) -> Iterator[tuple[Row, NewEvent | None]]:
        """Yield each event with its record, None for one whose data cannot be read."""
        self._rows, self._decoded = rows, [fields_of(row.data) for row in rows]
        for at, (row, data) in enumerate(zip(rows, self._decoded, strict=True)):
            yield row, self._event(at, row, data) if data else None

    def _event(self, at: int, row: Row, data: Json) -> NewEvent:
        if row.type == MESSAGE:
            return self._updated(at, row, fields(data.get("info")))
        if row.type == PART:
            return self._part(row, fields(data.get("part")), data)
        if row.type == REMOVED:
            return self._taken_back(at, row, text(data.get("messageID")))
        if row.type == PART_REMOVED:
            message = self._messages.get(text(data.get("messageID")))
            if message is not None:
                message.parts.pop(text(data.get("partID")), None)
            return self._made(row, "custom" if message else "note")
        return self._of_session(row, fields(data.get("info")))

    def _of_session(self, row: Row, info: Json) -> NewEvent:
        event = self._made(row, "note", time=fields(info.get("time")).get("updated"))
        before, self._title = self._title, text(info.get("title"))
        if self._title != before:
            return event
        # Nearly all of these are about counts.
        flags = event.facts.flags & ~Flag.GIVES_TITLE
        return msgspec.structs.replace(event, facts=msgspec.structs.replace(event.facts, flags=flags))

    def _updated(self, at: int, row: Row, info: Json) -> NewEvent:
        name = text(info.get("id"))
        raw = encoded(info)
        message = self._messages.get(name)
        if message is None:
            message = self._messages[name] = _Message(raw, info, self._tip, parts={}, done=set())
        was_done = is_done_summary(message.info)
        had_failed = bool(message.info.get("error"))
        message.raw, message.info = raw, info
        if is_done_summary(info) and not was_done and not self._tail_follows(at, name):
            return self._compaction(row, message)
        return self._made(row, "custom" if info.get("error") and not had_failed else "note", message)

    def _tail_follows(self, at: int, name: str) -> bool:
        """Return True if the next event says which messages a compaction keeps."""
        for later, row in enumerate(self._rows[at + 1 :], at + 1):
            data = self._decoded[later]
            if row.type == PART:
                part = fields(data.get("part"))
                question = text(self._messages[name].info.get("parentID"))
                return part.get("messageID") == question and "tail_start_id" in part
            if row.type == MESSAGE and fields(data.get("info")).get("id") != name:
                return False
        return False

    def _part(self, row: Row, part: Json, data: Json) -> NewEvent:
        message = self._messages.get(text(part.get("messageID")))
        if message is None:
            return self._made(row, "note")
        time, kind = data.get("time"), self._put(message, part)
        if part.get("type") == "compaction" and "tail_start_id" in part:
            summary = self._summary_of(text(message.info.get("id")))
            if summary is not None:
                return self._compaction(row, summary, time=time)
        return self._made(row, kind, message, about=message.last if kind == "note" else "", time=time)

    def _put(self, message: _Message, part: Json) -> str:
        """Put a part into its message; return the kind of its record."""
        kind, name = part.get("type"), text(part.get("id"))
        before = message.parts.get(name)
        message.parts[name] = encoded(part)
        if kind not in _CHANGING:
            return "note"
        if kind not in _CONTENT or message.info.get("summary") is True:
            return "custom"
        if not is_done(part):
            return "custom"
        if name not in message.done:
            message.done.add(name)
            is_users = message.info.get("role") == "user"
            return "message" if is_users or kind not in ("file", "subtask") else "custom"
        if kind == "tool" and is_cleared(part) and not is_cleared(fields_of(before or b"{}")):
            return "rewrite"
        return "custom"

    def _summary_of(self, question: str) -> _Message | None:
        """Return the newest summary that answers a question, None if there is none."""
        found = (
            each
            for each in reversed(self._messages.values())
            if is_done_summary(each.info) and each.info.get("parentID") == question
        )
        return next(found, None)

    def _compaction(self, row: Row, summary: _Message, *, time: object = None) -> NewEvent:
        question = self._messages.get(text(summary.info.get("parentID")))
        asked = asking(fields_of(each) for each in question.parts.values()) if question else {}
        target = None
        if tail := text(asked.get("tail_start_id")):
            kept = self._messages.get(tail)
            target = (kept.first if kept else "") or self._root
        event = self._made(row, "compaction", summary, asked=asked, time=time)
        return msgspec.structs.replace(
            event, facts=msgspec.structs.replace(event.facts, target=target or None)
        )

    def _taken_back(self, at: int, row: Row, name: str) -> NewEvent:
        """Take a message back: the last ones leave a branch, others are no longer sent."""
        if at not in self._removed:
            run = []
            for each, data in zip(self._rows[at:], self._decoded[at:], strict=True):
                if each.type == REMOVED:
                    run.append(text(data.get("messageID")))
                elif each.type in (MESSAGE, PART, PART_REMOVED):
                    break
            last = list(self._messages)[-len(set(run) & self._messages.keys()) :]
            is_end = bool(run) and set(last) == set(run)
            above = self._messages[last[0]].above if is_end else None
            for later in range(at, len(self._rows)):
                if self._rows[later].type == REMOVED and self._decoded[later].get("messageID") in run:
                    self._removed[later] = (above or "") if is_end else None
        to = self._removed.get(at)
        known = self._messages.pop(name, None)
        if to is None:
            return self._made(row, "custom" if known else "note")
        self._tip = to or None
        return self._made(row, "note", to=to)

    def _made(
        self,
        row: Row,
        kind: str,
        message: _Message | None = None,
        *,
        asked: Json | None = None,
        about: str = "",
        to: str | None = None,
        time: object = None,
    ) -> NewEvent:
        """Return an event's record, and go on behind it."""
        name = stored_id(row.id)
        body = self._body(row, message, asked, about, to)
        facts = facts_of_node(node_of(self._version, kind, body), kind, body)
        made = moment(time)
        if made is None and message is not None:
            completed = fields(message.info.get("time")).get("completed")
            made = (moment(completed) if kind == "compaction" else None) or time_of(message.info)
        event = NewEvent(
            id=name,
            kind=kind,
            body=body,
            format=self._version,
            parent=self._tip,
            time=made,
            facts=facts,
            place=PLACE if to is None else moved(to),
        )
        if is_entry(kind):
            self._tip, self._root = name, self._root or name
            if message is not None:
                message.first = message.first or name
                if facts.role == "assistant":
                    message.last = name
        return event

    def _body(
        self, row: Row, message: _Message | None, asked: Json | None, about: str, to: str | None
    ) -> bytes:
        pieces = [
            b'{"id":%b,"seq":%d,"type":%b,"data":%b' % (encoded(row.id), row.seq, encoded(row.type), row.data)
        ]
        if message is not None and (row.type != MESSAGE or asked is not None):
            pieces.append(b'"info":%b' % message.raw)
        if asked is not None and message is not None:
            pieces.append(b'"asked":%b' % encoded(asked))
            ordered = (message.parts[name] for name in sorted(message.parts))
            pieces.append(b'"parts":[%b]' % b",".join(ordered))
        if about:
            pieces.append(b'"about":%b' % encoded(about))
        if to is not None:
            pieces.append(b'"to":%b' % encoded(to))
        return b",".join(pieces) + b"}"


_ALL: Final = 1 << 31
"""More messages than a session has."""


def moved(to: str) -> Place:
    """Return the place of a record that takes messages back to the entry `to`, "" for none."""
    return msgspec.structs.replace(PLACE, moves_to=to, drops=0 if to else _ALL)
