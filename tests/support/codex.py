"""Lines of Codex's rollouts."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

Json = dict[str, Any]
THREAD = "01a22150-4dde-77d1-bd62-ecad83c3e3a6"


def line(type_: Any, payload: Any, *, at: int = 0, **beside: Any) -> bytes:
    fields = {"timestamp": f"2025-12-08T22:00:{at:02}.000Z", "type": type_, "payload": payload}
    return json.dumps({**fields, **beside}, separators=(",", ":")).encode() + b"\n"


def meta(thread: str = THREAD, **more: Any) -> bytes:
    return line("session_meta", {"id": thread, "cwd": "/work", "model_provider": "openai", **more})


def item(type_: str, **fields: Any) -> Json:
    return {"type": type_, **fields}


def said(text: str, role: str = "user", **more: Any) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}], **more)


def answered(text: str, **more: Any) -> Json:
    return said(text, "assistant", **more)


def called(call: str, tool: str = "exec_command", **arguments: Any) -> Json:
    return item("function_call", name=tool, arguments=json.dumps(arguments), call_id=call)


def output(call: str, text: str = "done", type_: str = "function_call_output") -> Json:
    return item(type_, call_id=call, output=text)


def compacted(message: str = "", *history: Json, **more: Any) -> bytes:
    return line("compacted", {"message": message, "replacement_history": list(history), **more})


def event(type_: str, **fields: Any) -> bytes:
    return line("event_msg", {"type": type_, **fields})


def usage(input_: int, cached: int = 0, written: int = 0, output_: int = 5) -> Json:
    return {
        "input_tokens": input_,
        "cached_input_tokens": cached,
        "cache_write_input_tokens": written,
        "output_tokens": output_,
        "total_tokens": input_ + output_,
    }


def rollout(*lines: Json | bytes) -> bytes:
    """Return a file: a first record, and lines, of which an item stands for its record."""
    return meta() + b"".join(
        each if isinstance(each, bytes) else line("response_item", each) for each in lines
    )


def paginated(*lines: tuple[str, Json], first: int = 0) -> bytes:
    """Return a file whose lines have ordinals from `first` on."""
    numbered = zip(count(first), lines, strict=False)
    return b"".join(line(type_, payload, ordinal=number) for number, (type_, payload) in numbered)


def of_items(*items: Json) -> list[tuple[str, Json]]:
    return [("response_item", each) for each in items]


def name_of(thread: str = THREAD, rollout: str = "") -> str:
    """Return the name of a rollout's file."""
    return f"rollout-2025-12-08T22-00-00-{thread}{rollout and f'_{rollout}'}.jsonl"
