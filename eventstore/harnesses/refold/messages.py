"""Convert messages of the APIs to the shape that refold stores: pi's."""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from eventstore.errors import BadInputError
from eventstore.event import ROLES
from eventstore.harnesses.refold.blocks import (
    COMPACTION,
    OF_ASSISTANTS,
    OF_RESULTS,
    OF_USERS,
    ApiCompaction,
    Filled,
    NotBlank,
    Shapes,
)
from eventstore.harnesses.refold.responses import RESPONSE, stored_response

PROVIDER: Final = "anthropic"
_STOP_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
    "refusal": "error",
}
_REDACTED: Final = "[Reasoning redacted]"
"""The text that pi shows for encrypted thinking."""
_T = TypeVar("_T")


def stored_messages(message: object, tool_of: Callable[[str], str]) -> list[dict[str, Any]]:
    """Convert a message of an API to the messages that a session stores.

    `message` is an object of the `anthropic` client, a `Response` of the `openai` client, or a mapping. Each tool
    result becomes a message of its own; `tool_of` returns the tool's name by call id, "" for an unknown call. A
    message in refold's own shape is unchanged. Raises BadInputError with the block's path for content that no
    request could carry.
    """
    if not isinstance(message, Mapping) and not _is_client_object(message):
        raise BadInputError(
            f"a message of type {type(message).__name__}",
            "it is neither an object of the anthropic or openai client nor a dict",
            "append an answer of the client, or a dict with role and content",
        )
    try:
        fields = _plain(message, "message")
    except RecursionError:
        raise BadInputError(
            "message", "its values are too deeply nested", "store deeper levels as a text"
        ) from None
    if fields.get("object") == RESPONSE:
        return [stored_response(fields)]
    role = fields.get("role")
    if role is None:
        raise BadInputError("message", "it has no `role`", 'give it one, "user" or "assistant"')
    if not isinstance(role, str) or role not in ROLES or not role:
        raise BadInputError(
            f"message of role {role!r}",
            "sessions do not store such messages",
            "append messages of the user and the assistant; a system prompt goes with each request",
        )
    if role == "assistant" and "provider" not in fields:
        return [_answer(fields)]
    if role == "user" and isinstance(fields.get("content"), list):
        return list(_turn(fields, tool_of))
    return [_own(role, fields)]


def _is_client_object(value: object) -> bool:
    return callable(getattr(value, "model_dump", None))


def _plain(value: Any, path: str) -> Any:
    """Convert client objects and mappings to dicts, and tuples to lists."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each, f"{path}[{number}]") for number, each in enumerate(value)]
    if _is_client_object(value):
        # Fields that the API did not set are not sent back to it.
        value = value.model_dump(mode="json", exclude_unset=True, warnings=False)
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {str.__str__(name): _plain(each, f"{path}.{name}") for name, each in value.items()}
    what = "a dict with keys that are not texts" if isinstance(value, Mapping) else repr(value)[:40]
    raise BadInputError(path, f"{what} is not JSON", "use texts, numbers, lists and dicts with texts as keys")


class _Usage(msgspec.Struct):
    class CacheCreation(msgspec.Struct):
        ephemeral_1h_input_tokens: int | None = None

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None


class _Answer(msgspec.Struct):
    content: str | list[dict[str, Any]]
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    stop_reason: str | None = None


class _Own(msgspec.Struct):
    """The fields of a message in refold's own shape that requests use."""

    content: str | list[dict[str, Any]] | None = None
    summary: str | None = None
    command: str | None = None
    output: str | None = None
    toolCallId: str | None = None  # noqa: N815  pi's names
    isError: bool | None = None  # noqa: N815
    provider: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None


class _Turn(msgspec.Struct):
    content: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]


class _Text(msgspec.Struct):
    text: str


class _Prompt(msgspec.Struct):
    text: NotBlank


class _Base64(msgspec.Struct):
    data: Filled
    media_type: Filled


class _Image(msgspec.Struct):
    """An image of the API (`source`), or one in refold's own shape."""

    source: _Base64 | UnsetType = UNSET
    data: Filled | UnsetType = UNSET
    mimeType: Filled | UnsetType = UNSET  # noqa: N815  pi's name


class _Thinking(msgspec.Struct):
    thinking: str
    signature: str | None = None
    thinkingSignature: str | None = None  # noqa: N815  pi's name


class _ToolUse(msgspec.Struct):
    id: Filled
    name: Filled
    input: dict[str, Any]


class _ToolCall(msgspec.Struct):
    """A call in refold's own shape."""

    id: str
    name: str


class _ToolResult(msgspec.Struct):
    tool_use_id: Filled
    content: str | list[dict[str, Any]] | None = None
    is_error: bool | None = None


class _AnyCompaction(ApiCompaction):
    """A compaction by the API itself; one without content has failed."""

    content: Filled | None = None  # type: ignore[assignment]


_TURN: Final[Shapes] = {
    "text": _Prompt,
    "image": _Image,
    "tool_result": _ToolResult,
    COMPACTION: _AnyCompaction,
    **OF_USERS,
}
_RESULT: Final[Shapes] = {"text": _Text, "image": _Image, **OF_RESULTS}
_ANSWER: Final[Shapes] = {
    "text": _Text,
    "thinking": _Thinking,
    "tool_use": _ToolUse,
    "toolCall": _ToolCall,
    COMPACTION: _AnyCompaction,
    **OF_ASSISTANTS,
}
_CONTENTS: Final[Mapping[str, Shapes]] = {"user": _TURN, "assistant": _ANSWER, "toolResult": _RESULT}
"""The allowed blocks by role; other roles allow those of a user."""
_NEEDED: Final = {
    **dict.fromkeys(("bashExecution", "pythonExecution"), "command"),
    **dict.fromkeys(("branchSummary", "compactionSummary"), "summary"),
}
"""The required field by role; `content` for other roles."""


def _read(value: object, shape: type[_T], path: str) -> _T:
    """Decode a part of a message. Raises BadInputError with its path and the problem."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        problem, _, within = str(error).partition(" - at `$")
        if "matching regex" in problem:
            problem = "the text is blank"
        raise BadInputError(
            path + within.rstrip("`"), problem, "give a value that the Messages API accepts"
        ) from None


def _check_blocks(blocks: list[dict[str, Any]], shapes: Shapes, path: str = "message.content") -> None:
    """Raise BadInputError for the first block with an unknown or invalid shape."""
    for number, block in enumerate(blocks):
        where, kind = f"{path}[{number}]", block.get("type")
        shape = shapes.get(kind) if isinstance(kind, str) else None
        if shape is None:
            raise BadInputError(
                where, f"a block of type {kind!r} cannot be sent here", f"use one of {', '.join(shapes)}"
            )
        if shape is _Image and "url" in (block.get("source") or {}):
            raise BadInputError(f"{where}.source", "images by URL are not stored", "give base64 data")
        found = _read(block, shape, where)
        if isinstance(found, _ToolResult) and isinstance(found.content, list):
            _check_blocks(found.content, _RESULT, f"{where}.content")
        if isinstance(found, _Image):
            _check_image(found, where)


def _check_image(image: _Image, path: str) -> None:
    remedy = "give it as base64, with its media type"
    if image.source is not UNSET:
        data, path = image.source.data, f"{path}.source.data"
    elif image.data is UNSET or image.mimeType is UNSET:
        raise BadInputError(path, "the image has no data", remedy)
    else:
        data, path = image.data, f"{path}.data"
    try:
        b64decode(data, validate=True)
    except ValueError:
        raise BadInputError(path, "the image's data is not base64", remedy) from None


def _own(role: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Check a message in refold's own shape, or one whose content is a text."""
    found = _read(fields, _Own, "message")
    needed = _NEEDED.get(role, "content")
    if getattr(found, needed) is None or (role == "toolResult" and not found.toolCallId):
        missing = "toolCallId" if getattr(found, needed) is not None else needed
        raise BadInputError("message", f"a message of role {role!r} needs `{missing}`", "add it")
    if isinstance(found.content, list):
        _check_blocks(found.content, _CONTENTS.get(role, _TURN))
    elif role == "user":
        _read(found.content, NotBlank, "message.content")
    return fields


def _answer(fields: dict[str, Any]) -> dict[str, Any]:
    """Convert an answer; keep its metadata under pi's names."""
    found = _read(fields, _Answer, "message")
    content: Any = found.content
    if isinstance(content, list):
        _check_blocks(content, _ANSWER)
        content = list(map(_block, content))
    answer: dict[str, Any] = {"role": "assistant", "content": content}
    if found.model:
        answer |= {"api": "anthropic-messages", "provider": PROVIDER, "model": found.model}
    if found.id:
        answer["responseId"] = found.id
    if found.usage:
        answer["usage"] = _usage(found.usage)
    if found.stop_reason:
        answer["stopReason"] = _STOP_REASONS.get(found.stop_reason, found.stop_reason)
    return answer


def _usage(usage: _Usage) -> dict[str, Any]:
    read, write = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    given, output = usage.input_tokens or 0, usage.output_tokens or 0
    counts = {
        "input": given,
        "output": output,
        "cacheRead": read,
        "cacheWrite": write,
        "totalTokens": given + output + read + write,
    }
    an_hour = usage.cache_creation.ephemeral_1h_input_tokens if usage.cache_creation else None
    return {**counts, "cacheWrite1h": an_hour} if an_hour else counts


def _turn(fields: dict[str, Any], tool_of: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    """Convert a user's turn: its tool results, and the other blocks between and after them."""
    blocks = _read(fields, _Turn, "message").content
    _check_blocks(blocks, _TURN)
    run: list[dict[str, Any]] = []
    for number, block in enumerate(blocks):
        if block["type"] != "tool_result":
            run.append(_block(block))
            continue
        if run:
            yield {**fields, "content": run}
            run = []
        call = block["tool_use_id"]
        tool = tool_of(call)
        if not tool:
            raise BadInputError(
                f"message.content[{number}].tool_use_id",
                f"the newest answer with calls has no call {call!r}",
                "append that answer first",
            )
        yield _result(block, tool)
    if run:
        yield {**fields, "content": run}


def _result(block: Mapping[str, Any], tool: str) -> dict[str, Any]:
    content = block.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    return {
        "role": "toolResult",
        "toolCallId": block["tool_use_id"],
        "toolName": tool,
        "content": list(map(_block, content or ())),
        "isError": block.get("is_error") is True,
    }


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """Convert a content block; keep one without a pi shape as the API has it."""
    # A cache breakpoint belongs to the request that it was sent in.
    block.pop("cache_control", None)
    convert = _BLOCKS.get(block["type"])
    return convert(block) if convert else block


def _thinking(block: dict[str, Any]) -> dict[str, Any]:
    if "signature" not in block:
        return block
    return {"type": "thinking", "thinking": block["thinking"], "thinkingSignature": block["signature"]}


def _redacted(block: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "thinking",
        "thinking": _REDACTED,
        "thinkingSignature": block["data"],
        "redacted": True,
    }


def _call(block: dict[str, Any]) -> dict[str, Any]:
    call = {"type": "toolCall", "id": block["id"], "name": block["name"], "arguments": block["input"]}
    further = {name: block[name] for name in ("caller", "toolset_name") if block.get(name) is not None}
    return {**call, **further}


def _image(block: dict[str, Any]) -> dict[str, Any]:
    source = block.get("source")
    if source is None:
        return block
    return {"type": "image", "data": source["data"], "mimeType": source["media_type"]}


_BLOCKS: Final[dict[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "image": _image,
}
