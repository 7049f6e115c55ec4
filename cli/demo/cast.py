"""Who speaks in the demo session: messages in pi's shape."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from inspect import cleandoc
from typing import Any, Final

Message = dict[str, Any]

_SOFT_BREAK: Final = re.compile(r"(?<!\n)\n(?!\n|## |- |\d+\. ) *")


def prose(text: str) -> str:
    """Text as it would be typed: no indentation, one line a paragraph, lists and headings kept."""
    return _SOFT_BREAK.sub(" ", cleandoc(text))


def user(text: str, *, image: str | None, time: int) -> Message:
    """What the person writes; `image` is a PNG in base64."""
    content: list[dict[str, Any]] = [{"type": "text", "text": prose(text)}]
    if image is not None:
        content.append({"type": "image", "data": image, "mimeType": "image/png"})
    return {"role": "user", "content": content, "timestamp": time}


def assistant(thinking: str, text: str, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of a model's message, in the order that models write them; empty ones are left out."""
    blocks: list[dict[str, Any]] = []
    if thinking:
        thought = prose(thinking)
        seal = base64.b64encode(sha256(thought.encode()).digest()).decode()
        blocks.append({"type": "thinking", "thinking": thought, "thinkingSignature": seal})
    if text:
        blocks.append({"type": "text", "text": prose(text)})
    return [*blocks, *calls]


def tool_call(call_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """One call in a model's message."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": dict(arguments)}


def tool_result(call_id: str, name: str, text: str, *, is_error: bool, time: int) -> Message:
    """What a tool answered."""
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": [{"type": "text", "text": text}],
        "isError": is_error,
        "timestamp": time,
    }


def shell(command: str, output: str, *, exit_code: int, time: int) -> Message:
    """A command that the person runs in the harness."""
    return {
        "role": "bashExecution",
        "command": command,
        "output": output,
        "exitCode": exit_code,
        "cancelled": False,
        "truncated": False,
        "timestamp": time,
    }
