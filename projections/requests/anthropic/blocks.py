"""Build content blocks of the Messages API as JSON."""

from __future__ import annotations

from typing import Final

import msgspec

from projections.requests.encoded_text import encode_text
from projections.requests.repairs import Note

_encode: Final = msgspec.json.Encoder().encode
_CACHED: Final = b',"cache_control":{"type":"ephemeral"}}'


class Block(msgspec.Struct, frozen=True, gc=False):
    """A content block: its type and its JSON."""

    type: str
    json: bytes


def text_block(text: str, note: Note) -> Block:
    """Return a text block."""
    return Block("text", b'{"type":"text","text":%s}' % encode_text(text, note))


def plain_text(text: str) -> Block:
    """Return a block with a text of refold's own."""
    return Block("text", b'{"type":"text","text":%s}' % _encode(text))


def strip_end(block: Block) -> Block:
    """Return a text block without trailing white space: the same block if it has none."""
    text: str = msgspec.json.decode(block.json)["text"]
    return block if text == text.rstrip() else plain_text(text.rstrip())


def image_block(media_type: str, data: str) -> Block:
    """Return an image block; `data` is base64."""
    source = b'{"type":"base64","media_type":"%s","data":"%s"}' % (media_type.encode(), data.encode())
    return Block("image", b'{"type":"image","source":%s}' % source)


def thinking_block(text: str, signature: str) -> Block:
    """Return a block with the model's reasoning and its signature."""
    return Block(
        "thinking",
        b'{"type":"thinking","thinking":%s,"signature":%s}' % (_encode(text), _encode(signature)),
    )


def redacted_thinking_block(data: str) -> Block:
    """Return a block with the model's encrypted reasoning."""
    return Block("redacted_thinking", b'{"type":"redacted_thinking","data":%s}' % _encode(data))


def tool_use_block(call_id: str, name: str, input_json: bytes, extra: bytes) -> Block:
    """Return a tool call; `input_json` is a JSON object, `extra` is the JSON of more fields."""
    return Block(
        "tool_use",
        b'{"type":"tool_use","id":"%s","name":"%s","input":%s%s}'
        % (call_id.encode(), name.encode(), input_json, extra),
    )


def tool_result_block(call_id: str, content: list[Block], *, is_error: bool) -> Block:
    """Return the result of a call; without content if the tool returned nothing."""
    content_field = b',"content":[%s]' % b",".join(block.json for block in content) if content else b""
    failed = b',"is_error":true' if is_error else b""
    return Block(
        "tool_result",
        b'{"type":"tool_result","tool_use_id":"%s"%s%s}' % (call_id.encode(), content_field, failed),
    )


def with_breakpoint(json: bytes) -> bytes:
    """Return the JSON of a block, tool or text with a cache breakpoint."""
    return json if has_breakpoint(json) else json[:-1] + _CACHED


def has_breakpoint(json: bytes) -> bool:
    """Return True if a block or tool already has a cache breakpoint."""
    return b"cache_control" in json and msgspec.json.decode(json).get("cache_control") is not None
