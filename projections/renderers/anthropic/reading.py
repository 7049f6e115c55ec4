"""The messages of a context as a rendering reads them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, repeat
from typing import Final

import msgspec

from eventstore.formats import payloads_of_message, view_of_message
from eventstore.views import Block, Message, Payload, Text, ToolCall
from projections.context.parts import Part
from projections.renderers.anthropic.native import is_compaction
from projections.renderers.anthropic.repairs import Rule
from projections.renderers.rendering import Repair


class Said(msgspec.Struct, frozen=True):
    """A message: the event it comes from, its view, and the payload of each block where one is handed on.

    `is_compacted`: its first block is a compaction of the provider's own, which stands for all before it.
    """

    event: str
    view: Message
    payloads: list[Payload]
    is_compacted: bool = False

    @property
    def blocks(self) -> Iterator[tuple[int, Block, Payload]]:
        """Each block with its place and its payload; an empty one where none of the message's is handed on."""
        return zip(count(), self.view.blocks, self.payloads or repeat(_NO_PAYLOAD), strict=False)


_NO_PAYLOAD: Final = Payload(raw=b"")
_READ_ONLY: Final = frozenset({Text, ToolCall})
"""Blocks of which the view says everything."""
_MAY_BE_COMPACTED: Final = ("user", "custom", "assistant")


def said(part: Part) -> Said:
    """A part of a context, read."""
    view = view_of_message(part.raw)
    is_read_only = _READ_ONLY.issuperset(map(type, view.blocks))
    return Said(part.id, view, [] if is_read_only else payloads_of_message(part.raw))


def since_compaction(messages: list[Said]) -> tuple[list[Said], list[Repair]]:
    """The messages from the provider's own newest compaction on: its block stands for all that came before."""
    for number in range(len(messages) - 1, -1, -1):
        first = messages[number]
        place = _compaction_in(first)
        if place is not None:
            since = [_from_block(first, place), *messages[number + 1 :]]
            if number == place == 0:
                return since, []
            action = f"{number} messages and {place} blocks before it are left out, for which it stands"
            return since, [Repair(rule=Rule.COMPACTION_BLOCK, event=first.event, action=action)]
    return messages, []


def _compaction_in(message: Said) -> int | None:
    """Where the newest compaction block stands in a message."""
    if not message.payloads or message.view.role not in _MAY_BE_COMPACTED:
        return None
    places = [place for place, block, payload in message.blocks if is_compaction(block, payload)]
    return places[-1] if places else None


def _from_block(message: Said, place: int) -> Said:
    view = msgspec.structs.replace(message.view, blocks=message.view.blocks[place:])
    return Said(message.event, view, message.payloads[place:], is_compacted=True)
