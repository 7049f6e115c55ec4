"""Read the messages of a context for rendering, including blocks in the API's own shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, repeat
from typing import Final

import msgspec

from eventstore.harnesses import format_of
from eventstore.harnesses.refold.blocks import (
    COMPACTION,
    SERVER_TOOL_RESULTS,
    SERVER_TOOL_USE,
    ApiCompaction,
    Shapes,
)
from eventstore.views import Block as RecordedBlock
from eventstore.views import Message, Opaque, Payload, Text, ToolCall
from projections.context.parts import Part, view_of_part
from projections.requests.anthropic.blocks import Block
from projections.requests.rendered import Repair
from projections.requests.repairs import Note, RepairRule
from projections.requests.tool_calls import is_too_deep


def is_compaction(block: RecordedBlock, payload: Payload) -> bool:
    """Return True if a block is a successful compaction; a failed one has no content."""
    return isinstance(block, Opaque) and block.type == COMPACTION and _fits(payload.raw, ApiCompaction)


def native_block(block: Opaque, payload: Payload, shapes: Shapes, note: Note) -> Block | None:
    """Return a block as recorded; None if a message of this role cannot hold its type or shape.

    Its cache breakpoints belonged to the original request and are removed: this request sets its own.
    """
    if block.type not in shapes or not _fits(payload.raw, shapes[block.type]):
        return None
    unmarked = without_breakpoints(block.type, payload.raw)
    if unmarked != payload.raw:
        note(
            RepairRule.CACHE_BREAKPOINTS, f"a cache breakpoint in a block of type {block.type!r} is left out"
        )
    return Block(block.type, unmarked)


def _fits(raw: bytes, shape: type[msgspec.Struct]) -> bool:
    if is_too_deep(raw):
        return False
    try:
        msgspec.convert(msgspec.json.decode(raw), shape)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def without_breakpoints(type_: str, raw: bytes) -> bytes:
    """Return a block of the API's own without cache breakpoints.

    Lookalikes in a call's input stay.
    """
    if b"cache_control" not in raw:
        return raw
    block = msgspec.json.decode(raw)
    holder = {"search_result": block, "document": block.get("source")}.get(type_)
    within = holder.get("content") if isinstance(holder, dict) else None
    marked = [
        each for each in (block, *(within if isinstance(within, list) else ())) if "cache_control" in each
    ]
    for each in marked:
        del each["cache_control"]
    return msgspec.json.encode(block) if marked else raw


_OF_SERVER_TOOLS: Final = frozenset({SERVER_TOOL_USE, *SERVER_TOOL_RESULTS})


def unpaired(blocks: Sequence[object]) -> set[int]:
    """Return the indexes of server tool calls without a result and results without a call."""
    waiting: dict[str, int] = {}
    alone: set[int] = set()
    for place, block in _server_blocks(blocks):
        fields = msgspec.json.decode(block.json)
        if block.type == SERVER_TOOL_USE:
            alone.add(place)
            waiting[fields["id"]] = place
        elif fields["tool_use_id"] in waiting:
            alone.discard(waiting.pop(fields["tool_use_id"]))
        else:
            alone.add(place)
    return alone


def _server_blocks(blocks: Sequence[object]) -> Iterator[tuple[int, Block]]:
    for place, block in enumerate(blocks):
        if isinstance(block, Block) and block.type in _OF_SERVER_TOOLS:
            yield place, block


class RenderedMessage(msgspec.Struct, frozen=True, gc=False):
    """A message to render: its event, its view, and what the view omits.

    `payloads` has what is omitted of each block; it is empty if the view describes them all. `is_compacted`: its first
    block is a compaction by the provider, which replaces everything before it. `result` is the JSON of a tool's result
    if the API takes it as it was recorded.
    """

    event: str
    view: Message
    payloads: Sequence[Payload]
    is_compacted: bool = False
    result: bytes = b""

    @property
    def blocks(self) -> Iterator[tuple[int, RecordedBlock, Payload]]:
        """Each block with its index and payload; the payload may be empty."""
        return zip(count(), self.view.blocks, self.payloads or repeat(_NO_PAYLOAD), strict=False)


_NO_PAYLOAD: Final = Payload(raw=b"")
_READ_ONLY: Final = frozenset({Text, ToolCall})
"""Blocks fully described by their view, except a text's citations and a call's extras."""
CITATIONS: Final = b'"citations"'
CALLER: Final = b'"caller"'
TOOLSET: Final = b'"toolset_name"'
"""Fields of a call that only the API reads, as its caller is."""
_MAY_BE_COMPACTED: Final = ("user", "custom", "assistant")


def read_part(part: Part) -> RenderedMessage:
    """Read a part of a context for rendering."""
    if (found := format_of(part.format).api_message(part.raw)) is not None:
        return RenderedMessage(part.id, found.view, found.payloads, result=found.result)
    view = view_of_part(part)
    is_read_only = _READ_ONLY.issuperset(map(type, view.blocks)) and (
        view.role != "assistant" or not (CITATIONS in part.raw or CALLER in part.raw or TOOLSET in part.raw)
    )
    return RenderedMessage(part.id, view, [] if is_read_only else format_of(part.format).payloads(part.raw))


def since_compaction(messages: list[RenderedMessage]) -> tuple[list[RenderedMessage], list[Repair]]:
    """Return the messages from the provider's newest compaction block on."""
    for number in range(len(messages) - 1, -1, -1):
        first = messages[number]
        place = _compaction_in(first)
        if place is not None:
            since = [_from_block(first, place), *messages[number + 1 :]]
            if number == place == 0:
                return since, []
            action = f"{number} messages and {place} blocks before it are left out, because it replaces them"
            return since, [Repair(rule=RepairRule.COMPACTION_BLOCK, event=first.event, action=action)]
    return messages, []


def _compaction_in(message: RenderedMessage) -> int | None:
    """Return the index of the newest compaction block in a message."""
    if message.view.role not in _MAY_BE_COMPACTED or Opaque not in map(type, message.view.blocks):
        return None
    places = [place for place, block, payload in message.blocks if is_compaction(block, payload)]
    return places[-1] if places else None


def _from_block(message: RenderedMessage, place: int) -> RenderedMessage:
    view = msgspec.structs.replace(message.view, blocks=message.view.blocks[place:])
    return RenderedMessage(message.event, view, message.payloads[place:], is_compacted=True)
