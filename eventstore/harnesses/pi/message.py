"""Convert pi's messages to views, and return the block contents that views omit."""

# Annotations are not postponed here: msgspec would compile each from its text, at every start of the command.
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.javascript import (
    TooDeepError,
    stringify,
    text_or_empty,
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
    Shell,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

_LARGEST_COUNT: Final = 2**53
"""Maximum tokens or dollars; larger or negative numbers are invalid."""


class _Block(msgspec.Struct, frozen=True):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    thinkingSignature: str | None = None  # noqa: N815
    id: str | None = None
    name: str | None = None
    arguments: Raw | UnsetType = UNSET
    data: str | None = None
    mimeType: str | None = None  # noqa: N815


class _Cost(msgspec.Struct, frozen=True):
    total: float | None = None


class _Usage(msgspec.Struct, frozen=True):
    input: float = 0
    output: float = 0
    cacheRead: float = 0  # noqa: N815
    cacheWrite: float = 0  # noqa: N815
    cacheWrite1h: float = 0  # noqa: N815
    totalTokens: float | None = None  # noqa: N815
    cost: _Cost | None = None


class WireMessage(msgspec.Struct, frozen=True):
    """A message's fields by pi's names; `code` and `files` are oh-my-pi's."""

    role: str = ""
    content: str | list[_Block] | None = None
    toolCallId: str | None = None  # noqa: N815
    toolName: str | None = None  # noqa: N815
    isError: bool | None = None  # noqa: N815
    provider: Any = UNSET
    model: Any = UNSET
    stopReason: str | None = None  # noqa: N815
    usage: _Usage | None = None
    command: str | None = None
    code: str | None = None
    output: str | None = None
    exitCode: int | None = None  # noqa: N815
    cancelled: bool | None = None
    truncated: bool | None = None
    fullOutputPath: str | None = None  # noqa: N815
    excludeFromContext: bool | None = None  # noqa: N815
    summary: str | None = None
    placement: str | None = None
    customType: str | None = None  # noqa: N815
    details: Raw | UnsetType = UNSET
    useless: Any = None
    metadata: Any = None
    files: Any = None


_decode_wire: Final = msgspec.json.Decoder(WireMessage).decode
_Content = str | list[_Block] | None
_content_decoder: Final[msgspec.json.Decoder[_Content]] = msgspec.json.Decoder(_Content)


def message_view(raw: bytes) -> Message:
    """Return the view of a pi message. Ignore fields of wrong types."""
    return view_of_wire(wire_of(raw))


def wire_of(raw: bytes) -> WireMessage:
    """Return a message's meaningful fields as recorded."""
    try:
        return _decode_wire(raw)
    except RecursionError:
        raise TooDeepError from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _salvage(tolerant_json(raw))


def view_of_wire(wire: WireMessage) -> Message:
    """Return the view of a message's fields."""
    return Message(
        role=wire.role,
        blocks=_blocks_of(wire),
        tool_call_id=wire.toolCallId or "",
        tool_name=wire.toolName or "",
        is_error=bool(wire.isError),
        provider=wire.provider if isinstance(wire.provider, str) else "",
        model=wire.model if isinstance(wire.model, str) else "",
        stop_reason=wire.stopReason or "",
        usage=_usage(wire.usage),
        shell=_shell_of(wire),
        placement=wire.placement or "",
        extension=_extension(wire) if wire.role == "custom" else None,
        is_useless=wire.useless is True,
    )


def _blocks_of(wire: WireMessage) -> tuple[Block, ...]:
    if wire.role == "fileMention":
        return _mentioned(wire.files)
    return _blocks(wire.summary if wire.role in ("branchSummary", "compactionSummary") else wire.content)


def _mentioned(files: Any) -> tuple[Block, ...]:
    """Return the contents of the files that the user of oh-my-pi mentioned."""
    return tuple(
        Text(
            f'<file path="{text_or_empty(file.get("path"))}">\n{text_or_empty(file.get("content"))}\n</file>'
        )
        for file in (files if isinstance(files, list) else ())
        if isinstance(file, dict)
    )


def _shell_of(wire: WireMessage) -> Shell | None:
    if wire.role not in ("bashExecution", "pythonExecution"):
        return None
    return Shell(
        command=(wire.code if wire.role == "pythonExecution" else wire.command) or "",
        output=wire.output or "",
        exit_code=wire.exitCode,
        cancelled=bool(wire.cancelled),
        truncated=bool(wire.truncated),
        full_output=wire.fullOutputPath or "",
        excluded=bool(wire.excludeFromContext),
    )


FAILED: Final = ("aborted", "error")
"""Why answers that failed stopped."""


def usage_view(decoded: Any) -> Usage | None:
    """Return the view of a decoded pi usage, None if it is no object."""
    return _usage(_salvage_usage(decoded))


def _usage(wire: _Usage | None) -> Usage | None:
    if wire is None:
        return None
    parts = [_whole(part) for part in (wire.input, wire.output, wire.cacheRead, wire.cacheWrite)]
    return Usage(
        input=parts[0],
        output=parts[1],
        cache_read=parts[2],
        cache_write=parts[3],
        cache_write_1h=min(_whole(wire.cacheWrite1h), parts[3]),
        total=_whole(wire.totalTokens or 0) or sum(parts),
        cost=_dollars(wire.cost.total if wire.cost else None),
    )


def _whole(tokens: float) -> int:
    return int(tokens) if 0 <= tokens <= _LARGEST_COUNT else 0


def _dollars(cost: float | None) -> float | None:
    return cost if cost is not None and 0 <= cost <= _LARGEST_COUNT else None


def content_blocks(raw: bytes) -> tuple[Block, ...]:
    """Return the blocks of a message's content, by its JSON."""
    try:
        return _blocks(_content_decoder.decode(raw))
    except RecursionError:
        raise TooDeepError from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _blocks(_salvage_content(tolerant_json(raw)))


def _blocks(content: str | list[_Block] | None) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(content),)
    return tuple(map(_block, content or ()))


def _block(wire: _Block) -> Block:
    if wire.type == "text":
        return Text(wire.text or "")
    if wire.type == "thinking":
        return Thinking(wire.thinking or "", wire.thinkingSignature or "")
    if wire.type == "toolCall":
        arguments = b"{}" if isinstance(wire.arguments, UnsetType) else bytes(wire.arguments)
        return ToolCall(wire.id or "", wire.name or "", arguments)
    if wire.type == "image":
        return Image(wire.mimeType or "", len(wire.data or ""))
    return Opaque(wire.type, utf8_length(wire.data or ""))


def _extension(wire: WireMessage) -> Extension | None:
    if wire.customType is None:
        return None
    details = None if isinstance(wire.details, UnsetType) else tolerant_json(bytes(wire.details))
    return Extension(type=wire.customType, data=details)


def _salvage(decoded: Any) -> WireMessage:
    """Return the fields with correct types of a message."""
    if not isinstance(decoded, dict):
        return WireMessage()
    others = {name: decoded[name] for name in decoded if name not in ("content", "usage", "details")}
    fields = dict(_fitting(WireMessage, others))
    fields["usage"] = _salvage_usage(decoded.get("usage"))
    fields["content"] = _salvage_content(decoded.get("content"))
    if "details" in decoded:
        fields["details"] = Raw(stringify(decoded["details"]).encode())
    return WireMessage(**fields)


def _salvage_usage(usage: Any) -> _Usage | None:
    return _Usage(**dict(_fitting(_Usage, usage))) if isinstance(usage, dict) else None


def _salvage_content(content: Any) -> str | list[_Block] | None:
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    blocks = []
    for item in content:
        if isinstance(item, dict):
            fields = dict(_fitting(_Block, {name: item[name] for name in item if name != "arguments"}))
            if "arguments" in item:
                fields["arguments"] = Raw(stringify(item["arguments"]).encode())
            blocks.append(_Block(**fields))
    return blocks


def _fitting(type_: type[msgspec.Struct], decoded: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(type_):
        if field.name in decoded:
            try:
                yield field.name, msgspec.convert(decoded[field.name], field.type)
            except (msgspec.ValidationError, UnicodeEncodeError):
                # msgspec encodes texts for its messages, and a lone surrogate has no UTF-8.
                continue


class _RecordedContent(msgspec.Struct, frozen=True):
    content: list[Raw]


class _RecordedBlock(msgspec.Struct, frozen=True):
    type: Any = None
    data: Any = None
    redacted: Any = None


def payloads(message: bytes) -> list[Payload]:
    """Return the contents that the view of a message omits, block by block; none for text.

    Items of a list of blocks that are no objects do not count.
    """
    try:
        # The decoder does not check bytes that stay raw.
        message.decode()
        recorded = [bytes(block) for block in msgspec.json.decode(message, type=_RecordedContent).content]
    except (msgspec.DecodeError, UnicodeDecodeError):
        recorded = _mended(tolerant_json(message))
    return [_payload(block) for block in recorded if block.startswith(b"{")]


def _mended(message: Any) -> list[bytes]:
    content = message.get("content") if isinstance(message, dict) else None
    return [stringify(block).encode() for block in content] if isinstance(content, list) else []


def _payload(raw: bytes) -> Payload:
    try:
        block = msgspec.json.decode(raw, type=_RecordedBlock)
    except (msgspec.DecodeError, UnicodeDecodeError):
        decoded = tolerant_json(raw)
        block = _RecordedBlock(
            **{name: decoded[name] for name in _RecordedBlock.__struct_fields__ if name in decoded}
        )
    is_image = block.type == "image" and isinstance(block.data, str)
    return Payload(raw=raw, image=block.data if is_image else "", is_redacted=block.redacted is True)
