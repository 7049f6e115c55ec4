"""Convert answers of OpenAI's Responses API to the shape that refold stores: pi's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec

from eventstore.errors import BadInputError

RESPONSE: Final = "response"
"""The value of an answer's field `object`."""
_STOP_REASONS: Final = {"max_output_tokens": "length"}
_T = TypeVar("_T")


class _Cached(msgspec.Struct):
    cached_tokens: int = 0


class _Usage(msgspec.Struct):
    input_tokens: int
    output_tokens: int
    input_tokens_details: _Cached | None = None


class _Reason(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    output: list[dict[str, Any]]
    id: str
    model: str
    status: str | None = None
    incomplete_details: _Reason | None = None
    usage: _Usage | None = None


class _Part(msgspec.Struct):
    """A part of an answer's text; a refusal is a text, too."""

    text: str = ""
    refusal: str = ""


class _Message(msgspec.Struct):
    content: list[_Part]


class _Call(msgspec.Struct):
    call_id: str
    name: str
    arguments: str


class _Reasoning(msgspec.Struct):
    summary: list[_Part] = []


def stored_response(fields: dict[str, Any]) -> dict[str, Any]:
    """Convert an answer; its reasoning goes back to its model as it came.

    Raises BadInputError with an item's path for one that no session stores, such as a search by the API itself.
    """
    found = _read(fields, _Response, "message")
    content = [
        block
        for number, item in enumerate(found.output)
        for block in _blocks(item, f"message.output[{number}]")
    ]
    calls = any(block["type"] == "toolCall" for block in content)
    answer: dict[str, Any] = {
        "role": "assistant",
        "content": content,
        "api": "openai-responses",
        "provider": "openai",
        "model": found.model,
        "responseId": found.id,
        "stopReason": _stop_reason(found) or ("toolUse" if calls else "stop"),
    }
    if found.usage:
        answer["usage"] = _usage(found.usage)
    return answer


def _blocks(item: dict[str, Any], path: str) -> Iterator[dict[str, Any]]:
    """Yield the blocks of an item."""
    kind = item.get("type")
    if kind == "message":
        texts = (part.text or part.refusal for part in _read(item, _Message, path).content)
        yield from ({"type": "text", "text": text} for text in texts)
    elif kind == "function_call":
        call = _read(item, _Call, path)
        yield {"type": "toolCall", "id": call.call_id, "name": call.name, "arguments": _arguments(call)}
    elif kind == "reasoning":
        thought = "\n\n".join(part.text for part in _read(item, _Reasoning, path).summary)
        sealed = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
        yield {"type": "thinking", "thinking": thought, "thinkingSignature": sealed}
    else:
        problem = f"an item of type {kind!r} is not stored"
        raise BadInputError(path, problem, "ask without tools that the API runs itself")


def _arguments(call: _Call) -> Any:
    """Return a call's arguments, the text itself if the model wrote no JSON."""
    try:
        return json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return call.arguments


def _stop_reason(found: _Response) -> str:
    """Return why an answer is not complete, "" if it is."""
    if found.status in (None, "completed"):
        return ""
    reason = found.incomplete_details.reason if found.incomplete_details else None
    return _STOP_REASONS.get(reason or "", "error")


def _usage(usage: _Usage) -> dict[str, Any]:
    cached = usage.input_tokens_details.cached_tokens if usage.input_tokens_details else 0
    return {
        "input": usage.input_tokens - cached,
        "output": usage.output_tokens,
        "cacheRead": cached,
        "cacheWrite": 0,
        "totalTokens": usage.input_tokens + usage.output_tokens,
    }


def _read(value: object, shape: type[_T], path: str) -> _T:
    """Decode a part of an answer. Raises BadInputError with its path and the problem."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        problem, _, within = str(error).partition(" - at `$")
        raise BadInputError(path + within.rstrip("`"), problem, "append what the client returned") from None
