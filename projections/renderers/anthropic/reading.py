"""The messages of a context as a rendering reads them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from eventstore.formats import payloads_of_message, view_of_message
from eventstore.payloads import Payload
from eventstore.views import Block, Image, Message, Opaque, Thinking
from projections.context import Part
from projections.renderers.anthropic.native import is_compaction
from projections.renderers.anthropic.repairs import Repair, Rule


class Said(msgspec.Struct, frozen=True):
    """A message: the event it comes from, its view, and the payload of each block where one is handed on."""

    event: str
    view: Message
    payloads: list[Payload]

    @property
    def blocks(self) -> Iterator[tuple[int, Block, Payload]]:
        """Each block with its place and its payload; an empty one where none of the message's is handed on."""
        payloads = self.payloads or [_NO_PAYLOAD] * len(self.view.blocks)
        for place, (block, payload) in enumerate(zip(self.view.blocks, payloads, strict=True)):
            yield place, block, payload


_NO_PAYLOAD = Payload(raw=b"")


def said(part: Part) -> Said:
    """A part of a context, read."""
    view = view_of_message(part.raw)
    is_handed_on = any(isinstance(block, Image | Thinking | Opaque) for block in view.blocks)
    return Said(part.id, view, payloads_of_message(part.raw) if is_handed_on else [])


def since_compaction(messages: list[Said]) -> tuple[list[Said], list[Repair]]:
    """The messages from the provider's own newest compaction on: its block stands for all that came before."""
    for number in range(len(messages) - 1, -1, -1):
        each = messages[number]
        for place, block, payload in reversed(list(each.blocks)):
            if is_compaction(block, payload):
                view = msgspec.structs.replace(each.view, blocks=each.view.blocks[place:])
                first = Said(each.event, view, each.payloads[place:])
                action = f"what its block stands for is left out: {number} messages, {place} blocks before it"
                left_out = [Repair(rule=Rule.COMPACTION_BLOCK, event=each.event, action=action)]
                return [first, *messages[number + 1 :]], left_out if number or place else []
    return messages, []
