"""Write a context as a session file that pi, or the harness of a dialect, resumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Final

from eventstore.harnesses.pi.dialects import NEWEST_VERSION, PI, Dialect
from eventstore.harnesses.pi.export import translated
from eventstore.harnesses.resumable import (
    Resumable,
    ResumableMessage,
    Seal,
    Written,
    name_of_block,
    seal_of,
)
from eventstore.javascript import iso_time, stringify
from eventstore.views import Block, Image, Message, Payload, Text, Thinking, ToolCall

Record = dict[str, Any]

_LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh")
_INJECTED: Final = "refold.injected"
"""The type of what the source's harness said in the person's place."""
_APIS: Final = {"anthropic": "anthropic-messages", "openai": "openai-responses"}
_OF_SEALS: Final = {
    Seal.MESSAGES: "anthropic-messages",
    Seal.RESPONSES: "openai-responses",
    Seal.CHAT: "openai-completions",
}
_USAGE: Final = {
    **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0),
    "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0),
}
"""pi needs a usage of each answer; the real one stays with the source, to count once."""


def written(resumable: Resumable, dialect: Dialect = PI) -> Written:
    """Return a file for a context.

    The compaction's record comes before what it keeps: pi sends the same, and its next compaction starts there.
    """
    lost: Counter[str] = Counter()
    records = (_header(resumable), *_chained(_records(resumable, lost), dialect))
    return Written([stringify(each).encode("utf-8", "replace") + b"\n" for each in records], lost)


def _header(resumable: Resumable) -> Record:
    """Return the record that begins a file."""
    return {
        "type": "session",
        "version": NEWEST_VERSION,
        "id": resumable.uuid(),
        "timestamp": iso_time(resumable.time) or iso_time(0),
        "cwd": resumable.folder,
        "parentSession": resumable.source,
    }


def _chained(records: Iterable[Record], dialect: Dialect) -> Iterator[Record]:
    """Yield each record as a child of the one before."""
    parent = None
    for place, record in zip(count(1), records, strict=False):
        node = {"type": record.pop("type"), "id": f"{place:08x}", "parentId": parent}
        if node["type"] == "compaction":
            # It keeps nothing above: what it kept follows.
            record["firstKeptEntryId"] = parent
        yield translated({**node, **record}, PI, dialect)
        parent = node["id"]


def _records(resumable: Resumable, lost: Counter[str]) -> Iterator[Record]:
    began = iso_time(resumable.messages[0].time if resumable.messages else resumable.time)
    if resumable.title:
        yield {"type": "session_info", "timestamp": began, "name": resumable.title}
    if resumable.model:
        model = {"provider": resumable.provider, "modelId": resumable.model}
        yield {"type": "model_change", "timestamp": began, **model}
    level = resumable.thinking_level if resumable.thinking_level in _LEVELS else "off"
    yield {"type": "thinking_level_change", "timestamp": began, "thinkingLevel": level}
    if summary := resumable.summary:
        yield {
            "type": "compaction",
            "timestamp": iso_time(summary.time),
            "summary": summary.text,
            "tokensBefore": summary.tokens_before,
        }
    apis = {message.view.provider: api for message in resumable.messages if (api := _api(message.view))}
    for message in resumable.messages:
        if entry := _entry(message, apis, lost):
            yield {"timestamp": iso_time(message.time), **entry}


def _entry(message: ResumableMessage, apis: Mapping[str, str], lost: Counter[str]) -> Record | None:
    view = message.view
    content = [made for block, payload in message.blocks if (made := _block(block, payload, view.role, lost))]
    if view.role == "toolResult":
        fields: Record = {
            "toolCallId": view.tool_call_id,
            "toolName": view.tool_name,
            "content": content,
            "isError": view.is_error,
        }
    elif not content:
        return None
    elif view.role == "user" and not message.by_person:
        return {"type": "custom_message", "customType": _INJECTED, "content": content, "display": True}
    elif view.role == "assistant":
        has_calls = any(each["type"] == "toolCall" for each in content)
        fields = {
            "content": content,
            "api": apis.get(view.provider) or _APIS.get(view.provider, "openai-completions"),
            "provider": view.provider,
            "model": view.model,
            "usage": _USAGE,
            "stopReason": "toolUse" if has_calls else "stop",
        }
    else:
        fields = {"content": content}
    return {"type": "message", "message": {"role": view.role, **fields, "timestamp": message.time}}


def _api(view: Message) -> str:
    """Return the API that sealed an answer's thoughts, "" for none; pi sends them to it alone."""
    seals = [seal_of(block) for block in view.blocks if isinstance(block, Thinking)]
    if not seals:
        return ""
    if seals[-1] is Seal.RESPONSES and view.provider == "openai-codex":
        return "openai-codex-responses"
    return _OF_SEALS[seals[-1]]


def _block(block: Block, payload: Payload, role: str, lost: Counter[str]) -> Record | None:
    is_answer = role == "assistant"
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Image) and payload.image and not is_answer:
        return {"type": "image", "data": payload.image, "mimeType": block.mime}
    if isinstance(block, Thinking) and is_answer:
        sealed = {"type": "thinking", "thinking": block.text, "thinkingSignature": block.signature}
        return sealed | (
            {"redacted": True} if payload.is_redacted and seal_of(block) is Seal.MESSAGES else {}
        )
    if isinstance(block, ToolCall) and is_answer:
        return {"type": "toolCall", "id": block.id, "name": block.name, "arguments": _object(block)}
    lost[name_of_block(block)] += 1
    return None


def _object(call: ToolCall) -> Any:
    return call.decoded if isinstance(call.decoded, dict) else {"input": call.decoded}
