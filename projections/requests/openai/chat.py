"""Convert items of the Responses API to messages of Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from projections.requests.anthropic.repairs import RepairRule, Repairs
from projections.requests.openai.items import MESSAGE, REASONING, Item

_encode: Final = msgspec.json.Encoder().encode
_NO_TEXT: Final = "[images of this result follow]"


def chat_messages(items: Sequence[Item], repairs: Repairs) -> list[bytes]:
    """Return the messages of paired items: results directly behind the message with their calls.

    Their images follow in a user's message. Reasoning, and items that only the Responses API knows, are left out.
    """
    outputs = {item.call_id: item for item in items if item.is_output}
    messages, calls = list[dict[str, Any]](), list[Item]()
    for item in items:
        if item.is_call:
            calls.append(item)
            continue
        if calls:
            _add_calls(messages, calls, outputs)
            calls = []
        note = repairs.of(item.event)
        if item.type == MESSAGE:
            if message := _message(item):
                messages.append(message)
            else:
                note(RepairRule.EMPTY_MESSAGE, "left out: it is empty")
        elif not item.is_output:
            rule = RepairRule.UNSIGNED_THINKING if item.type == REASONING else RepairRule.BLOCK
            note(rule, f"an item of type {item.type[:80]!r} is left out")
    return [*map(_encode, messages)]


def _message(item: Item) -> dict[str, Any] | None:
    """Return a message, None if nothing is in it."""
    content, role = _parts(item.fields.get("content")), str(item.fields.get("role", "user"))
    if not content:
        return None
    if role == "assistant":
        return {"role": role, "content": "".join(part.get("text", "") for part in content)}
    if role in ("developer", "system"):
        # The name that every server knows.
        return {"role": "system", "content": "\n\n".join(part.get("text", "") for part in content)}
    is_text = len(content) == 1 and content[0]["type"] == "text"
    return {"role": role, "content": content[0]["text"] if is_text else content}


def _add_calls(messages: list[dict[str, Any]], calls: Sequence[Item], outputs: Mapping[str, Item]) -> None:
    """Add calls to the assistant's message above, or to one of their own; then results."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    messages[-1]["tool_calls"] = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": _name(call), "arguments": _arguments(call)},
        }
        for call in calls
    ]
    images = list[dict[str, Any]]()
    for call in calls:
        content = _parts(outputs[call.call_id].fields.get("output"))
        found = [part for part in content if part["type"] == "image_url"]
        text = "\n".join(part["text"] for part in content if part["type"] == "text")
        messages.append(
            {"role": "tool", "tool_call_id": call.call_id, "content": text or (_NO_TEXT if found else "")}
        )
        images += found
    if images:
        messages.append({"role": "user", "content": images})


def _parts(content: Any) -> list[dict[str, Any]]:
    """Return content of any item as parts of Chat Completions."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    found = list[dict[str, Any]]()
    for part in content if isinstance(content, list) else ():
        fields = part if isinstance(part, dict) else {}
        if isinstance(text := fields.get("text", fields.get("refusal")), str):
            found.append({"type": "text", "text": text})
        elif isinstance(url := fields.get("image_url"), str):
            found.append({"type": "image_url", "image_url": {"url": url}})
    return found


def _name(call: Item) -> str:
    return str(call.fields.get("name") or call.type.removesuffix("_call"))


def _arguments(item: Item) -> str:
    arguments = item.fields.get("arguments")
    if isinstance(arguments, str):
        return arguments
    known = {"type", "id", "call_id", "name", "status", "arguments"}
    return _encode({name: value for name, value in item.fields.items() if name not in known}).decode()
