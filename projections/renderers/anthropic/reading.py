"""The messages of a context as a rendering reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from eventstore.formats import payloads_of_message, view_of_message
from eventstore.payloads import Payload
from eventstore.views import Block, Image, Message, Opaque, Thinking
from projections.context import Part
from projections.renderers.anthropic.native import is_compaction
from projections.renderers.anthropic.repairs import Repair, Rule


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
        payloads = self.payloads or [_NO_PAYLOAD] * len(self.view.blocks)
        for place, (block, payload) in enumerate(zip(self.view.blocks, payloads, strict=True)):
            yield place, block, payload


_NO_PAYLOAD: Final = Payload(raw=b"")
_MAY_BE_COMPACTED: Final = ("user", "custom", "assistant")


def said(part: Part) -> Said:
    """A part of a context, read."""
    view = view_of_message(part.raw)
    is_handed_on = any(isinstance(block, Image | Thinking | Opaque) for block in view.blocks)
    return Said(part.id, view, payloads_of_message(part.raw) if is_handed_on else [])


def since_compaction(messages: list[Said]) -> tuple[list[Said], list[Repair]]:
    """The messages from the provider's own newest compaction on: its block stands for all that came before."""
    for number in range(len(messages) - 1, -1, -1):
        each = messages[number]
        if not each.payloads or each.view.role not in _MAY_BE_COMPACTED:
            continue
        for place, block, payload in reversed(list(each.blocks)):
            if is_compaction(block, payload):
                action = f"{number} messages and {place} blocks before it are left out, for which it stands"
                left_out = [Repair(rule=Rule.COMPACTION_BLOCK, event=each.event, action=action)]
                return [
                    _from_block(each, place),
                    *messages[number + 1 :],
                ], left_out if number or place else []
    return messages, []


def _from_block(message: Said, place: int) -> Said:
    view = msgspec.structs.replace(message.view, blocks=message.view.blocks[place:])
    return Said(message.event, view, message.payloads[place:], is_compacted=True)
