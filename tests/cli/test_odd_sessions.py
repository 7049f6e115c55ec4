"""Sessions whose optional fields are missing or of any type: no command is at fault for what it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.invocations import NAMES, invocations, line_for
from tests.cli.running import Refold
from tests.support.pi_files import SESSION, header, line

KEPT = {"type", "id", "parentId", "role", "message", "content", "firstKeptEntryId", "targetId", "timestamp"}
"""Fields that make a record what it is; the others are odd."""

USAGE = {
    "input": 900,
    "output": 30,
    "cacheRead": 5,
    "cacheWrite": 6,
    "totalTokens": 941,
    "cost": {"total": 0.1},
}
ENTRIES: list[dict[str, Any]] = [
    {"type": "model_change", "provider": "p", "modelId": "m"},
    {"type": "thinking_level_change", "thinkingLevel": "high"},
    {"type": "session_info", "name": "title", "cwd": "/"},
    {"type": "message", "message": {"role": "user", "content": "read src/a.py, never touch b.py"}},
    {
        "type": "message",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "s", "redacted": False},
                {"type": "text", "text": "reading `find_model` in src/a.py"},
                {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "src/a.py"}},
            ],
            "provider": "p",
            "model": "m",
            "api": "a",
            "stopReason": "toolUse",
            "usage": USAGE,
        },
    },
    {
        "type": "message",
        "message": {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "read",
            "isError": False,
            "content": [
                {"type": "text", "text": "Error: x"},
                {"type": "image", "data": "AAAA", "mimeType": "i"},
            ],
        },
    },
    {
        "type": "message",
        "message": {
            "role": "bashExecution",
            "command": "ls",
            "output": "o",
            "exitCode": 0,
            "cancelled": False,
            "truncated": True,
            "fullOutputPath": "/f",
            "excludeFromContext": False,
        },
    },
    {
        "type": "compaction",
        "summary": "## Goal\nread `src/a.py`",
        "firstKeptEntryId": "e6",
        "tokensBefore": 9,
        "details": {"readFiles": ["src/a.py"], "modifiedFiles": []},
        "fromHook": False,
    },
    {"type": "branch_summary", "fromId": "e2", "summary": "left", "details": {"readFiles": ["c.py"]}},
    {"type": "custom_message", "customType": "x", "content": "note", "display": True, "details": {}},
    {"type": "custom", "customType": "x", "data": {}},
    {"type": "message", "message": {"role": "hookMessage", "content": "h", "customType": "x"}},
    {"type": "message", "message": {"role": "branchSummary", "summary": "s", "fromId": "e1"}},
    {"type": "label", "targetId": "e4", "label": "l"},
    {"type": "message", "message": {"role": "user", "content": "now run `ls`"}},
    {
        "type": "message",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "done"}], "usage": USAGE},
    },
]
MISSING = object()


def odd(value: Any, instead: Any) -> Any:
    """A record with something else in all the fields that may be missing, at every depth."""
    if isinstance(value, list):
        return [odd(each, instead) for each in value]
    if not isinstance(value, dict):
        return value
    fields = {name: odd(each, instead) if name in KEPT else instead for name, each in value.items()}
    return {name: each for name, each in fields.items() if each is not MISSING}


def names_in(value: Any) -> set[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set(value if isinstance(value, dict) else ()).union(*map(names_in, inner))


def without(value: Any, name: str) -> Any:
    """A record without the fields of a name, at every depth."""
    if isinstance(value, list):
        return [without(each, name) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: without(each, name) for key, each in value.items() if key != name}


def session(instead: Any, *, version: int = 3) -> bytes:
    return nodes_of([odd(entry, instead) for entry in ENTRIES], version)


def nodes_of(entries: list[dict[str, Any]], version: int = 3) -> bytes:
    parents = [None, *(f"e{number}" for number in range(1, len(entries)))]
    nodes = [
        {**entry, "id": f"e{number}", "parentId": parent, "timestamp": f"2026-01-01T00:00:{number:02}.000Z"}
        for number, (entry, parent) in enumerate(zip(entries, parents, strict=True), 1)
    ]
    return header(version) + b"".join(map(line, nodes))


def only(*kinds: str) -> bytes:
    """A session of nothing but entries of these kinds."""
    entries = [entry for entry in ENTRIES if entry["type"] in kinds]
    return header() + b"".join(
        line({**entry, "id": f"e{number}", "parentId": None}) for number, entry in enumerate(entries, 1)
    )


SESSIONS: dict[str, bytes] = {
    "whole": nodes_of(ENTRIES),
    "missing": session(MISSING),
    "missing, version 1": session(MISSING, version=1),
    **{
        f"all {value!r:.20}": session(value)
        for value in (None, 0, -1, True, "", "x", "\ud800", [], ["x"], {}, [{}])
    },
    **{
        f"all {value}": session("@@").replace(b'"@@"', value)
        for value in (b"1e999", b"-1e999", b"9" * 30, b"0.5")
    },
    **{f"no {name}": nodes_of(without(ENTRIES, name)) for name in sorted(names_in(ENTRIES) - {"type"})},
    "no entries": header(),
    "no messages": only("model_change", "thinking_level_change", "session_info", "custom"),
    "no model at all": nodes_of([ENTRIES[3], *ENTRIES[5:7], ENTRIES[14]]),
    "settings alone": header()
    + line({"type": "model_change", "id": "a", "parentId": None})
    + line({"type": "thinking_level_change", "id": "b", "parentId": "a"}),
    "no role": header() + line({"type": "message", "id": "a", "parentId": None, "message": {}}),
    "no message": header() + line({"type": "message", "id": "a", "parentId": None}),
    "no summary": header() + line({"type": "compaction", "id": "a", "parentId": None}),
    "header alone odd": header(cwd=5, parentSession=[], timestamp={})
    + line(ENTRIES[3] | {"id": "a", "parentId": None}),
}
SHOWING = {
    "context": ["", "--format=pi", "--format=anthropic"],
    "export": ["", "--format=original"],
    "sessions": [""],
    "log": [""],
    "show": [""],
    "tree": [""],
    "audit": [""],
    "report": [""],
    "check": [""],
    "diff": [""],
    "files": [""],
    "stats": [""],
    "bench": [""],
    "verify": [""],
    "sync": [""],
}
"""Commands that change nothing, each with its forms."""


def ways(name: str) -> list[list[str]]:
    """All calls of a command: in each of its forms, for people and in JSON."""
    plain = invocations(SESSION, file="odd.jsonl")[name]
    force: list[str] = []
    return [
        [*plain, *force, *filter(None, [form, json])]
        for form in SHOWING.get(name, [""])
        for json in ("", "--json")
    ]


FEW = (
    "missing",
    "all b'1e999'",
    "all '\\ud800'",
    "settings alone",
    "no model at all",
    "no message",
    "no summary",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_no_command_is_at_fault(refold: Refold, tmp_path: Path, name: str) -> None:
    assert_no_fault(refold, tmp_path, name)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in SESSIONS if name not in FEW])
def test_no_command_is_at_fault_for_any_field(refold: Refold, tmp_path: Path, name: str) -> None:
    assert_no_fault(refold, tmp_path, name)


def assert_no_fault(refold: Refold, tmp_path: Path, name: str) -> None:
    """Run all commands on a session, as it is and compacted and changed."""
    (tmp_path / "odd.jsonl").write_bytes(SESSIONS[name])
    refold("sync", "odd.jsonl")
    summarized = ["--summarizer", "extractive"]
    changing = [
        ["compact", SESSION, "--keep-recent", "0", *summarized],
        *(each for command in ("audit", "report") for each in ways(command)),
        *(each for command in NAMES if command not in SHOWING for each in ways(command)[:1]),
        ["go", SESSION, "#2", "--summarize", *summarized],
    ]
    showing = [each for command in SHOWING for each in ways(command)]
    for arguments in (*showing, *changing, *showing):
        # A fault is raised here, as itself.
        outcome = refold(*arguments, code=None, stdin=line_for(arguments[0]))
        assert outcome.code in (0, 1), outcome.errors
