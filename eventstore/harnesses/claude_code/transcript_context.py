"""Write a context as a session file that Claude Code resumes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, Final

from eventstore.harnesses.resumable import (
    Resumable,
    ResumableMessage,
    ResumableSummary,
    Seal,
    Written,
    name_of_block,
    seal_of,
    without_unanswered,
)
from eventstore.javascript import iso_time, stringify
from eventstore.views import Block, Image, Payload, Text, Thinking, ToolCall

Json = dict[str, Any]

_RELEASE: Final = "2.1.331"
"""The release whose records these are."""
_NOT_IN_IDS: Final = re.compile(r"[^a-zA-Z0-9_-]")
_USAGE: Final = dict.fromkeys(
    ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"), 0
)
"""Claude Code needs a usage of each answer; the real one counts in the source."""


def written(resumable: Resumable) -> Written:
    """Return a transcript for a context; a boundary and the summary come first.

    Claude Code sends no call without a result.
    """
    lost: Counter[str] = Counter()
    resumable = without_unanswered(resumable, lost)
    records = [*_chained(resumable, _records(resumable, lost))]
    session = {"sessionId": resumable.uuid()}
    if resumable.title:
        records.append({"type": "custom-title", "customTitle": resumable.title, **session})
    return Written([stringify(each).encode("utf-8", "replace") + b"\n" for each in records], lost)


def _chained(resumable: Resumable, records: Iterable[Json]) -> Iterator[Json]:
    """Yield each record as a child of the one before; a boundary is a root."""
    parent = None
    for place, record in zip(count(1), records, strict=False):
        name = resumable.uuid(place)
        time = record.pop("time")
        yield {
            "parentUuid": parent,
            "isSidechain": False,
            **record,
            "uuid": name,
            "timestamp": iso_time(time) or iso_time(0),
            "userType": "external",
            "cwd": resumable.folder,
            "sessionId": resumable.uuid(),
            "version": _RELEASE,
        }
        parent = name


def _records(resumable: Resumable, lost: Counter[str]) -> Iterator[Json]:
    if resumable.summary:
        yield from _compaction(resumable.summary)
    for place, message in enumerate(resumable.messages):
        content = [
            made for block, payload in message.blocks if (made := _block(message, block, payload, lost))
        ]
        if message.view.role == "assistant":
            yield from _answer(message, f"msg_{resumable.uuid(-1 - place)}", content)
        elif message.view.role == "toolResult":
            result = {
                "tool_use_id": _id(message.view.tool_call_id),
                "type": "tool_result",
                "content": content,
            }
            failed = {"is_error": True} if message.view.is_error else {}
            yield _said([{**result, **failed}], message.time)
        elif content:
            yield {**_said(content, message.time), **({} if message.by_person else {"isMeta": True})}


def _compaction(summary: ResumableSummary) -> Iterator[Json]:
    yield {
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "isMeta": False,
        "level": "info",
        "compactMetadata": {"trigger": "manual", "preTokens": summary.tokens_before},
        "time": summary.time,
    }
    yield {
        **_said(summary.shown, summary.time),
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
    }


def _said(content: str | list[Json], time: int) -> Json:
    return {"type": "user", "message": {"role": "user", "content": content}, "time": time}


def _answer(message: ResumableMessage, name: str, content: list[Json]) -> Iterator[Json]:
    """Yield the records of an answer: one a block."""
    is_call = any(block["type"] == "tool_use" for block in content)
    for block in content:
        answer = {
            "id": name,
            "type": "message",
            "role": "assistant",
            "model": message.view.model,
            "content": [block],
            "stop_reason": "tool_use" if is_call else "end_turn",
            "stop_sequence": None,
            "usage": _USAGE,
        }
        yield {"type": "assistant", "message": answer, "time": message.time}


def _block(message: ResumableMessage, block: Block, payload: Payload, lost: Counter[str]) -> Json | None:
    is_answer = message.view.role == "assistant"
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Image) and payload.image and not is_answer:
        source = {"type": "base64", "media_type": block.mime, "data": payload.image}
        return {"type": "image", "source": source}
    if isinstance(block, ToolCall) and is_answer:
        arguments = block.decoded if isinstance(block.decoded, dict) else {"input": block.decoded}
        return {"type": "tool_use", "id": _id(block.id), "name": block.name, "input": arguments}
    if isinstance(block, Thinking) and is_answer and seal_of(block) is Seal.MESSAGES:
        if payload.is_redacted:
            return {"type": "redacted_thinking", "data": block.signature}
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    of_others = " of other providers" if isinstance(block, Thinking) else ""
    lost[name_of_block(block) + of_others] += 1
    return None


def _id(name: str) -> str:
    """Return the id of a call as the Messages API takes it."""
    return _NOT_IN_IDS.sub("_", name)
