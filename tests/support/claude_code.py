"""Sessions as Claude Code writes them, made of a few words."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
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


def result(
    uuid: str, parent: str | None, call: str, text: Any, *, fails: bool = False, **fields: Any
) -> bytes:
    block = {"tool_use_id": call, "type": "tool_result", "content": text}
    if fails:
        block["is_error"] = True
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


def attached(uuid: str, parent: str | None, attachment: Json, **fields: Any) -> bytes:
    return record(uuid, parent, "attachment", attachment=attachment, **fields)


def some_session(rng: random.Random, most: int = 10) -> list[bytes]:
    """The lines of a session in which every type of record may come, their parents mostly the record before."""
    lines = [rng.choice((said("u-0", None, "hello"), note("mode", mode="normal"), _titles(rng)))]
    newest, calls = ("u-0" if b'"u-0"' in lines[0] else None), ["c-0"]
    for number in range(1, rng.randint(2, most)):
        own = f"u-{number}"
        parent = newest if rng.random() < 0.8 else rng.choice([f"u-{rng.randrange(most)}", "gone", None])
        each = rng.choice(_SOME)(rng, own, parent, calls)
        lines.append(each)
        if f'"uuid":"{own}"'.encode() in each:
            newest = own
    if rng.random() < 0.2:
        rng.shuffle(lines)
    return lines


def _titles(rng: random.Random) -> bytes:
    return rng.choice(
        (
            note("ai-title", aiTitle="A title"),
            note("custom-title", customTitle="größe"),
            line(type="summary", summary="Earlier", leafUuid="u-3"),
        )
    )


def _some_answer(rng: random.Random, own: str, parent: str | None, calls: list[str]) -> bytes:
    calls.append(f"c-{own}")
    block = rng.choice(
        (
            "some text",
            call(calls[-1], file_path="/a"),
            {"type": "thinking", "thinking": "hm", "signature": "sealed"},
            {"type": "redacted_thinking", "data": "sealed"},
        )
    )
    return answer(own, parent, f"m-{rng.randrange(4)}", block, version=rng.choice(("2.1.7", "2.1.170")))


def _some_metadata(rng: random.Random, own: str, parent: str | None, calls: list[str]) -> bytes:
    return rng.choice(
        (
            _titles(rng),
            note("last-prompt", leafUuid=parent, lastPrompt="go"),
            note("file-history-snapshot", messageId=own, snapshot={}),
            note("content-replacement", replacements=[{"toolUseId": calls[-1], "replacement": "less"}]),
            note(
                "marble-origami-commit", firstArchivedUuid="u-1", lastArchivedUuid="u-2", summaryContent="s"
            ),
            note("something-new", parentUuid=parent, uuid=own),
        )
    )


def _some_system(rng: random.Random, own: str, parent: str | None, calls: list[str]) -> bytes:
    run = {"headUuid": "u-1", "tailUuid": parent, "anchorUuid": rng.choice((own, "u-9"))}
    listed = {"uuids": ["u-1", "u-2"], "anchorUuid": own}
    return rng.choice(
        (
            system(own, parent, "turn_duration", messageCount=rng.randrange(9)),
            system(own, parent, "local_command", content="<command-name>/exit</command-name>"),
            system(own, parent, "microcompact_boundary", microcompactMetadata={"compactedToolIds": calls}),
            system(own, parent, "snip_boundary", snipMetadata={"removedUuids": ["u-1"]}),
            system(own, parent, "model_refusal_fallback", retractedMessageUuids=["u-2"]),
            boundary(own, parent),
            boundary(own, parent, preservedSegment=run),
            boundary(own, parent, preservedMessages=listed),
        )
    )


_SOME: tuple[Callable[[random.Random, str, str | None, list[str]], bytes], ...] = (
    lambda rng, own, parent, _: said(own, parent, "words", isMeta=rng.random() < 0.2),
    lambda rng, own, parent, calls: result(own, parent, rng.choice(calls), "output"),
    lambda _, own, parent, calls: result(own, parent, calls[-1], [{"type": "text", "text": "output"}]),
    _some_answer,
    _some_answer,
    _some_system,
    _some_metadata,
    lambda _, own, parent, __: summary(own, str(parent)),
    lambda _, own, parent, __: attached(own, parent, {"type": "queued_command", "prompt": "wait"}),
    lambda _, own, parent, __: attached(own, parent, {"type": "diagnostics", "files": [{"uri": "a"}]}),
    lambda rng, own, parent, _: said(
        own, parent, "aside", isSidechain=True, **({"agentId": "a1"} if rng.random() < 0.5 else {})
    ),
    lambda _, own, parent, __: record(own, parent, "progress", data={"type": "hook_progress"}),
)
"""Makers of one record each: of its id, its parent, and the calls so far."""
