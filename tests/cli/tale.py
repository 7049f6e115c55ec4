"""A short session of which every figure is known.

    u1 a1 r1 r2 a2 r3 u2 a3 ─┬─ b1 b2
                             └─ s1 c1 u3 a4 l1 i1

`s1` summarizes the branch of `b1` and `b2`, `c1` is a compaction that keeps from `u2` on. It claims to have
read `src/parser.py`, which was modified, and to have modified `gone.py`, which no call touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.pi_files import SESSION
from tests.support.talk import PiSession, assistant, call, result, user

__all__ = ["ENTRIES", "SESSION", "TITLE", "tale", "write"]

TITLE: Final = "The parser"
ENTRIES: Final = [
    "u1",
    "a1",
    "r1",
    "r2",
    "a2",
    "r3",
    "u2",
    "a3",
    "b1",
    "b2",
    "s1",
    "c1",
    "u3",
    "a4",
    "l1",
    "i1",
]


def tale() -> bytes:
    """The session's file, of pi's version 3."""
    told = PiSession()
    told.says("u1", user("Fix the parser."))
    told.says(
        "a1",
        assistant(
            "I look.", call("read", "k1", path="src/parser.py"), call("bash", "k2", command="ls"), tokens=1000
        ),
    )
    told.says("r1", result("def parse(): ...", tool="read", call_id="k1"))
    told.says("r2", result("ls: no such thing", tool="bash", call_id="k2", is_error=True))
    told.says("a2", assistant(call("edit", "k3", path="src/parser.py"), tokens=1200))
    told.says("r3", result("x" * 4000, tool="edit", call_id="k3"))
    told.says("u2", user("Now the tests."))
    told.says("a3", assistant(call("read", "k4", path="tests/test_parser.py"), "They pass.", tokens=2400))
    told.says("b1", user("Try a regular expression."))
    told.says("b2", assistant(call("write", "k5", path="src/expressions.py"), "It is worse."))
    told.entry("s1", "branch_summary", parent="a3", fromId="a3", summary="Expressions are worse.")
    told.compacts(
        "c1",
        "u2",
        summary="The parser is fixed.",
        tokensBefore=2500,
        details={"readFiles": ["src/parser.py"], "modifiedFiles": ["gone.py"]},
    )
    told.says("u3", user("Thanks!"))
    told.says("a4", assistant("You are welcome.", tokens=700))
    told.entry("l1", "label", targetId="u2", label="halfway")
    told.entry("i1", "session_info", name=TITLE)
    return b"".join(told._lines)


def write(path: Path) -> Path:
    """Write the session's file."""
    path.write_bytes(tale())
    return path
