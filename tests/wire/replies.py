"""Answers of the scripted model, in the shape of each API, whole and as a stream of events.

Nothing here reads a clock or draws a number: the same reply to the same request is the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

Json = dict[str, Any]


class Text(NamedTuple):
    """Text of the model."""

    text: str


class Thinking(NamedTuple):
    """Reasoning of the model; its signature is derived from its text."""

    text: str


class Call(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: Json


class Patch(NamedTuple):
    """A call of a tool that takes plain text: Codex's `apply_patch`."""

    name: str
    text: str


class Sealed(NamedTuple):
    """A compaction that only its provider can read."""

    secret: str


Block = Text | Thinking | Call | Patch | Sealed


class Refusal(NamedTuple):
    """An error in place of an answer. `retry_after` is in seconds."""

    status: int
    type: str
    message: str
    retry_after: int | None = None


class Reply(NamedTuple):
    """One scripted answer.

    `stop` replaces the reason for which it ends. `refusal` is sent instead of the blocks. `is_cut` closes the
    connection in the middle of the stream; `stall` pauses there and `delay` before it, in seconds.
    """

    blocks: tuple[Block, ...] = ()
    stop: str = ""
    refusal: Refusal | None = None
    is_cut: bool = False
    stall: float = 0
    delay: float = 0


def say(*blocks: Block | str, **options: Any) -> Reply:
    """Return a reply; a string is text."""
    return Reply(tuple(Text(each) if isinstance(each, str) else each for each in blocks), **options)


def refuse(status: int, type: str, message: str, *, retry_after: int | None = None) -> Reply:
    """Return a reply that is an error."""
    return Reply(refusal=Refusal(status, type, message, retry_after))


OVERLOADED: Final = refuse(529, "overloaded_error", "overloaded", retry_after=1)
TOO_LONG: Final = refuse(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")


class Usage(NamedTuple):
    """Tokens of an answer: sent, of these read from the cache, and received."""

    sent: int
    cached: int
    received: int


class Rendered(NamedTuple):
    """An answer: its id, its body, and the same as the events of a stream."""

    id: str
    body: Json
    events: Sequence[str]


def seal(text: str) -> str:
    """Return a made-up signature or encrypted text: base64 of a digest."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _event(name: str, data: Mapping[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data}, ensure_ascii=False)}\n\n"


def as_messages(number: int, model: str, reply: Reply, usage: Usage) -> Rendered:
    """Render a reply as Anthropic's Messages API does."""
    content = [_messages_block(number, place, block) for place, block in enumerate(reply.blocks)]
    fresh = usage.sent - usage.cached
    counts = {
        "input_tokens": min(4, fresh),
        "cache_creation_input_tokens": max(0, fresh - 4),
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.received,
    }
    called = any(block["type"] == "tool_use" for block in content)
    stop = reply.stop or ("tool_use" if called else "end_turn")
    body = {
        "id": f"msg_w{number:04}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": counts,
    }
    begun = {**body, "content": [], "stop_reason": None, "usage": {**counts, "output_tokens": 1}}
    events = [_event("message_start", {"message": begun})]
    for index, block in enumerate(content):
        empty, deltas = _messages_deltas(block)
        events.append(_event("content_block_start", {"index": index, "content_block": empty}))
        events += [_event("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
        events.append(_event("content_block_stop", {"index": index}))
    ended = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": counts}
    events += [_event("message_delta", ended), _event("message_stop", {})]
    return Rendered(str(body["id"]), body, events)


def _messages_block(number: int, place: int, block: Block) -> Json:
    if isinstance(block, Thinking):
        return {"type": "thinking", "thinking": block.text, "signature": seal(block.text)}
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Call):
        name = f"toolu_w{number:04}{place:02}"
        return {"type": "tool_use", "id": name, "name": block.name, "input": block.arguments}
    raise TypeError(f"the Messages API has no {type(block).__name__}")


def _messages_deltas(block: Json) -> tuple[Json, list[Json]]:
    """Return an empty block, and the pieces that fill it."""
    if block["type"] == "text":
        text, half = block["text"], len(block["text"]) // 2
        pieces = [{"type": "text_delta", "text": piece} for piece in (text[:half], text[half:])]
        return {"type": "text", "text": ""}, pieces
    if block["type"] == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    arguments = json.dumps(block["input"], ensure_ascii=False)
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": arguments}]


def as_responses(number: int, model: str, reply: Reply, usage: Usage) -> Rendered:
    """Render a reply as OpenAI's Responses API does."""
    output = [_responses_item(f"w{number:04}{place:02}", block) for place, block in enumerate(reply.blocks)]
    body = {
        "id": f"resp_w{number:04}",
        "object": "response",
        "created_at": 1700000000 + number,
        "status": "completed",
        "model": model,
        "output": output,
        "error": None,
        "incomplete_details": None,
        "usage": {
            "input_tokens": usage.sent,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.received,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.sent + usage.received,
        },
    }
    if reply.stop:
        body |= {"status": "incomplete", "incomplete_details": {"reason": reply.stop}}
    ended = "response.incomplete" if reply.stop else "response.completed"
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    events: list[tuple[str, Json]] = [("response.created", {"response": begun})]
    for index, item in enumerate(output):
        empty, deltas = _responses_deltas(item)
        events.append(("response.output_item.added", {"output_index": index, "item": empty}))
        events += [(name, {"item_id": item["id"], "output_index": index, **delta}) for name, delta in deltas]
        events.append(("response.output_item.done", {"output_index": index, "item": item}))
    events.append((ended, {"response": body}))
    numbered = [_event(name, {"sequence_number": at, **data}) for at, (name, data) in enumerate(events)]
    return Rendered(str(body["id"]), body, numbered)


def _responses_item(name: str, block: Block) -> Json:
    if isinstance(block, Thinking):
        summary = [{"type": "summary_text", "text": block.text}]
        return {
            "type": "reasoning",
            "id": f"rs_{name}",
            "summary": summary,
            "encrypted_content": seal(block.text),
        }
    if isinstance(block, Text):
        content = [{"type": "output_text", "text": block.text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{name}", "role": "assistant"}
        return {**item, "status": "completed", "content": content}
    if isinstance(block, Sealed):
        return {"type": "compaction", "id": f"cmp_{name}", "encrypted_content": seal(block.secret)}
    called = {"call_id": f"call_{name}", "name": block.name, "status": "completed"}
    if isinstance(block, Patch):
        return {"type": "custom_tool_call", "id": f"ctc_{name}", **called, "input": block.text}
    arguments = json.dumps(block.arguments, ensure_ascii=False)
    return {"type": "function_call", "id": f"fc_{name}", **called, "arguments": arguments}


def _responses_deltas(item: Json) -> tuple[Json, list[tuple[str, Json]]]:
    """Return an empty item, and the events that fill it, by name."""
    begun = {**item, "status": "in_progress"} if "status" in item else dict(item)
    if item["type"] == "message":
        (part,) = item["content"]
        text = {"content_index": 0, "text": part["text"]}
        return {**begun, "content": []}, [
            ("response.content_part.added", {"content_index": 0, "part": {**part, "text": ""}}),
            ("response.output_text.delta", {"content_index": 0, "delta": part["text"]}),
            ("response.output_text.done", text),
            ("response.content_part.done", {"content_index": 0, "part": part}),
        ]
    if item["type"] == "reasoning":
        (part,) = item["summary"]
        return {**begun, "summary": []}, [
            ("response.reasoning_summary_part.added", {"summary_index": 0, "part": {**part, "text": ""}}),
            ("response.reasoning_summary_text.delta", {"summary_index": 0, "delta": part["text"]}),
            ("response.reasoning_summary_text.done", {"summary_index": 0, "text": part["text"]}),
            ("response.reasoning_summary_part.done", {"summary_index": 0, "part": part}),
        ]
    if item["type"] == "function_call":
        arguments = item["arguments"]
        return {**begun, "arguments": ""}, [
            ("response.function_call_arguments.delta", {"delta": arguments}),
            ("response.function_call_arguments.done", {"arguments": arguments}),
        ]
    return begun, []


def as_chat(number: int, model: str, reply: Reply, usage: Usage) -> Rendered:
    """Render a reply as OpenAI's Chat Completions API does."""
    message: Json = {"role": "assistant", "content": None}
    calls: list[Json] = []
    for place, block in enumerate(reply.blocks):
        if isinstance(block, Thinking):
            message["reasoning_content"] = block.text
        elif isinstance(block, Text):
            message["content"] = (message["content"] or "") + block.text
        elif isinstance(block, Call):
            function = {"name": block.name, "arguments": json.dumps(block.arguments, ensure_ascii=False)}
            calls.append({"id": f"call_w{number:04}{place:02}", "type": "function", "function": function})
        else:
            raise TypeError(f"the Chat Completions API has no {type(block).__name__}")
    if calls:
        message["tool_calls"] = calls
    finish = reply.stop or ("tool_calls" if calls else "stop")
    head = {"id": f"chatcmpl-w{number:04}", "created": 1700000000 + number, "model": model}
    counts = {
        "prompt_tokens": usage.sent,
        "completion_tokens": usage.received,
        "total_tokens": usage.sent + usage.received,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body = {**head, "object": "chat.completion", "choices": [choice], "usage": counts}
    deltas: list[tuple[Json, str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [
        ({name: message[name]}, None) for name in ("reasoning_content", "content") if message.get(name)
    ]
    deltas += [({"tool_calls": [{"index": at, **call}]}, None) for at, call in enumerate(calls)]
    deltas.append(({}, finish))
    chunks: list[Json] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas
    ]
    chunks.append({"choices": [], "usage": counts})
    chunked = [{**head, "object": "chat.completion.chunk", **chunk} for chunk in chunks]
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunked]
    return Rendered(str(head["id"]), body, [*lines, "data: [DONE]\n\n"])


RENDERERS: Final = {"messages": as_messages, "responses": as_responses, "chat": as_chat}
"""Functions that render a reply, by the name of an API."""
