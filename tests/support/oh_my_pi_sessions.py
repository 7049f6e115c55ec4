"""Made-up sessions of oh-my-pi: all its kinds of entries, in trees of any shape."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any, Final

Json = dict[str, Any]

SESSION: Final = "0199bbbb-0000-7000-8000-000000000002"
BLOB: Final = "blob:sha256:" + "ab" * 32
_BEGINNING: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


def time_of(number: int) -> str:
    return (_BEGINNING + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S.") + f"{number % 1000:03}Z"


def slot(title: str = "", *, source: str | None = "auto", updated: int = 0) -> bytes:
    """The first line of a file: 256 bytes with its line end, whatever the title."""
    fields = {
        "type": "title",
        "v": 1,
        "title": title,
        **({"source": source} if source else {}),
        "updatedAt": time_of(updated),
        "pad": "",
    }
    line = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    assert len(line) < 256
    return line.replace(b'"pad":""', b'"pad":"%b"' % (b" " * (255 - len(line)))) + b"\n"


def header(*, session: str = SESSION, **fields: Any) -> Json:
    return {
        "type": "session",
        "version": 3,
        "id": session,
        "timestamp": time_of(0),
        "cwd": "/home/user/project",
        **fields,
    }


def line_of(record: Json) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def file_of(entries: list[Json], *, title: str = "A title") -> bytes:
    return slot(title) + line_of(header(title=title)) + b"".join(map(line_of, entries))


def entries_of(rng: random.Random, count: int) -> list[Json]:
    """Entries that all have parents before them; some point at entries that are not there."""
    entries: list[Json] = []
    for number in range(count):
        ids = [entry["id"] for entry in entries]
        parent = _parent(rng, ids)
        fields = rng.choice(_MAKERS)(rng, ids)
        entries.append(
            {
                "type": fields.pop("type"),
                "id": f"{number:08x}",
                "parentId": parent,
                "timestamp": time_of(number) if rng.random() < 0.95 else "no time",
                **fields,
            }
        )
    return entries


def _parent(rng: random.Random, ids: list[str]) -> str | None:
    if not ids or rng.random() < 0.01:
        return None
    return rng.choice(ids[-4:]) if rng.random() < 0.15 else ids[-1]


def _any_id(rng: random.Random, ids: list[str]) -> str:
    return rng.choice([*ids[-12:], *ids[-3:], "", "nowhere"])


def _perhaps(rng: random.Random, **fields: Any) -> Json:
    return {name: value for name, value in fields.items() if rng.random() < 0.5}


def _text(rng: random.Random) -> str:
    return rng.choice(["", " ", "fine", "größe 😀", "read the file", "\u00a0", "\n"])


def _block(rng: random.Random) -> Json:
    return rng.choice(
        [
            {"type": "text", "text": _text(rng)},
            {"type": "text", "text": "said", "textSignature": "seal"},
            {
                "type": "thinking",
                "thinking": _text(rng),
                **_perhaps(rng, thinkingSignature=rng.choice(["", "seal"])),
            },
            {"type": "redactedThinking", "data": rng.choice(["", "sealed"])},
            {"type": "fallback", "from": "m"},
            {"type": "image", "data": rng.choice(["QUJD", BLOB]), "mimeType": "image/png"},
            {"type": "server", "x": 1},
            *(
                {
                    "type": "toolCall",
                    "id": f"c{rng.randrange(4)}",
                    "name": name,
                    "arguments": {"path": "a.py:10-20"},
                }
                for name in ("read", "bash", "skill")
            ),
        ]
    )


def _message(rng: random.Random, _ids: list[str]) -> Json:
    return {"type": "message", "message": rng.choice(_MESSAGES)(rng)}


def _assistant(rng: random.Random) -> Json:
    return {
        "role": "assistant",
        "content": [_block(rng) for _ in range(rng.randrange(4))],
        "api": "a",
        "provider": rng.choice(["p", "q"]),
        "model": rng.choice(["m", "n"]),
        "usage": {"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 0, "totalTokens": 15},
        "stopReason": rng.choice(["stop", "stop", "toolUse", "toolUse", "error", "aborted", "length"]),
        "timestamp": 1,
        **({"retryRecovery": {"kind": "x"}} if rng.random() < 0.05 else {}),
    }


def _result(rng: random.Random) -> Json:
    return {
        "role": "toolResult",
        "toolCallId": f"c{rng.randrange(4)}",
        "toolName": rng.choice(["read", "bash"]),
        "content": [_block(rng) for _ in range(rng.randrange(3))],
        "isError": rng.random() < 0.2,
        "timestamp": 1,
        **_perhaps(rng, useless=True, prunedAt=7),
    }


_MESSAGES: Final = (
    lambda rng: {"role": "user", "content": rng.choice([_text(rng), [_block(rng)]]), "timestamp": 1},
    _assistant,
    _assistant,
    _result,
    _result,
    lambda rng: {"role": "developer", "content": _text(rng), "timestamp": 1},
    lambda rng: {
        "role": "bashExecution",
        "command": "ls",
        "output": _text(rng),
        "exitCode": 0,
        "timestamp": 1,
    },
    lambda rng: {
        "role": "pythonExecution",
        "code": "1 + 1",
        "output": _text(rng),
        "cancelled": False,
        "timestamp": 1,
    },
    lambda _: {"role": "fileMention", "files": [{"path": "a.py", "content": "x = 1"}], "timestamp": 1},
    lambda rng: {
        "role": "custom",
        "customType": rng.choice(["interrupted-thinking", "skill-prompt"]),
        "content": "c",
        "display": False,
        "attribution": rng.choice(["user", "agent"]),
        "timestamp": 1,
    },
    lambda _: {"role": "hookMessage", "customType": "h", "content": "c", "display": True, "timestamp": 1},
)


def _custom_message(rng: random.Random, _ids: list[str]) -> Json:
    return {
        "type": "custom_message",
        "customType": rng.choice(
            [
                "interrupted-thinking",
                "prewalk-plan",
                "vibe-mode-context",
                "skill-prompt",
                "collab-prompt",
                "",
                7,
            ]
        ),
        "content": rng.choice(["c", "", [{"type": "text", "text": "t"}], 7, None]),
        "display": rng.choice([True, False, "yes"]),
        **_perhaps(rng, details={"a": 1}, attribution=rng.choice(["user", "agent", "other", None])),
    }


def _compaction(rng: random.Random, ids: list[str]) -> Json:
    preserved: Json = {}
    if rng.random() < 0.3:
        items = rng.choice([[{"type": "message"}], [], "odd", [7]])
        preserved["openaiRemoteCompaction"] = {
            "provider": rng.choice(["openai", ""]),
            "replacementHistory": items,
        }
    if rng.random() < 0.3:
        preserved["anthropicCompaction"] = {
            "provider": "anthropic",
            "content": rng.choice(["whole", ""]),
            **_perhaps(rng, encryptedContent="sealed", filesText="", model="m"),
        }
    return {
        "type": "compaction",
        "summary": rng.choice(["all of it", "", "more"]),
        "firstKeptEntryId": _any_id(rng, ids),
        "tokensBefore": rng.randrange(100000),
        **_perhaps(
            rng,
            shortSummary="short",
            tokensAfter=7,
            method=rng.choice(["soft", "remote"]),
            warning="little",
            fromExtension=False,
            providerReplayThroughEntryId=_any_id(rng, ids),
            details=rng.choice(
                [{"readFiles": ["a"], "modifiedFiles": []}, {"kind": "experimental-context-rollover"}]
            ),
        ),
        **({"preserveData": preserved} if preserved else {}),
    }


_MAKERS: Final = (
    *(_message,) * 14,
    _compaction,
    _custom_message,
    _custom_message,
    lambda rng, ids: {"type": "branch_summary", "fromId": _any_id(rng, ids), "summary": _text(rng)},
    lambda _rng, _ids: {"type": "reset_boundary"},
    lambda rng, _ids: {
        "type": "model_change",
        "model": rng.choice(["p/m", "q/n/o", "bare"]),
        **_perhaps(rng, role=rng.choice(["default", "smol", "fallback"]), resolvedModelIsFallback=True),
    },
    lambda rng, _ids: {
        "type": "thinking_level_change",
        "thinkingLevel": rng.choice(["high", None]),
        "configured": "auto",
    },
    lambda rng, ids: {"type": "label", "targetId": _any_id(rng, ids), **_perhaps(rng, label="here")},
    lambda rng, _ids: {"type": "title_change", "title": rng.choice(["One", "Two"]), "source": "auto"},
    lambda _rng, _ids: {"type": "mode_change", "mode": "plan", "data": {"file": "p.md"}},
    lambda _rng, _ids: {"type": "service_tier_change", "serviceTier": {"openai": "priority"}},
    lambda _rng, _ids: {"type": "ttsr_injection", "injectedRules": ["r1", "r2"]},
    lambda _rng, _ids: {"type": "credential_pin", "provider": "anthropic", "hash": "00" * 32},
    lambda _rng, _ids: {
        "type": "session_init",
        "systemPrompt": "You are a scout.",
        "task": "look",
        "tools": ["read"],
        "agent": "scout",
    },
    lambda _rng, _ids: {
        "type": "model_usage",
        "purpose": "title",
        "role": "tiny",
        "api": "a",
        "provider": "p",
        "model": "t",
        "usage": {"input": 5, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 6},
        "stopReason": "stop",
    },
    lambda rng, _ids: {"type": "custom", "customType": rng.choice(["subagent_usage", "x"]), "data": {"n": 1}},
    lambda _rng, _ids: {"type": "novelty", "x": 1},
)
