"""Split and decode the messages in Claude Code's records.

They have the shape of Anthropic's Messages API.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.estimates import MessageSize
from eventstore.javascript import (
    lengths,
    stringify,
    text_or_empty,
    tolerant_decoder,
    tolerant_json,
    utf8_length,
)
from eventstore.views import (
    Block,
    Extension,
    Image,
    Message,
    Opaque,
    Payload,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

S = TypeVar("S", bound=msgspec.Struct)

PROVIDER: Final = "anthropic"
NO_MODEL: Final = "<synthetic>"
"""The model name in messages that the harness made up and never sent."""
_LARGEST_COUNT: Final = 2**53
_STOP_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class WireMessage(msgspec.Struct, frozen=True):
    """A message's fields, named as in the API; refold's `isMeta` marks text that no human wrote."""

    role: Any = None
    content: Raw | UnsetType = UNSET
    id: Any = None
    model: Any = None
    stop_reason: Any = None
    usage: Any = None
    isMeta: Any = None  # noqa: N815  Claude Code's name


class _Block(msgspec.Struct, frozen=True):
    type: Any = None
    text: Any = None
    thinking: Any = None
    signature: Any = None
    data: Any = None
    id: Any = None
    name: Any = None
    input: Raw | UnsetType = UNSET
    tool_use_id: Any = None
    content: Raw | UnsetType = UNSET
    is_error: Any = None
    source: Any = None


wire_of: Final = tolerant_decoder(WireMessage)
_block_of: Final = tolerant_decoder(_Block)
_decode_blocks: Final = msgspec.json.Decoder(list[_Block]).decode
_items: Final = msgspec.json.Decoder(list[Raw]).decode


def items_of(content: bytes) -> list[bytes]:
    """Return the JSON of each object in a list; an empty list if it is not a list."""
    if not content.startswith(b"["):
        return []
    try:
        items = [bytes(item) for item in _items(content)]
    except (msgspec.DecodeError, UnicodeDecodeError):
        items = [stringify(item).encode() for item in tolerant_json(content)]
    return [item for item in items if item.startswith(b"{")]


def content_of(wire: WireMessage) -> bytes:
    """Return the JSON of a message's content, `null` if it has none."""
    return b"null" if isinstance(wire.content, UnsetType) else bytes(wire.content)


def split(raw: bytes) -> Sequence[bytes]:
    """Split a message: one message for each tool result, and one for everything else.

    The API takes several results in one message; refold makes each result a message.
    """
    return (raw,) if b'"tool_result"' not in raw else _split(raw, wire_of(raw))


def split_views(raw: bytes) -> list[Message]:
    """Split a message as `split` does; return the views of the parts."""
    wire = wire_of(raw)
    parts = (raw,) if b'"tool_result"' not in raw else _split(raw, wire)
    return [_view(wire)] if parts[0] is raw else [view_of(part) for part in parts]


def _split(raw: bytes, wire: WireMessage) -> Sequence[bytes]:
    items = items_of(content_of(wire))
    are_results = list(map(is_result, items))
    if not any(are_results) or len(items) == 1:
        return (raw,)
    results = [[item] for item, is_one in zip(items, are_results, strict=True) if is_one]
    others = [item for item, is_one in zip(items, are_results, strict=True) if not is_one]
    return [_users(each) for each in ([*results, others] if others else results)]


def _users(items: Sequence[bytes]) -> bytes:
    return b'{"role":"user","content":[%s]}' % b",".join(items)


def view_of(raw: bytes) -> Message:
    """Return a message's view as a context shows it, for one of those that `split` returned."""
    return _view(wire_of(raw))


class _SizedSource(msgspec.Struct, frozen=True, gc=False):
    type: str = ""


class _SizedBlock(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    name: str | None = None
    input: Any = UNSET
    content: str | list[_SizedBlock] | None = None
    source: _SizedSource | None = None


class _SizedMessage(msgspec.Struct, frozen=True, gc=False):
    role: str = ""
    content: str | list[_SizedBlock] | None = None
    isMeta: Any = None  # noqa: N815


_decode_sized: Final = msgspec.json.Decoder(_SizedMessage).decode


class MeasuredMessage(NamedTuple):
    """The role, size and first text of a message that need not be split."""

    role: str
    size: MessageSize
    first_text: str


def measure(raw: bytes) -> MeasuredMessage | None:
    """Measure a message, None if it must be read in full.

    The result is that of its only view in `split_views`; only what counts is decoded.
    """
    try:
        message = _decode_sized(raw)
        if message.isMeta:
            return None
        content = message.content
        role = "assistant" if message.role == "assistant" else "user"
        if role == "user" and isinstance(content, list) and len(content) == 1 and _is_result(content[0]):
            role, content = "toolResult", content[0].content
        size = MessageSize(role)
        if isinstance(content, str):
            size.add_text(content)
            return MeasuredMessage(role, size, content)
        blocks = content or ()
        for block in blocks:
            if not _add(size, block):
                return None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    texts = (block.text or "" for block in blocks if block.type == "text")
    return MeasuredMessage(role, size, next(texts, ""))


def _is_result(block: _SizedBlock) -> bool:
    return block.type == "tool_result"


def _add(size: MessageSize, block: _SizedBlock) -> bool:
    """Add a block to a size; return False for one that must be read in full."""
    kind = block.type
    if kind == "text":
        size.add_text(block.text or "")
    elif kind == "tool_use":
        size.add_call(block.name or "", lengths(stringify({} if block.input is UNSET else block.input)))
    elif kind == "thinking":
        size.add_thinking(block.thinking or "", block.signature or "")
    elif kind == "redacted_thinking":
        size.add_thinking("", block.data or "")
    elif kind == "image" and block.source is not None and block.source.type == "base64":
        size.add_image()
    else:
        return False
    return True


def _view(wire: WireMessage) -> Message:
    content = content_of(wire)
    if wire.role == "assistant":
        return Message(
            role="assistant",
            blocks=_blocks(content),
            provider=PROVIDER,
            model=text_or_empty(wire.model),
            stop_reason="error"
            if wire.model == NO_MODEL
            else _STOP_REASONS.get(text_or_empty(wire.stop_reason), ""),
            usage=usage_of(wire.usage),
        )
    if wire.isMeta:
        return Message(role="custom", blocks=_blocks(content), extension=Extension(type="meta"))
    blocks = _wire_blocks(content)
    first = blocks[0] if blocks else None
    if first is not None and first.type == "tool_result":
        shown = _blocks(_inner(first))
        is_refused = first.is_error is True and _text(shown).startswith(_REFUSES)
        return Message(
            role="toolResult",
            blocks=shown,
            tool_call_id=text_or_empty(first.tool_use_id),
            is_error=first.is_error is True,
            is_refused=is_refused,
            feedback=_feedback(_text(shown)) if is_refused else "",
        )
    return Message(role="user", blocks=tuple(map(_block, blocks)) if blocks else _blocks(content))


_REFUSES: Final = "The user doesn't want to proceed with this tool use."
"""The beginning of the result of a call that the user refused."""
_REFUSED: Final = re.compile(
    rf"{re.escape(_REFUSES)}.*?the user said:\s*+"
    r"(?!The user wants to clarify these questions)(?P<said>.+?)(?:\n\nNote: The user's next message .*)?",
    re.DOTALL,
)
"""The result of a call that the user refused with words; a note to the model may follow."""


def _text(blocks: Sequence[Block]) -> str:
    """Return the first text of a result."""
    return next((block.text for block in blocks if isinstance(block, Text)), "").strip()


def _feedback(text: str) -> str:
    """Return what the user said when they refused a call, "" if nothing."""
    found = _REFUSED.fullmatch(text)
    return found["said"] if found else ""


def is_result(block: bytes) -> bool:
    """Return True if a block's JSON is a tool result."""
    return bool(_block_of(block).type == "tool_result")


def api_blocks(raw: bytes) -> list[bytes]:
    """Return the JSON of a message's blocks; an empty list for content that is text."""
    return items_of(content_of(wire_of(raw)))


def payloads(raw: bytes) -> list[Payload]:
    """Return what the view omits, block by block; an empty list for content that is text."""
    items = api_blocks(raw)
    if items and (first := _block_of(items[0])).type == "tool_result":
        items = items_of(_inner(first))
    return [_payload(item) for item in items]


def _payload(raw: bytes) -> Payload:
    block = _block_of(raw)
    source = block.source if isinstance(block.source, dict) else {}
    return Payload(
        raw=raw,
        image=text_or_empty(source.get("data")) if block.type == "image" else "",
        is_redacted=block.type == "redacted_thinking",
    )


def usage_of(usage: Any) -> Usage | None:
    """Return a usage in refold's form, None if it is not an object."""
    if not isinstance(usage, dict):
        return None
    parts = [
        _count(usage.get(name))
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        )
    ]
    written = usage.get("cache_creation")
    long = written.get("ephemeral_1h_input_tokens") if isinstance(written, dict) else 0
    return Usage(
        input=parts[0],
        output=parts[1],
        cache_read=parts[2],
        cache_write=parts[3],
        cache_write_1h=min(_count(long), parts[3]),
        total=sum(parts),
    )


def _count(tokens: Any) -> int:
    if isinstance(tokens, bool) or not isinstance(tokens, int | float) or not 0 <= tokens <= _LARGEST_COUNT:
        return 0
    return int(tokens)


def _inner(result: _Block) -> bytes:
    return b"null" if isinstance(result.content, UnsetType) else bytes(result.content)


def _blocks(content: bytes) -> tuple[Block, ...]:
    if content.startswith(b'"'):
        return (Text(tolerant_json(content)),)
    return tuple(map(_block, _wire_blocks(content)))


def _wire_blocks(content: bytes) -> list[_Block]:
    """Return the objects in a list; an empty list if it is not a list."""
    if not content.startswith(b"["):
        return []
    try:
        return _decode_blocks(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [_block_of(item) for item in items_of(content)]


def _block(wire: _Block) -> Block:
    if wire.type == "text":
        return Text(text_or_empty(wire.text))
    if wire.type == "thinking":
        return Thinking(text_or_empty(wire.thinking), text_or_empty(wire.signature))
    if wire.type == "redacted_thinking":
        return Thinking("", text_or_empty(wire.data))
    if wire.type == "tool_use":
        arguments = b"{}" if isinstance(wire.input, UnsetType) else bytes(wire.input)
        return ToolCall(text_or_empty(wire.id), text_or_empty(wire.name), arguments)
    source = wire.source if isinstance(wire.source, dict) else {}
    data = text_or_empty(source.get("data"))
    if wire.type == "image" and source.get("type") == "base64":
        return Image(text_or_empty(source.get("media_type")), len(data))
    return Opaque(text_or_empty(wire.type), utf8_length(data) if data else _size(wire))


def _size(wire: _Block) -> int:
    return 0 if isinstance(wire.content, UnsetType) else len(bytes(wire.content))
