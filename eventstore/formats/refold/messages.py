"""Messages of Anthropic's Messages API in the shape that refold stores: pi's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from eventstore.errors import BadInputError
from eventstore.event import ROLES

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
"""What pi shows in place of thinking that is encrypted."""


def stored_messages(message: object, tool_of: Callable[[str], str]) -> list[dict[str, Any]]:
    """Convert a message of the API to the messages that a session keeps of it.

    `message` is an object of the `anthropic` client or a mapping. Each tool result becomes a message of its own;
    `tool_of` names the tool of a call by the call's id. A message in refold's own shape stays as it is. Raises
    BadInputError for a message that no session can hold.
    """
    fields = _fields(message)
    role, content = fields.get("role"), fields.get("content")
    if role not in ROLES or not role:
        raise BadInputError(
            f"message of role {role!r}",
            "a session holds no such messages",
            "append messages of the user and the assistant; a system prompt goes with each request",
        )
    if role == "assistant" and "provider" not in fields:
        return [_answer(fields, content)]
    if role == "user" and isinstance(content, list):
        return list(_turn(fields, content, tool_of))
    return [fields]


def _fields(value: object) -> dict[str, Any]:
    """Return the fields of a mapping, or those that an object of the client came with."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        # What the API has not said is not sent back to it either.
        return dict(dump(mode="json", exclude_unset=True, warnings=False))
    if isinstance(value, Mapping):
        return dict(value)
    raise BadInputError(
        f"a message of type {type(value).__name__}",
        "it is neither an object of the anthropic client nor a dict",
        "append an answer of the client, or a dict with role and content",
    )


def _answer(fields: Mapping[str, Any], content: object) -> dict[str, Any]:
    """Convert an answer; what says how it came to be is kept by pi's names."""
    blocks = [_block(_fields(block)) for block in content] if isinstance(content, list) else content
    answer: dict[str, Any] = {"role": "assistant", "content": blocks}
    if fields.get("model"):
        answer |= {"api": "anthropic-messages", "provider": PROVIDER, "model": fields["model"]}
    if fields.get("id"):
        answer["responseId"] = fields["id"]
    if fields.get("usage"):
        answer["usage"] = _usage(_fields(fields["usage"]))
    if fields.get("stop_reason"):
        answer["stopReason"] = _STOP_REASONS.get(fields["stop_reason"], fields["stop_reason"])
    return answer


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    read, write = usage.get("cache_read_input_tokens") or 0, usage.get("cache_creation_input_tokens") or 0
    given, output = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    counts = {
        "input": given,
        "output": output,
        "cacheRead": read,
        "cacheWrite": write,
        "totalTokens": given + output + read + write,
    }
    an_hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens")
    return {**counts, "cacheWrite1h": an_hour} if an_hour else counts


def _turn(
    fields: dict[str, Any], content: list[Any], tool_of: Callable[[str], str]
) -> Iterator[dict[str, Any]]:
    """Convert a user's turn: its tool results, and runs of other blocks between and behind them."""
    run: list[dict[str, Any]] = []
    for block in map(_fields, content):
        if block.get("type") != "tool_result":
            run.append(_block(block))
            continue
        if run:
            yield {**fields, "content": run}
            run = []
        yield _result(block, tool_of)
    if run or not content:
        yield {**fields, "content": run}


def _result(block: Mapping[str, Any], tool_of: Callable[[str], str]) -> dict[str, Any]:
    content, call = block.get("content"), block.get("tool_use_id", "")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    return {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": tool_of(call),
        "content": [_block(_fields(each)) for each in content or ()],
        "isError": block.get("is_error") is True,
    }


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """Convert a content block; one that pi has no shape for is kept as the API has it."""
    # A cache breakpoint is of the request that it was sent in.
    block.pop("cache_control", None)
    convert = _BLOCKS.get(block.get("type", ""))
    return convert(block) if convert else block


def _thinking(block: dict[str, Any]) -> dict[str, Any]:
    if "signature" not in block:
        return block
    return {
        "type": "thinking",
        "thinking": block.get("thinking", ""),
        "thinkingSignature": block["signature"],
    }


def _redacted(block: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "thinking",
        "thinking": _REDACTED,
        "thinkingSignature": block.get("data", ""),
        "redacted": True,
    }


def _call(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "toolCall", "id": block["id"], "name": block["name"], "arguments": block["input"]}


def _image(block: dict[str, Any]) -> dict[str, Any]:
    source = block.get("source")
    if source is None:
        return block
    if source.get("type") != "base64":
        raise BadInputError(
            f"an image by {source.get('type')}",
            "a session keeps images by their data, so that it holds all that the model saw",
            "give its base64 data",
        )
    return {"type": "image", "data": source["data"], "mimeType": source["media_type"]}


_BLOCKS: Final[dict[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "image": _image,
}
