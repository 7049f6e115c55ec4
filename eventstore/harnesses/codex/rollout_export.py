"""Write a session, or a context, as a rollout that Codex resumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import takewhile
from typing import Final

from eventstore.event import Event
from eventstore.frame import decode
from eventstore.harnesses.codex.rollout_line import VERSION, Json, object_in
from eventstore.harnesses.codex.rollout_meaning import user_item
from eventstore.harnesses.resumable import (
    Resumable,
    ResumableMessage,
    Seal,
    Written,
    name_of_block,
    seal_of,
)
from eventstore.javascript import iso_time, stringify, tolerant_json
from eventstore.log import Snapshot
from eventstore.views import Block, Image, Payload, Text, Thinking, ToolCall


def export_file(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    """Yield the lines of a rollout for a session, including what the store appended.

    Its own records come as they are. Entries of other formats become events for the screen, which Codex tells no model;
    off-path events of other formats stay behind.
    """
    for frame in snapshot.frames(session):
        event = decode(frame, session)
        if event.format == VERSION or event.is_entry:
            yield exported_line(event) + b"\n"


def exported_line(event: Event) -> bytes:
    """Return an event's line in a rollout, without the line end."""
    if event.format == VERSION:
        return event.body
    payload = {"type": "refold", "format": event.format, "kind": event.kind, "id": event.id}
    line = {
        "timestamp": iso_time(event.time) or iso_time(event.recorded),
        "type": "event_msg",
        "payload": {**payload, "data": tolerant_json(event.body)},
    }
    return stringify(line).encode("utf-8", "replace")


UNMARKED: Final = "marks of failed results"
_RELEASE: Final = "0.169.0"
_LONGEST_ID: Final = 64
"""Characters of a call's id that the API takes."""


def written(resumable: Resumable) -> Written:
    """Return a rollout for a context.

    A compaction's record has the summary and what it kept as its replacement history.
    """
    lost: Counter[str] = Counter()
    lines = (_line(*each) for each in _records(resumable, lost))
    return Written([stringify(each).encode("utf-8", "replace") + b"\n" for each in lines], lost)


def _line(time: int, type_: str, payload: Json) -> Json:
    return {"timestamp": iso_time(time) or iso_time(0), "type": type_, "payload": payload}


def _records(resumable: Resumable, lost: Counter[str]) -> Iterator[tuple[int, str, Json]]:
    """Yield the time, the type and the payload of each line."""
    messages = resumable.messages
    began = messages[0].time if messages else resumable.time
    thread, folder = resumable.uuid(), resumable.folder or "/"
    meta = {"id": thread, "session_id": thread, "timestamp": iso_time(began) or iso_time(0), "cwd": folder}
    yield began, "session_meta", {**meta, "originator": "refold", "cli_version": _RELEASE, "source": "cli"}
    if resumable.title:
        named = {"thread_id": thread, "thread_name": resumable.title}
        yield began, "event_msg", {"type": "thread_name_updated", **named}
    if resumable.model:
        policy = {"approval_policy": "on-request", "sandbox_policy": {"type": "read-only"}}
        effort = {"effort": resumable.thinking_level} if resumable.thinking_level in _EFFORTS else {}
        settings = {"cwd": folder, **policy, "model": resumable.model, **effort, "summary": "auto"}
        yield began, "turn_context", settings
    if summary := resumable.summary:
        kept = list(takewhile(lambda message: message.is_kept, messages))
        history = [
            object_in(user_item(summary.shown)),
            *(item for each in kept for item in _items(each, lost)),
        ]
        messages = messages[len(kept) :]
        yield summary.time, "compacted", {"message": summary.text, "replacement_history": history}
    for message in messages:
        yield from ((message.time, "response_item", item) for item in _items(message, lost))
        yield from ((message.time, "event_msg", shown) for shown in _shown(message))


_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")


def _shown(message: ResumableMessage) -> Iterator[Json]:
    """Yield the event by which Codex shows a text on its screen and in its list of threads."""
    text = message.view.text
    if text and message.by_person:
        yield {"type": "user_message", "message": text, "images": [], "local_images": [], "text_elements": []}
    elif text and message.view.role == "assistant":
        yield {"type": "agent_message", "message": text}


def _items(message: ResumableMessage, lost: Counter[str]) -> Iterator[Json]:
    """Yield the items of a message, as they were recorded if they were."""
    view = message.view
    if message.items:
        yield from map(object_in, message.items)
    elif view.role == "assistant":
        for block, _ in message.blocks:
            yield from _of_answer(block, lost)
    elif view.role == "toolResult":
        lost.update([UNMARKED] * view.is_error)
        yield {
            "type": "function_call_output",
            "call_id": _call_id(view.tool_call_id),
            **_output(message, lost),
        }
    elif content := _content(message, lost):
        yield {"type": "message", "role": "user", "content": content}


def _of_answer(block: Block, lost: Counter[str]) -> Iterator[Json]:
    if isinstance(block, Text):
        said = [{"type": "output_text", "text": block.text}]
        yield {"type": "message", "role": "assistant", "content": said}
    elif isinstance(block, ToolCall):
        given = block.arguments.decode("utf-8", "replace")
        called = {"name": block.name, "arguments": given, "call_id": _call_id(block.id)}
        yield {"type": "function_call", **called}
    elif isinstance(block, Thinking) and seal_of(block) is Seal.RESPONSES:
        yield object_in(block.signature.encode("utf-8", "replace"))
    elif isinstance(block, Thinking):
        lost["thoughts of other APIs"] += 1
    else:
        lost[name_of_block(block)] += 1


def _output(message: ResumableMessage, lost: Counter[str]) -> Json:
    """Return what a call returned: a text alone, or a list."""
    content = _content(message, lost)
    texts = [part["text"] for part in content if "text" in part]
    is_text = len(content) == len(texts) <= 1
    return {"output": "".join(texts) if is_text else content}


def _content(message: ResumableMessage, lost: Counter[str]) -> list[Json]:
    found = [_part(block, payload) for block, payload in message.blocks]
    lost.update(
        name_of_block(block) for (block, _), part in zip(message.blocks, found, strict=True) if not part
    )
    return [part for part in found if part]


def _part(block: Block, payload: Payload) -> Json:
    """Return a block as a part of a message or an output; {} if Codex has none for it."""
    if isinstance(block, Text):
        return {"type": "input_text", "text": block.text}
    if isinstance(block, Image) and payload.image:
        return {"type": "input_image", "image_url": f"data:{block.mime};base64,{payload.image}"}
    return {}


def _call_id(name: str) -> str:
    """Return the id of a call; pi joins it with that of the item, and the API takes no long one."""
    name = name.partition("|")[0]
    return name if len(name) <= _LONGEST_ID else sha256(name.encode("utf-8", "replace")).hexdigest()
