"""Sessions as Claude Code writes them, made of a few words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eventstore.files.importing import ImportResult, import_sessions
from eventstore.log import EventLog

SESSION = "5e551011-0000-4000-8000-000000000000"
Json = dict[str, Any]


def line(**fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def record(uuid: str, parent: str | None, type_: str, *, at: int = 0, **fields: Any) -> bytes:
    """A record of the tree."""
    common = {"sessionId": SESSION, "version": "2.1.170", "isSidechain": False}
    time = f"2026-07-01T10:{at // 60:02}:{at % 60:02}.000Z"
    return line(**{"parentUuid": parent, **common, "type": type_, "uuid": uuid, "timestamp": time, **fields})


def said(uuid: str, parent: str | None, text: str, **fields: Any) -> bytes:
    return record(uuid, parent, "user", message={"role": "user", "content": text}, **fields)


def result(uuid: str, parent: str | None, call: str, text: Any, **fields: Any) -> bytes:
    block = {"tool_use_id": call, "type": "tool_result", "content": text}
    return record(uuid, parent, "user", message={"role": "user", "content": [block]}, **fields)


def answer(uuid: str, parent: str | None, group: str, block: str | Json, **fields: Any) -> bytes:
    """One block of the assistant's message `group`; a text, or a block as it is."""
    content = {"type": "text", "text": block} if isinstance(block, str) else block
    usage = fields.pop("usage", {"input_tokens": 10, "output_tokens": 5})
    message = {
        "model": fields.pop("model", "claude-opus-4-8"),
        "id": group,
        "type": "message",
        "role": "assistant",
        "content": [content],
        "stop_reason": "end_turn",
        "usage": usage,
    }
    return record(uuid, parent, "assistant", message=message, **fields)


def call(name: str, tool: str = "Read", **arguments: Any) -> Json:
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def system(uuid: str, parent: str | None, subtype: str, **fields: Any) -> bytes:
    return record(uuid, parent, "system", subtype=subtype, **fields)


def boundary(uuid: str, after: str | None, **metadata: Any) -> bytes:
    return system(
        uuid,
        None,
        "compact_boundary",
        logicalParentUuid=after,
        compactMetadata={"trigger": "auto", "preTokens": 1000, **metadata},
    )


def summary(uuid: str, parent: str, text: str = "so far") -> bytes:
    return said(uuid, parent, text, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def note(type_: str, **fields: Any) -> bytes:
    return line(type=type_, sessionId=SESSION, **fields)


def bring(log: EventLog, path: Path, *lines: bytes) -> list[ImportResult]:
    path.write_bytes(b"".join(each + b"\n" for each in lines))
    return import_sessions(log, path)
