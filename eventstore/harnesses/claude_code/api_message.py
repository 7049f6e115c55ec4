"""Split and decode the messages in Claude Code's records.

They have the shape of Anthropic's Messages API.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.harnesses.refold.blocks import (
    SoundBlock,
    SoundRedactedThinking,
    SoundText,
    SoundThinking,
    SoundToolResult,
    SoundToolUse,
    sound_block,
)
from eventstore.javascript import (
    stringify,
    tolerant_decoder,
    tolerant_json,
    utf8_length,
)
from eventstore.views import (
    ApiMessage,
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
_NULL: Final = Raw(b"null")


class WireMessage(msgspec.Struct, frozen=True):
    """A message's fields, with the JSON of its content.

    They are named as in the API; refold's `isMeta` marks text that no human wrote.
    """

    role: str | None = None
    content: Raw = _NULL
    id: str | None = None
    model: str | None = None
    isMeta: Any = None  # noqa: N815  Claude Code's name


class _Source(msgspec.Struct, frozen=True, gc=False):
    type: str | None = None
    media_type: str | None = None
    data: str | None = None


class _Block(msgspec.Struct, frozen=True, gc=False):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw | UnsetType = UNSET
    tool_use_id: str | None = None
    content: Raw = _NULL
    is_error: bool | None = None
    source: _Source | None = None


class _Typed(msgspec.Struct, frozen=True, gc=False):
    type: str | None = None


class _Written(msgspec.Struct, frozen=True, gc=False):
    ephemeral_1h_input_tokens: int = 0


class _Usage(msgspec.Struct, frozen=True, gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation: _Written | None = None


class MessageFields(msgspec.Struct, frozen=True, gc=False):
    """A message's fields, named as in the API."""

    role: str | None = None
    content: str | list[_Block] | None = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None
    isMeta: Any = None  # noqa: N815  Claude Code's name


class _OddFields(WireMessage, frozen=True):
    """Those of a message, some of which are of other types."""

    stop_reason: str | None = None
    usage: Raw = _NULL


wire_of: Final = tolerant_decoder(WireMessage)
_block_of: Final = tolerant_decoder(_Block)
_typed: Final = tolerant_decoder(_Typed)
_usage_of: Final = tolerant_decoder(_Usage)
_odd_fields_of: Final = tolerant_decoder(_OddFields)
_decode_message: Final = msgspec.json.Decoder(MessageFields).decode
_decode_blocks: Final = msgspec.json.Decoder(list[_Block]).decode
_decode_text: Final = msgspec.json.Decoder(str).decode
_items: Final = msgspec.json.Decoder(list[Raw]).decode


def message_fields(raw: bytes) -> MessageFields:
    """Return a message's fields; one of another type is missing."""
    try:
        if not raw.isascii():
            # The decoder does not look at bytes that stay raw.
            raw.decode()
        return _decode_message(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        odd = _odd_fields_of(raw)
    usage = bytes(odd.usage)
    return MessageFields(
        role=odd.role,
        content=_odd_content(bytes(odd.content)),
        id=odd.id,
        model=odd.model,
        stop_reason=odd.stop_reason,
        usage=_usage_of(usage) if usage.startswith(b"{") else None,
        isMeta=odd.isMeta,
    )


def _odd_content(content: bytes) -> str | list[_Block] | None:
    if content.startswith(b'"'):
        text: str = tolerant_json(content)
        return text
    return [_block_of(item) for item in items_of(content)] if content.startswith(b"[") else None


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
    return bytes(wire.content)


class Content(msgspec.Struct, frozen=True, gc=False):
    """The role and blocks of a message that need not be split.

    `result` is the block of a call's result that holds these blocks.
    """

    role: str
    blocks: tuple[Block, ...]
    result: _Block | None = None

    @property
    def first_text(self) -> str:
        return next((block.text for block in self.blocks if isinstance(block, Text)), "")


def contents_of(fields: MessageFields) -> Sequence[Content]:
    """Split a message as `split` does; return the contents of the parts."""
    blocks = fields.content
    if isinstance(blocks, list) and len(blocks) > 1:
        results = [each for each in blocks if each.type == "tool_result"]
        if results:
            found = [Content("toolResult", blocks_of(bytes(each.content)), each) for each in results]
            others = [each for each in blocks if each.type != "tool_result"]
            return [*found, Content("user", tuple(map(_block, others)))] if others else found
    return (_content(fields),)


def _content(fields: MessageFields) -> Content:
    role, blocks = fields.role, fields.content
    if role != "assistant":
        if fields.isMeta:
            role = "custom"
        elif blocks and isinstance(blocks, list) and blocks[0].type == "tool_result":
            return Content("toolResult", blocks_of(bytes(blocks[0].content)), blocks[0])
        else:
            role = "user"
    if isinstance(blocks, str):
        return Content(role, (Text(blocks),))
    return Content(role, tuple(map(_block, blocks or ())))


def split(raw: bytes) -> Sequence[bytes]:
    """Split a message: one message for each tool result, and one for everything else.

    The API takes several results in one message; refold makes each result a message.
    """
    items = items_of(content_of(wire_of(raw))) if b'"tool_result"' in raw else []
    are_results = list(map(is_result, items)) if len(items) > 1 else []
    if not any(are_results):
        return (raw,)
    results = [[item] for item, is_one in zip(items, are_results, strict=True) if is_one]
    others = [item for item, is_one in zip(items, are_results, strict=True) if not is_one]
    return [_users(each) for each in ([*results, others] if others else results)]


def _users(items: Sequence[bytes]) -> bytes:
    return b'{"role":"user","content":[%s]}' % b",".join(items)


def view_of(raw: bytes) -> Message:
    """Return a message's view as a context shows it, for one of those that `split` returned."""
    fields = message_fields(raw)
    return view_of_content(_content(fields), fields)


def view_of_content(content: Content, fields: MessageFields) -> Message:
    """Return the view of a message's content; an answer's has fields of its message."""
    role, blocks, result = content.role, content.blocks, content.result
    if role == "assistant":
        is_made_up = fields.model == NO_MODEL
        return Message(
            role=role,
            blocks=blocks,
            provider=PROVIDER,
            model=fields.model or "",
            stop_reason="error" if is_made_up else _STOP_REASONS.get(fields.stop_reason or "", ""),
            usage=_usage(fields.usage),
        )
    if role == "custom":
        return Message(role=role, blocks=blocks, extension=Extension(type="meta"))
    if result is None:
        return Message(role=role, blocks=blocks)
    text = content.first_text.strip()
    is_refused = result.is_error is True and text.startswith(_REFUSES)
    return Message(
        role=role,
        blocks=blocks,
        tool_call_id=result.tool_use_id or "",
        is_error=result.is_error is True,
        is_refused=is_refused,
        feedback=_feedback(text) if is_refused else "",
    )


_REFUSES: Final = "The user doesn't want to proceed with this tool use."
"""The beginning of the result of a call that the user refused."""
_REFUSED: Final = re.compile(
    rf"{re.escape(_REFUSES)}.*?the user said:\s*+"
    r"(?!The user wants to clarify these questions)(?P<said>.+?)(?:\n\nNote: The user's next message .*)?",
    re.DOTALL,
)
"""The result of a call that the user refused with words; a note to the model may follow."""


def _feedback(text: str) -> str:
    """Return what the user said when they refused a call, "" if nothing."""
    found = _REFUSED.fullmatch(text)
    return found["said"] if found else ""


def is_result(block: bytes) -> bool:
    """Return True if a block's JSON is a tool result."""
    return _typed(block).type == "tool_result"


def read(raw: bytes) -> ApiMessage:
    """Return such a message with the JSON of its blocks."""
    wire = wire_of(raw)
    content = bytes(wire.content)
    items = items_of(content)
    sounds = list(map(sound_block, items))
    role, provider, model = "custom" if wire.isMeta else "user", "", ""
    if wire.role == "assistant":
        role, provider, model = "assistant", PROVIDER, wire.model or ""
    elif role == "user" and items and (isinstance(sounds[0], SoundToolResult) or is_result(items[0])):
        return _read_result(items, sounds[0])
    read = list(map(_read_block, items, sounds))
    blocks = tuple([block for block, _ in read]) if read else blocks_of(content)
    view = Message(role=role, blocks=blocks, provider=provider, model=model)
    return ApiMessage(view, [payload for _, payload in read])


def _read_result(items: Sequence[bytes], sound: SoundBlock | None) -> ApiMessage:
    """Read a call's result, the first of these blocks."""
    blocks: tuple[Block, ...]
    if isinstance(sound, SoundToolResult):
        texts = [sound.content] if isinstance(sound.content, str) else [each.text for each in sound.content]
        blocks, call, is_error, payloads = tuple(map(Text, texts)), sound.tool_use_id, sound.is_error, []
    else:
        result = _block_of(items[0])
        content = bytes(result.content)
        blocks, call, is_error = blocks_of(content), result.tool_use_id or "", result.is_error is True
        payloads = list(map(_payload, items_of(content), _wire_blocks(content)))
    view = Message(role="toolResult", blocks=blocks, tool_call_id=call, is_error=is_error)
    return ApiMessage(view, payloads, items[0] if sound and len(items) == 1 else b"")


def _read_block(raw: bytes, sound: SoundBlock | None) -> tuple[Block, Payload]:
    """Return a block's view, and what that omits."""
    if isinstance(sound, SoundToolUse):
        return ToolCall(sound.id, sound.name, bytes(sound.input)), Payload(raw, is_sound=True)
    if isinstance(sound, SoundText):
        return Text(sound.text), Payload(raw, is_sound=True)
    if isinstance(sound, SoundThinking):
        return Thinking(sound.thinking, sound.signature), Payload(raw, is_sound=True)
    if isinstance(sound, SoundRedactedThinking):
        return Thinking("", sound.data), Payload(raw, is_redacted=True, is_sound=True)
    block = _block_of(raw)
    return _block(block), _payload(raw, block)


def _payload(raw: bytes, block: _Block) -> Payload:
    return Payload(
        raw=raw,
        image=(block.source.data or "") if block.type == "image" and block.source else "",
        is_redacted=block.type == "redacted_thinking",
    )


def _usage(usage: _Usage | None) -> Usage | None:
    """Return a usage in refold's form."""
    if usage is None:
        return None
    parts = (
        _count(usage.input_tokens),
        _count(usage.output_tokens),
        _count(usage.cache_read_input_tokens),
        _count(usage.cache_creation_input_tokens),
    )
    long = usage.cache_creation.ephemeral_1h_input_tokens if usage.cache_creation else 0
    return Usage(
        input=parts[0],
        output=parts[1],
        cache_read=parts[2],
        cache_write=parts[3],
        cache_write_1h=min(_count(long), parts[3]),
        total=sum(parts),
    )


def _count(tokens: int) -> int:
    return tokens if 0 <= tokens <= _LARGEST_COUNT else 0


def blocks_of(content: bytes) -> tuple[Block, ...]:
    """Return the blocks of a content's JSON: one for a text, none for what is no list."""
    if content.startswith(b'"'):
        try:
            return (Text(_decode_text(content)),)
        except (msgspec.DecodeError, UnicodeDecodeError):
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
        return Text(wire.text or "")
    if wire.type == "tool_use":
        arguments = b"{}" if isinstance(wire.input, UnsetType) else bytes(wire.input)
        return ToolCall(wire.id or "", wire.name or "", arguments)
    if wire.type == "thinking":
        return Thinking(wire.thinking or "", wire.signature or "")
    if wire.type == "redacted_thinking":
        return Thinking("", wire.data or "")
    source = wire.source or _NO_SOURCE
    if wire.type == "image" and source.type == "base64":
        return Image(source.media_type or "", len(source.data or ""))
    return Opaque(wire.type or "", utf8_length(source.data) if source.data else _size(wire))


_NO_SOURCE: Final = _Source()


def _size(wire: _Block) -> int:
    return 0 if wire.content is _NULL else len(bytes(wire.content))
