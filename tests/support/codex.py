"""Lines of Codex's rollouts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import count
from typing import Any, Final

Json = dict[str, Any]
THREAD = "01a22150-4dde-77d1-bd62-ecad83c3e3a6"


def line(type_: Any, payload: Any, *, at: int = 0, **beside: Any) -> bytes:
    fields = {"timestamp": f"2025-12-08T22:00:{at:02}.000Z", "type": type_, "payload": payload}
    return json.dumps({**fields, **beside}, separators=(",", ":")).encode() + b"\n"


def meta(thread: str = THREAD, **more: Any) -> bytes:
    return line("session_meta", {"id": thread, "cwd": "/home/user", "model_provider": "openai", **more})


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


def some_session(rng: random.Random) -> list[bytes]:
    """Return the lines of a rollout with some of all kinds of records."""
    lines = [meta(forked_from_id=THREAD) if rng.random() < 0.2 else meta()]
    is_numbered = rng.random() < 0.5
    for number in range(rng.randint(2, 8)):
        beside = {"ordinal": number + 1} if is_numbered else {}
        lines.append(rng.choice(_RECORDS)(f"k{rng.randrange(3)}", number, beside))
    return [each[:-1] for each in lines]


def _of_item(made: Callable[[str], Json]) -> Callable[[str, int, Json], bytes]:
    return lambda call, at, beside: line("response_item", made(call), at=at, **beside)


def _of_payload(type_: str, payload: Json) -> Callable[[str, int, Json], bytes]:
    return lambda _, at, beside: line(type_, payload, at=at, **beside)


_HISTORY: Final = [said("kept"), item("compaction", encrypted_content="x" * 900)]
_RECORDS: Final = (
    _of_item(lambda call: said(f"Do {call}.", id=f"msg_{call}")),
    _of_item(lambda _: said("<environment_context>\n</environment_context>")),
    _of_item(lambda _: answered("größe")),
    _of_item(
        lambda call: item(
            "reasoning", summary=[{"type": "summary_text", "text": call}], encrypted_content="x"
        )
    ),
    _of_item(lambda call: called(call, cmd="ls")),
    _of_item(lambda call: called(call, "spawn_agent", message="go")),
    _of_item(
        lambda call: item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id=call)
    ),
    _of_item(lambda call: output(call, "Exit code: 1\nOutput:\nno")),
    _of_item(lambda call: output(call, json.dumps({"agent_id": call}))),
    _of_item(lambda call: output(call, '{"output":"no","metadata":{"exit_code":1}}')),
    _of_item(
        lambda call: item(
            "function_call_output",
            call_id=call,
            output=[{"type": "input_image", "image_url": "data:image/png;base64,eA=="}],
        )
    ),
    _of_item(lambda _: item("web_search_call", status="completed")),
    _of_payload("compacted", {"message": "", "replacement_history": _HISTORY}),
    _of_payload("compacted", {"message": "A summary.", "replacement_history": [said("A summary.")]}),
    _of_payload("compacted", {"message": "A summary."}),
    _of_payload("turn_context", {"model": "m", "effort": "high", "cwd": "/home/user"}),
    _of_payload("token_usage_record", {"usage": usage(100, 50)}),
    _of_payload("event_msg", {"type": "token_count", "info": {"last_token_usage": usage(100)}}),
    _of_payload("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
    _of_payload("event_msg", {"type": "thread_name_updated", "thread_name": "A title"}),
    _of_payload("world_state", {"full": True}),
)
