"""Extract from a record, once, what the log stores beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from eventstore.estimates import estimates
from eventstore.event import ROLES, Event, EventFacts, Flag
from eventstore.harnesses import node_of
from eventstore.javascript import is_utf8
from eventstore.node import Node

if TYPE_CHECKING:
    from eventstore.paths import LazyEvent

_LARGEST_ESTIMATE: Final = 0xFFFFFFFF
"""The largest number that fits into a frame."""
_MENDED: Final = Flag.MIGRATED_ROLE | Flag.REPLACED_TEXT
"""Records that their harness reads differently from how they are written."""
_KNOWN_ROLES: Final = frozenset(ROLES) - {"", "other"}


def facts_of(event: Event | LazyEvent) -> EventFacts:
    """Extract again the facts that the log stores beside an event's record."""
    return facts_of_node(node_of(event), event.kind, event.body)


def facts_of_node(node: Node, kind: str, record: bytes) -> EventFacts:
    """Return what the log stores beside a record."""
    flags, role, sizes = node.flags, "", (0, 0)
    if not is_utf8(record):
        flags |= Flag.REPLACED_TEXT
    if node.title and kind != "session_info":
        flags |= Flag.GIVES_TITLE
    if (message := node.message) is not None:
        role, blocks = message.role if message.role in _KNOWN_ROLES else "other", message.blocks
        if len(node.messages) > 1:
            blocks = tuple(block for each in node.messages for block in each.blocks)
        sizes = estimates(message.role, blocks, message.shell) if node.is_sent else (0, 0)
    facts = facts_of_message(
        record,
        "custom" if flags & Flag.MIGRATED_ROLE else role,
        node.raw if node.is_sent else b"",
        sizes,
        flags,
    )
    if node.target is None and not node.needs_source:
        return facts
    return msgspec.structs.replace(facts, target=node.target, needs_source=node.needs_source)


def facts_of_message(record: bytes, role: str, raw: bytes, sizes: tuple[int, int], flags: int) -> EventFacts:
    """Return what the log stores beside a record; its message is `raw`, b"" if none is shown."""
    utf16, utf8 = sizes
    return EventFacts(
        role=role,
        message=_span(record, raw) if raw and not flags & _MENDED else (0, 0),
        utf16=min(utf16, _LARGEST_ESTIMATE),
        utf8=min(utf8, _LARGEST_ESTIMATE),
        flags=flags,
    )


_SEARCHED: Final = 40


def _span(record: bytes, raw: bytes) -> tuple[int, int]:
    """Return the span of a message's bytes in its record; equal bytes elsewhere will do."""
    # A long text takes longer to search for than its beginning.
    start = record.find(raw[:_SEARCHED])
    if not record.startswith(raw, start):
        start = record.find(raw)
    return (start, start + len(raw)) if start >= 0 else (0, 0)
