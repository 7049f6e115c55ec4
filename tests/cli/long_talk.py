"""A session that is due for a compaction, of which every figure is known.

    u1 a1 r1 b1 u2 a2 u3 a3 u4 a4 u5 a5

Each message has 100 tokens by `utf16/4`, but `a1`, the call that reads `src/parser.py`, which has 7: 1,107 in all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.pi_files import SESSION
from tests.support.talk import PiSession, assistant, call, result, user

__all__ = ["NEVER", "SESSION", "long_talk", "write"]

NEVER: Final = "Never touch docs/ without asking."
"""The user's instruction in the first message."""


def long_talk() -> bytes:
    """The session's file, of pi's version 3."""
    told = PiSession()
    told.says("u1", user(_long(f"Fix the parser. {NEVER}")))
    told.says("a1", assistant(call("read", "k1", path="src/parser.py")))
    told.says("r1", result(_long("def parse(): ..."), tool="read", call_id="k1"))
    told.says("b1", assistant(_long("It looks sound.")))
    for number in range(2, 6):
        told.says(f"u{number}", user(_long(f"Request {number}.")))
        told.says(f"a{number}", assistant(_long(f"Answer {number}.")))
    return b"".join(told._lines)


def write(path: Path) -> Path:
    """Write the session's file."""
    path.write_bytes(long_talk())
    return path


def _long(text: str) -> str:
    """A text of 400 characters that begins like this."""
    return f"{text} ".ljust(399, "~") + "."
