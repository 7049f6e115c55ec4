"""Find what OpenAI's APIs would refuse in the body of a request; shares no code with the renderer."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DATA = re.compile(r"data:image/(png|jpeg|gif|webp);base64,(.+)", re.DOTALL)
_PARTS = {
    "user": {"input_text", "input_image"},
    "system": {"input_text"},
    "developer": {"input_text"},
    "assistant": {"output_text", "refusal"},
}
_OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "function_call_output",
    "tool_search_call": "tool_search_output",
}


def problems_of_responses(body: bytes) -> list[str]:
    """Return what is wrong with a body of the Responses API."""
    request = json.loads(body.decode())
    items = request.get("input")
    if not isinstance(items, list) or not items:
        return ["input is empty"]
    found = [f"input[{n}]: {problem}" for n, item in enumerate(items) for problem in _problems_of_item(item)]
    return found + list(_problems_of_pairs(items))


def _problems_of_item(item: Json) -> Iterator[str]:
    kind = item.get("type", "message")
    if kind == "message":
        yield from _problems_of_content(item)
    elif kind == "function_call":
        json.loads(item["arguments"] or "{}")
        if not _NAME.fullmatch(item["name"]):
            yield "not a name of a tool"
    elif kind in ("function_call_output", "custom_tool_call_output"):
        if not isinstance(item["output"], str):
            yield from _problems_of_parts(item["output"], _PARTS["user"])
    elif kind == "reasoning" and not isinstance(item.get("summary", []), list):
        yield "a summary is a list"
    if "call_id" in item and not 0 < len(item["call_id"]) <= 64:
        yield "an id has 1 to 64 characters"


def _problems_of_content(message: Json) -> Iterator[str]:
    allowed, parts = _PARTS.get(message.get("role", "")), message.get("content")
    if allowed is None:
        yield "no such role"
    elif not parts:
        yield "no content"
    elif not isinstance(parts, str):
        yield from _problems_of_parts(parts, allowed)


def _problems_of_parts(parts: list[Json], allowed: set[str]) -> Iterator[str]:
    for part in parts:
        if part["type"] not in allowed:
            yield f"no place for {part['type']}"
        elif "text" in part["type"] and not isinstance(part["text"], str):
            yield "no text"
        elif part["type"] == "input_image" and not _is_image(part.get("image_url")):
            yield "no image"


def _is_image(url: Any) -> bool:
    data = _DATA.fullmatch(url) if isinstance(url, str) else None
    return data is not None and bool(base64.b64decode(data[2], validate=True))


def _problems_of_pairs(items: list[Json]) -> Iterator[str]:
    open_calls = dict[str, str]()
    seen = set[str]()
    for n, item in enumerate(items):
        kind = item.get("type", "message")
        if kind in _OUTPUTS:
            if item["call_id"] in seen:
                yield f"input[{n}]: a second call with its id"
            seen.add(item["call_id"])
            open_calls[item["call_id"]] = _OUTPUTS[kind]
        elif kind.endswith("_output") and open_calls.pop(item["call_id"], None) != kind:
            yield f"input[{n}]: an output without its call"
    yield from (f"no output for {each}" for each in open_calls)
    if items[-1].get("type") == "reasoning":
        yield "reasoning that nothing follows"


def problems_of_chat(body: bytes) -> list[str]:
    """Return what is wrong with a body of Chat Completions."""
    messages = json.loads(body.decode()).get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages are empty"]
    return list(_problems_of_messages(messages))


def _problems_of_messages(messages: list[Json]) -> Iterator[str]:
    due: list[str] = []
    for n, message in enumerate(messages):
        if message.get("role") == "tool":
            if message["tool_call_id"] not in due or not isinstance(message.get("content"), str):
                yield f"messages[{n}]: a result without its call"
            else:
                due.remove(message["tool_call_id"])
            continue
        if due:
            yield f"messages[{n}]: a call has no result"
        due = [call["id"] for call in message.get("tool_calls", [])]
        yield from (f"messages[{n}]: {problem}" for problem in _problems_of_message(message, due))
    if due:
        yield "a call has no result"


def _problems_of_message(message: Json, calls: list[str]) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "system", "assistant"):
        yield "no such role"
    elif not content and not calls:
        yield "nothing in it"
    elif isinstance(content, list):
        yield from _problems_of_chat_parts(content) if role == "user" else ["no place for parts"]
    if len({*calls}) < len(calls):
        yield "two calls with one id"
    for call in message.get("tool_calls", []):
        json.loads(call["function"]["arguments"])
        if not _NAME.fullmatch(call["function"]["name"]):
            yield "not a name of a tool"


def _problems_of_chat_parts(parts: list[Json]) -> Iterator[str]:
    for part in parts or [{"type": "nothing"}]:
        if part["type"] == "image_url":
            if not _is_image(part["image_url"]["url"]):
                yield "no image"
        elif part["type"] != "text" or not isinstance(part["text"], str):
            yield f"no place for {part['type']}"
