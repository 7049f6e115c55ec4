"""Collect the messages before and behind a boundary for a model: numbered and cut."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from operator import itemgetter
from typing import Final

import msgspec

from compaction.prompts import wrap_in_tag
from eventstore.harnesses import node_of
from eventstore.log import Snapshot
from eventstore.paths import event
from eventstore.views import Message, Text, ToolCall, shell_text
from projections.context.build import context_at
from projections.context.cursor import Cursor, path
from projections.context.parts import Part, view_of_part
from projections.person_text import outside_tags, text_by_person


class Who(StrEnum):
    """The author of a piece of a message."""

    PERSON = "person"
    HARNESS = "harness"
    MODEL = "model"
    CALL = "call"
    RESULT = "result"
    ERROR = "error"


_LONGEST: Final = {
    Who.PERSON: 4_000,
    Who.HARNESS: 600,
    Who.MODEL: 1_500,
    Who.CALL: 400,
    Who.RESULT: 300,
    Who.ERROR: 600,
}
"""Characters of a piece that the model is shown."""


class Said(msgspec.Struct, frozen=True):
    """A piece of a message: its event's number and id, its author, the whole text."""

    seq: int
    id: str
    who: Who
    text: str

    @property
    def line(self) -> str:
        """The piece as a model is shown it: no line of it begins like another piece."""
        shown = _cut(self.text, _LONGEST[self.who]).replace("\n", "\n  ")
        return f"#{self.seq} {self.who}: {shown}"


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """The messages around one boundary, and its summaries.

    `boundary` is the compaction's id and `seq` its number; "" and 0 for the open window, which has nothing behind it.
    `shown` is the context right behind the boundary as texts. `until` is the id of the last event.
    """

    boundary: str
    seq: int
    before: Sequence[Said]
    after: Sequence[Said]
    previous: str
    summary: str
    shown: Sequence[str]
    until: str

    @property
    def text(self) -> str:
        """The conversation as the model reads it."""
        pieces = [wrap_in_tag("previous-summary", self.previous)] if self.previous else []
        pieces.append(wrap_in_tag("conversation", "\n".join(each.line for each in self.before)))
        if self.boundary:
            pieces.append(wrap_in_tag("summary", self.summary))
            pieces.append(wrap_in_tag("afterwards", "\n".join(each.line for each in self.after)))
        return "\n\n".join(pieces)

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def materials(snapshot: Snapshot, cursor: Cursor) -> Iterator[Material]:
    """Yield the material of each compaction on a path, then that of its open window.

    Nobody knows what a history says that only its provider can read, so such a compaction is left out.
    """
    entries = path(snapshot, cursor)
    boundaries = [entry for entry in entries if entry.kind == "compaction" and entry.parent_seq]
    ends = [*(entry.parent_seq for entry in boundaries[1:]), cursor.leaf]
    for compaction, end in zip(boundaries, ends, strict=False):
        before = context_at(snapshot, cursor.at_leaf(compaction.parent_seq), readable=True).parts
        behind = context_at(snapshot, cursor.at_leaf(compaction.seq), readable=True).parts
        known = {part.key for part in behind}
        after = context_at(snapshot, cursor.at_leaf(end), readable=True).parts
        view = node_of(compaction, snapshot).compaction
        if view is not None and view.native:
            continue
        fresh = [part for part in after if part.key not in known]
        yield Material(
            boundary=compaction.id,
            seq=compaction.seq,
            before=[*_said(before)],
            after=[*_said(fresh)],
            previous=_summary_in(before),
            summary=view.summary if view else "",
            shown=[each.text for each in _pieces(behind)] + ([view.summary] if view else []),
            until=_last(snapshot, fresh) or compaction.id,
        )
    if cursor.leaf:
        parts = context_at(snapshot, cursor, readable=True).parts
        yield Material(
            boundary="",
            seq=0,
            before=[*_said(parts)],
            after=(),
            previous=_summary_in(parts),
            summary="",
            shown=(),
            until=_last(snapshot, parts),
        )


def _last(snapshot: Snapshot, parts: Iterable[Part]) -> str:
    """Return the id of the last event that messages come from, "" for none."""
    events = [each for part in parts for each in part.events]
    if not events:
        return ""
    session, seq = max(events, key=itemgetter(1))
    return event(snapshot, session, seq).id


def _summary_in(parts: Iterable[Part]) -> str:
    return "\n\n".join(view_of_part(part).text for part in parts if part.kind == "compaction")


def _said(parts: Iterable[Part]) -> Iterator[Said]:
    """Yield the pieces of messages, without summaries of compactions."""
    return _pieces(part for part in parts if part.kind != "compaction")


def _pieces(parts: Iterable[Part]) -> Iterator[Said]:
    for part in parts:
        for who, text in _texts(view_of_part(part), by_person=part.by_person and not part.continues):
            if text.strip():
                yield Said(part.seq, part.id, who, text.strip())


def _texts(message: Message, *, by_person: bool) -> Iterator[tuple[Who, str]]:
    if message.shell is not None:
        yield Who.PERSON, f"! {message.shell.command}"
        yield Who.RESULT, shell_text(message.shell)
    elif message.role == "toolResult":
        yield Who.ERROR if message.is_error else Who.RESULT, message.text
        yield Who.PERSON, text_by_person(message, by_person=False)
    elif message.role == "assistant":
        for block in message.blocks:
            if isinstance(block, Text):
                yield Who.MODEL, block.text
            elif isinstance(block, ToolCall):
                yield Who.CALL, f"{block.name} {_values(block.decoded)}"
    elif by_person:
        yield Who.PERSON, text_by_person(message, by_person=True)
        yield Who.HARNESS, _inserted(message)
    else:
        yield Who.HARNESS, message.text


def _inserted(message: Message) -> str:
    """Return what a harness inserted between tags in a person's message."""
    texts = [block.text for block in message.blocks if isinstance(block, Text)]
    return "\n".join(text for text in texts if not outside_tags(text).strip())


def _values(arguments: object) -> str:
    """Return a call's arguments as text, names and values a line."""
    if isinstance(arguments, dict):
        return "\n".join(f"{name}: {_values(value)}" for name, value in arguments.items())
    if isinstance(arguments, list):
        return ", ".join(map(_values, arguments))
    return str(arguments)


def _cut(text: str, most: int) -> str:
    """Return the beginning and the end of a long text."""
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end]} […{len(text) - most:,} characters…] {text[-end:]}"
