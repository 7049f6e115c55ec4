"""Sessions of Claude Code that several tests begin with, and the texts of their contexts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from eventstore.memory import MemoryLog
from projections.context.build import build_context, context_json, harness_json
from tests.support.claude_code import (
    SESSION,
    answer,
    boundary,
    call,
    result,
    said,
    summary,
    system,
)


def shown(log: MemoryLog, leaf: str | None = None) -> list[tuple[str, list[str]]]:
    """The messages of a context: the role, and what each block is or says, without ends of lines."""
    context = build_context(log, SESSION, leaf=leaf)
    if leaf is None:
        assert context_json(log, SESSION) == harness_json(context)
    found = []
    for part in context.parts:
        content = json.loads(part.raw)["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found.append((part.role, [_told(block) for block in blocks]))
    return found


def _told(block: dict[str, Any]) -> str:
    if block["type"] == "tool_use":
        return f"call {block['id']}"
    if block["type"] == "tool_result":
        return f"{block['tool_use_id']}: {block['content']}"
    return str(block["text"]).removesuffix("\n")


PARALLEL = (
    said("u", None, "read both"),
    answer("a1", "u", "m1", "reading"),
    answer("a2", "a1", "m1", call("x")),
    answer("a3", "a2", "m1", call("y")),
    result("r1", "a2", "x", "one"),
    result("r2", "a3", "y", "two"),
)


JOINED = [
    ("user", ["read both"]),
    ("assistant", ["reading", "call x", "call y"]),
    ("toolResult", ["x: one"]),
    ("toolResult", ["y: two"]),
]


BEFORE = (
    said("u", None, "first"),
    answer("a", "u", "m1", "yes"),
    said("v", "a", "second"),
    answer("b", "v", "m2", "indeed"),
)


PAID = {"input_tokens": 100, "output_tokens": 5}


def turns(
    number: int, *, compact_every: int = 0, resume_every: int = 0, counts: Sequence[int] = ()
) -> list[bytes]:
    """The lines of a session of several turns, each with parallel calls and a count of the records in memory.

    Where it resumes, the version is one that then loses results of parallel calls.
    """
    lines: list[bytes] = []
    parent = None
    for turn in range(number):
        u, a, b, r, q, d = (f"{name}{turn}" for name in ("u", "a", "b", "r", "q", "d"))
        lines += [
            said(u, parent, "go on", at=turn),
            answer(a, u, f"m{turn}", call(f"x{turn}"), usage=PAID, at=turn),
            answer(b, a, f"m{turn}", call(f"y{turn}"), usage=PAID, at=turn),
            result(r, a, f"x{turn}", "one", at=turn),
            result(q, b, f"y{turn}", "two", at=turn),
            system(d, q, "turn_duration", messageCount=counts[turn] if counts else 1, at=turn),
        ]
        parent = d
        if compact_every and turn % compact_every == compact_every - 1:
            lines += [boundary(f"k{turn}", parent), summary(f"s{turn}", f"k{turn}")]
            parent = f"s{turn}"
        if resume_every and turn % resume_every == resume_every - 1:
            lines.append(said(f"e{turn}", parent, "<command-name>/exit</command-name>", at=turn))
            parent = f"e{turn}"
    return [line.replace(b"2.1.170", b"2.1.7") for line in lines] if resume_every else lines
