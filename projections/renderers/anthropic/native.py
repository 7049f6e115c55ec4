"""Blocks that a message holds in the API's own shape: they go back as they came, where the API takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec

from eventstore.payloads import Payload
from eventstore.views import Block as RecordedBlock
from eventstore.views import Opaque
from projections.renderers.anthropic.blocks import Block

Shapes = Mapping[str, type[msgspec.Struct]]
_Filled = Annotated[str, msgspec.Meta(min_length=1)]


class _Document(msgspec.Struct):
    source: dict[str, Any]


class _SearchResult(msgspec.Struct):
    source: _Filled
    title: _Filled
    content: list[dict[str, Any]]


class _RedactedThinking(msgspec.Struct):
    data: _Filled


class _Compaction(msgspec.Struct):
    content: _Filled


class _ServerToolUse(msgspec.Struct):
    id: _Filled
    name: _Filled
    input: dict[str, Any]


class _ServerToolResult(msgspec.Struct):
    tool_use_id: _Filled
    content: Any


COMPACTION: Final = "compaction"
SERVER_TOOL_USE: Final = "server_tool_use"
_SERVER_TOOL_RESULTS: Final = tuple(
    f"{tool}_tool_result"
    for tool in (
        "web_search",
        "web_fetch",
        "code_execution",
        "bash_code_execution",
        "text_editor_code_execution",
        "tool_search",
    )
)
OF_USERS: Final[Shapes] = {"document": _Document, "search_result": _SearchResult}
OF_ASSISTANTS: Final[Shapes] = {
    "redacted_thinking": _RedactedThinking,
    SERVER_TOOL_USE: _ServerToolUse,
    **dict.fromkeys(_SERVER_TOOL_RESULTS, _ServerToolResult),
}


def is_compaction(block: RecordedBlock, payload: Payload) -> bool:
    """Whether a block is a compaction that stands for something; one without content is a failed one."""
    return isinstance(block, Opaque) and block.type == COMPACTION and _fits(payload.raw, _Compaction)


def native_block(block: Opaque, payload: Payload, shapes: Shapes) -> Block | None:
    """A block as it was recorded; None for one of a type or shape that a message of this role cannot hold."""
    fits = block.type in shapes and _fits(payload.raw, shapes[block.type])
    return Block(block.type, payload.raw) if fits else None


def _fits(raw: bytes, shape: type[msgspec.Struct]) -> bool:
    try:
        msgspec.convert(msgspec.json.decode(raw), shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def unpaired(blocks: Sequence[object]) -> set[int]:
    """Places of a message's server tool calls that have no result in it, and of results that have no call before."""
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
        if isinstance(block, Block) and block.type in (SERVER_TOOL_USE, *_SERVER_TOOL_RESULTS):
            yield place, block
