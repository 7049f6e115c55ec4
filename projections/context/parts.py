"""The parts of a context: its messages, and each one's relation to its event."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from eventstore.estimates import estimates
from eventstore.event import ROLES, Event
from eventstore.harnesses import format_of, node_of
from eventstore.paths import LazyEvent
from eventstore.views import Message, Text
from projections.settings import ModelSettings

CONTINUE_WORD: Final = "continue"
"""opencode's user message that tells the model to go on; it repeats no request."""


def has_message(entry: Event | LazyEvent) -> bool:
    """Return True if an entry is, or becomes, a message to the model.

    A compaction is a summary, not a message.
    """
    return entry.role != "" and entry.kind != "compaction"


def is_continuation(event: Event | LazyEvent) -> bool:
    """Return True for a user or extension message that continues the work after a compaction."""
    return origin(event)[0]


def is_by_person(entry: Event | LazyEvent) -> bool:
    """Return True for a message that a human wrote."""
    return origin(entry)[1]


def origin(entry: Event | LazyEvent) -> tuple[bool, bool]:
    """Return `is_continuation` and `is_by_person` of an entry, reading its record once."""
    kind = entry.kind
    if kind == "custom_message" or (kind == "message" and entry.role == "user"):
        node = node_of(entry)
        return node.continues, node.by_person
    return False, False


def is_bare_continuation(event: Event | LazyEvent) -> bool:
    """Return True for a user message that only says "continue": it starts no turn."""
    if event.kind != "message" or not is_continuation(event):
        return False
    message = node_of(event).message
    blocks = message.blocks if message else ()
    return (
        next((block.text for block in blocks if isinstance(block, Text) and block.text), "") == CONTINUE_WORD
    )


class Fate(StrEnum):
    """The form in which an event appears in a context."""

    KEPT = "kept"
    """As its own message, as recorded."""
    REWRITTEN = "rewritten"
    """As its message, with content replaced by a rewrite."""
    SUMMARY = "summary"
    """As a summary of messages that are no longer in the context."""
    RESTORED = "restored"
    """As content that is sent again after a compaction, as recorded: files, plans and lists."""
    INJECTED = "injected"
    """As a message that the harness derives from another entry or adds after a compaction."""


# Thousands per context and never in a cycle, so keep them out of garbage collection.
class Part(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message of a context and the event that it comes from.

    `raw` is the message's JSON in the shape of `format`; `recorded` are its token estimates, None to count them.
    `continues`: the event continues the work after a compaction (`is_continuation`), so no person wrote it.
    `by_person`: a human wrote the message, or one of those merged into it.
    `session` holds the event, `place` is the message's index among those of its event, and `merged` are the
    numbers of further events whose content the message includes.
    """

    session: str = ""
    seq: int
    id: str
    kind: str
    role: str
    fate: Fate
    raw: bytes
    format: str
    recorded: tuple[int, int] | None = None
    continues: bool = False
    by_person: bool = False
    place: int = 0
    merged: tuple[int, ...] = ()

    @property
    def utf16(self) -> int:
        return self._estimates[0]

    @property
    def utf8(self) -> int:
        return self._estimates[1]

    @property
    def _estimates(self) -> tuple[int, int]:
        if self.recorded is not None:
            return self.recorded
        view = view_of_part(self)
        return estimates(view.role, view.blocks, view.shell)

    @property
    def key(self) -> tuple[str, int, int]:
        """A key that is unique among the messages of a context."""
        return self.session, self.seq, self.place

    def is_of(self, session: str, seq: int) -> bool:
        """Return True if the message holds content of an event, its own or a merged one."""
        return self.session == session and (self.seq == seq or seq in self.merged)

    @property
    def events(self) -> list[tuple[str, int]]:
        """Sessions and numbers of the events whose content the message holds (see `is_of`)."""
        return [(self.session, seq) for seq in (self.seq, *self.merged)]

    def rewritten_as(self, raw: bytes, format: str | None = None) -> Part:
        """Return this part with its message replaced by a rewrite."""
        shape = format or self.format
        role = role_of(raw, self.role, shape)
        return msgspec.structs.replace(
            self, raw=raw, format=shape, role=role, fate=Fate.REWRITTEN, recorded=None
        )

    def merged_with(self, raw: bytes, others: Sequence[Part]) -> Part:
        """Return one part, of this entry and role, for several merged into `raw`."""
        merged = (*self.merged, *(other.seq for other in others if other.seq != self.seq))
        by_person = self.by_person or any(other.by_person for other in others)
        return msgspec.structs.replace(self, raw=raw, recorded=None, merged=merged, by_person=by_person)


def role_of(raw: bytes, role: str, format: str) -> str:
    """Return the role of a message that differs from its event's; `role` if it is unknown."""
    own = format_of(format).message(raw).role
    return own if own in ROLES else role


def view_of_part(part: Part) -> Message:
    """Return the view of a part's message."""
    return format_of(part.format).message(part.raw)


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The context at a leaf (None: the root): messages in order, model and thinking level.

    `expanded` is the id of a compaction that only its provider can read, and that messages replace; "" for none.
    """

    session: str
    leaf: str | None
    as_of: int
    rules: str
    parts: tuple[Part, ...]
    settings: ModelSettings
    expanded: str = ""
