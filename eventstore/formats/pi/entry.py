"""One entry as pi writes it: what the log has to know of it, and the message in it.

refold's own records have the same shape, so this module reads them, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.estimates import estimates
from eventstore.event import ROLES, Facts, Flag
from eventstore.javascript import TooDeepError, stringify, tolerant_json, utf8_length
from eventstore.views import Block, Image, Message, Opaque, Shell, Text, Thinking, ToolCall, Usage

KINDS: Final = frozenset(
    {
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom_message",
        "custom",
        "label",
        "session_info",
    }
)
"""The entry types that pi itself writes."""

_LARGEST_ESTIMATE: Final = 0xFFFFFFFF
"""What a frame has room for."""
_LARGEST_COUNT: Final = 2**53
"""Of tokens and of dollars: what is more, or less than nothing, was never counted."""
_LONGEST_NAME: Final = 60_000
"""Bytes of UTF-8; leaves room in an id for what sets it apart from one that is taken."""


def is_name(text: str) -> bool:
    """Whether a text can name something in a log: not empty, not endless, and without lone surrogates."""
    try:
        return 0 < len(text.encode()) <= _LONGEST_NAME
    except UnicodeEncodeError:
        return False


_RESERVED: Final = re.compile(
    r"import-[0-9a-f]{16}(?:-\d+)?|observed-.*-\d+|generation-of-\d+", re.ASCII | re.DOTALL
)


def is_reserved(event_id: str) -> bool:
    """Return True for the ids that imports give to the events which they add beside a file's records."""
    return _RESERVED.fullmatch(event_id) is not None


def stored_id(name: str) -> str:
    """Return the id that a log has for what a file calls by a name: a reserved one gets an ending."""
    return f"{name}~file" if is_reserved(name) else name


class Entry(msgspec.Struct, frozen=True):
    """The fields of any entry that carry meaning for the log; what else there is stays in the record."""

    type: Any = None
    id: Any = UNSET
    parentId: Any = UNSET  # noqa: N815  pi's names
    timestamp: Any = None
    message: Raw | UnsetType = UNSET
    firstKeptEntryId: Any = None  # noqa: N815
    firstKeptEntryIndex: Any = None  # noqa: N815
    targetId: Any = None  # noqa: N815
    summary: Any = None
    content: Raw | UnsetType = UNSET
    version: Any = None


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


class _Message(msgspec.Struct, frozen=True):
    role: str = ""
    content: str | list[_Block] | None = None
    toolCallId: str | None = None  # noqa: N815
    toolName: str | None = None  # noqa: N815
    isError: bool | None = None  # noqa: N815
    provider: str | None = None
    model: str | None = None
    stopReason: str | None = None  # noqa: N815
    usage: _Usage | None = None
    command: str | None = None
    output: str | None = None
    exitCode: int | None = None  # noqa: N815
    cancelled: bool | None = None
    truncated: bool | None = None
    fullOutputPath: str | None = None  # noqa: N815
    excludeFromContext: bool | None = None  # noqa: N815
    summary: str | None = None
    placement: str | None = None


_decode_entry: Final = msgspec.json.Decoder(Entry).decode
_decode_message: Final = msgspec.json.Decoder(_Message).decode
_Content = str | list[_Block] | None
_content_decoder: Final[msgspec.json.Decoder[_Content]] = msgspec.json.Decoder(_Content)
MENDED: Final = Flag.MIGRATED_ROLE | Flag.REPLACED_TEXT
"""Records that their harness reads otherwise than they stand there."""
_KNOWN_ROLES: Final = frozenset(ROLES) - {"", "other"}


def entry_of(body: bytes) -> Entry:
    """The entry of a record. Raises msgspec.DecodeError where the record is no JSON object."""
    try:
        return _decode_entry(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decoded = tolerant_json(body)
        if not isinstance(decoded, dict):
            raise msgspec.DecodeError("not a JSON object") from None
        raw = {name: Raw(_encode(decoded[name])) for name in ("message", "content") if name in decoded}
        known = {name: decoded[name] for name in Entry.__struct_fields__ if name in decoded}
        return Entry(**{**known, **raw})


def _encode(value: Any) -> bytes:
    return stringify(value).encode()


def facts_of(
    kind: str, body: bytes, entry: Entry, *, renames_hook_role: bool = False, is_own: bool = True
) -> Facts:
    """Return what the log keeps of a record beside its bytes; `is_own`: refold wrote it, not a file's harness."""
    message = message_of(kind, entry)
    flags = Flag(0)
    role = ""
    utf16, utf8 = estimates(message) if message else (0, 0)
    if message is not None:
        role = message.role if message.role in _KNOWN_ROLES else "other"
        if role == "hookMessage" and kind == "message" and renames_hook_role:
            role, flags = "custom", Flag.MIGRATED_ROLE
    if kind == "model_change" or (kind == "message" and role == "assistant"):
        flags |= Flag.SETS_MODEL
    elif kind == "thinking_level_change":
        flags |= Flag.SETS_THINKING
    if not _is_utf8(body):
        flags |= Flag.REPLACED_TEXT
    target = entry.firstKeptEntryId if kind == "compaction" else entry.targetId
    if isinstance(target, str) and not is_own:
        target = stored_id(target)
    return Facts(
        role=role,
        message=_span(body, entry.message) if kind == "message" and not flags & MENDED else (0, 0),
        utf16=min(utf16, _LARGEST_ESTIMATE),
        utf8=min(utf8, _LARGEST_ESTIMATE),
        target=target if isinstance(target, str) and target else None,
        flags=flags,
    )


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _span(body: bytes, message: Raw | UnsetType) -> tuple[int, int]:
    """Where a message's bytes lie in its record. Equal bytes are as good as the same."""
    if isinstance(message, UnsetType):
        return (0, 0)
    raw = bytes(message)
    start = body.find(b'"message":') + len(b'"message":')
    if not body.startswith(raw, start):
        start = body.find(raw)
    return (start, start + len(raw)) if start >= 0 else (0, 0)


def message_of(kind: str, entry: Entry) -> Message | None:
    """The message that an entry is or holds; None where it tells the model nothing."""
    if kind == "message":
        return None if isinstance(entry.message, UnsetType) else message_view(bytes(entry.message))
    if kind == "custom_message":
        content = b"null" if isinstance(entry.content, UnsetType) else bytes(entry.content)
        return Message(role="custom", blocks=_blocks(_content(content)))
    if kind in ("compaction", "branch_summary"):
        role = "compactionSummary" if kind == "compaction" else "branchSummary"
        return Message(role=role, blocks=(Text(entry.summary),) if isinstance(entry.summary, str) else ())
    return None


def message_view(raw: bytes) -> Message:
    """A message of pi's as every fold sees it. Fields of wrong types are as if they were not there."""
    try:
        wire = _decode_message(raw)
    except RecursionError:
        raise TooDeepError from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        wire = _salvage(_Message, tolerant_json(raw))
    shell = None
    if wire.role in ("bashExecution", "pythonExecution"):
        shell = Shell(
            command=wire.command or "",
            output=wire.output or "",
            exit_code=wire.exitCode,
            cancelled=bool(wire.cancelled),
            truncated=bool(wire.truncated),
            full_output=wire.fullOutputPath or "",
            excluded=bool(wire.excludeFromContext),
        )
    content = wire.summary if wire.role in ("branchSummary", "compactionSummary") else wire.content
    return Message(
        role=wire.role,
        blocks=_blocks(content),
        tool_call_id=wire.toolCallId or "",
        tool_name=wire.toolName or "",
        is_error=bool(wire.isError),
        provider=wire.provider or "",
        model=wire.model or "",
        stop_reason=wire.stopReason or "",
        usage=_usage(wire.usage),
        shell=shell,
        placement=wire.placement or "",
    )


def usage_view(decoded: Any) -> Usage | None:
    """A usage of pi's, decoded, as every fold sees it; None for what is no object."""
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


def _content(raw: bytes) -> str | list[_Block] | None:
    try:
        return _content_decoder.decode(raw)
    except RecursionError:
        raise TooDeepError from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _salvage_content(tolerant_json(raw))


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


def _salvage(type_: type[_Message], decoded: Any) -> _Message:
    """Of a message with fields of wrong types, those that are right."""
    if not isinstance(decoded, dict):
        return type_()
    fields = dict(_fitting(type_, {**decoded, "content": None, "usage": None}))
    fields["usage"] = _salvage_usage(decoded.get("usage"))
    fields["content"] = _salvage_content(decoded.get("content"))
    return type_(**fields)


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
                fields["arguments"] = Raw(_encode(item["arguments"]))
            blocks.append(_Block(**fields))
    return blocks


def _fitting(type_: type[msgspec.Struct], decoded: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(type_):
        if field.name in decoded:
            try:
                yield field.name, msgspec.convert(decoded[field.name], field.type)
            except (msgspec.ValidationError, UnicodeEncodeError):
                # msgspec encodes a text for its message, and a lone surrogate has no UTF-8.
                continue
