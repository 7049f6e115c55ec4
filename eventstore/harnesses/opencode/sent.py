"""Make messages as opencode sends them, in the shape of the AI SDK.

Between an entry and its context, a message has beside `role` and `content` what it is `of`: its message, its part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from eventstore.harnesses.opencode.session_records import (
    Json,
    Record,
    fields,
    is_cleared,
    is_done,
    items,
    number,
    text,
)
from eventstore.javascript import stringify

CLEARED: Final = "[Old tool result content cleared]"
INTERRUPTED: Final = "[Tool execution was interrupted]"
ASKED: Final = "What did we do so far?"
_SUBTASK: Final = "The following tool was executed by the user"
_UNSENT_FILES: Final = ("text/plain", "application/x-directory")
_DATA: Final = re.compile(r"data:([^;,]*)(?:;[^,]*)?,(.*)", re.DOTALL)


class Of(msgspec.Struct, frozen=True, omit_defaults=True):
    """The origin of a message: opencode's message, its part, its model.

    `cleared` is the time from which its result is no longer sent, in epoch milliseconds. `begins` is true for the
    beginning of a step. `has_failed`: the message is not sent; `is_aborted`: only if it has content. `is_open`: the
    part has not ended. `removed` names what is no longer sent: a message, or a part of it. `is_question`: it asks for a
    compaction.
    """

    message: str = ""
    part: str = ""
    model: str = ""
    cleared: int = 0
    begins: bool = False
    has_failed: bool = False
    is_aborted: bool = False
    is_open: bool = False
    removed: str = ""
    is_question: bool = False


def sent_messages(record: Record) -> Iterator[Json]:
    """Yield the messages of a record, part by part, and what else changes those that are sent."""
    if record.removed[0]:
        message, removed = record.removed
        yield _made("user", (), Of(removed=removed or message, message=message))
        return
    info, error = record.info, fields(record.info.get("error"))
    is_users = info.get("role") == "user"
    of = Of(
        message=record.message,
        model=model_of(info),
        has_failed=bool(error),
        is_aborted=error.get("name") == "MessageAbortedError",
    )
    if not record.parts:
        yield _made("user" if is_users else "assistant", (), of)
    for each in record.parts:
        own = msgspec.structs.replace(of, part=text(each.get("id")))
        yield from _of_user(each, own) if is_users else _of_assistant(each, own)


def _made(role: str, content: Sequence[Json], of: Of) -> Json:
    return {"role": role, "content": list(content), "of": of}


def model_of(info: Json) -> str:
    """Return the provider and model that a message names, "" for none."""
    provider, model = text(info.get("providerID")), text(info.get("modelID"))
    return f"{provider}/{model}" if provider or model else ""


def _of_user(part: Json, of: Of) -> Iterator[Json]:
    kind, content = part.get("type"), list[Json]()
    if kind == "text":
        if text(part.get("text")) and not part.get("ignored"):
            content = [_text(text(part["text"]))]
    elif kind == "file":
        if text(part.get("mime")) not in _UNSENT_FILES:
            content = [_file(part)]
    elif kind == "compaction":
        content = [_text(ASKED)]
        of = msgspec.structs.replace(of, is_question=True)
    elif kind == "subtask":
        content = [_text(_SUBTASK)]
    yield _made("user", content, of)


def _of_assistant(part: Json, of: Of) -> Iterator[Json]:
    kind = part.get("type")
    if kind == "step-start":
        yield _made("assistant", (), msgspec.structs.replace(of, begins=True))
    elif kind == "text":
        yield _made("assistant", (_text(text(part.get("text"))),), of)
    elif kind == "reasoning":
        block: Json = {"type": "reasoning", "text": text(part.get("text"))}
        if part.get("metadata"):
            block["providerOptions"] = part["metadata"]
        yield _made("assistant", (block,), of)
    elif kind == "tool":
        yield from _of_call(part, of)
    else:
        yield _made("assistant", (), of)


def _of_call(part: Json, of: Of) -> Iterator[Json]:
    state = fields(part.get("state"))
    times, named = fields(state.get("time")), {"toolCallId": part.get("callID"), "toolName": part.get("tool")}
    of = msgspec.structs.replace(of, is_open=not is_done(part))
    yield _made("assistant", ({"type": "tool-call", **named, "input": state.get("input", {})},), of)
    of = msgspec.structs.replace(of, cleared=number(times.get("compacted")) or int(is_cleared(part)))
    yield _made("tool", ({"type": "tool-result", **named, "output": _output(state)},), of)


def _output(state: Json) -> Json:
    if state.get("status") == "completed":
        files = [
            _file(each)
            for each in map(fields, items(state.get("attachments")))
            if each.get("mime") and each.get("url")
        ]
        if files:
            return {"type": "content", "value": [_text(text(state.get("output"))), *files]}
        return {"type": "text", "value": text(state.get("output"))}
    if state.get("status") != "error":
        return {"type": "error-text", "value": INTERRUPTED}
    metadata = fields(state.get("metadata"))
    if metadata.get("interrupted") and isinstance(metadata.get("output"), str):
        return {"type": "text", "value": metadata["output"]}
    return {"type": "error-text", "value": text(state.get("error"))}


def _text(value: str) -> Json:
    return {"type": "text", "text": value}


def _file(part: Json) -> Json:
    """Return a file as it is sent: its data in base64, or its address."""
    url, name = text(part.get("url")), part.get("filename")
    named = {"filename": name} if isinstance(name, str) else {}
    found = _DATA.fullmatch(url)
    media = text(part.get("mime")) or (found[1] if found else "")
    return {"type": "file", "mediaType": media, "data": found[2] if found else url, **named}


def without_result(message: Json) -> Json:
    """Return a message with a cleared result."""
    content = [
        {**each, "output": {"type": "text", "value": CLEARED}} if each.get("type") == "tool-result" else each
        for each in message["content"]
    ]
    return {**message, "content": content}


def encoded(value: Any) -> bytes:
    """Return a message as JSON."""
    return stringify(value).encode("utf-8", "replace")
