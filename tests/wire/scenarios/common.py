"""Files, conditions on requests, and replies that the scenarios of several programs share."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Final

from tests.wire.model import Request, Rule
from tests.wire.replies import Call, Reply, Thinking, say

Condition = Callable[[Request], bool]


def lines(name: str, count: int) -> str:
    """Return a text of many lines, all different."""
    return "".join(f"{name} line {number}: value = {number * 7919 % 104729}\n" for number in range(count))


def picture() -> bytes:
    """Return a red square as a PNG."""
    rows = b"".join(b"\0" + bytes((200, 30, 30)) * 64 for _ in range(64))
    header = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    chunks = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


FILES: Final = {
    "project/a.py": "def a():\n    return 1\n",
    "project/b.py": "def b():\n    return 2\n",
}
MEMORY: Final = "Never touch migrations/.\n"
RESUMING: Final = "Where were we?"
"""The prompt by which a session is resumed."""
WINDOW: Final = 10_000_000
"""Tokens of a context in which no session is compacted."""
PARTS: Final = range(1, 7)
"""The numbers of the large files that fill a context."""


def parts(size: int) -> dict[str, str]:
    """Return large files, of a number of lines each, to fill a context with."""
    return {f"project/part{number}.txt": lines(f"part{number}", size) for number in PARTS}


def read_parts(read: Callable[[str], Call]) -> list[Reply]:
    """Return replies that read the large files, one in a turn, by calls for their names."""
    return [
        reply
        for number in PARTS
        for reply in (
            say(Thinking(f"Read part {number}."), read(f"part{number}.txt")),
            say(f"Part {number} read."),
        )
    ]


def read_both(read: Callable[[str], Call]) -> list[Reply]:
    """Return replies that read the two small files, one in a turn."""
    return [say(read("a.py")), say("a returns 1."), say(read("b.py")), say("b returns 2.")]


def before_and_after_compactions(read: Callable[[str], Call]) -> list[Reply]:
    """Return replies to a person who compacts by hand between them."""
    return [*read_both(read), say(read("part1.txt")), say("Many lines."), say("Went on."), say("On.")]


def summaries(fits: Condition, text: str) -> Rule:
    """Return a rule that answers requests for a summary with a text, numbered in its braces."""
    return Rule("compaction", fits, [say(text.format(number)) for number in range(1, 9)])


def offers(*tools: str) -> Condition:
    """Fit a request that offers one of these tools."""
    return lambda request: bool(request.tools.intersection(tools))


def offers_none(request: Request) -> bool:
    """Fit a request without tools."""
    return not request.tools


def ends_with(text: str, *tools: str) -> Condition:
    """Fit a request whose last message holds a text, and that offers one of these tools, if any are named."""
    return lambda request: text in request.last and (not tools or bool(request.tools.intersection(tools)))


def task_of_agent(request: Request) -> bool:
    """Fit a request of a subagent: its task is there, and what the person asked is not."""
    return "AGENT-TASK" in request.text and "Ask an agent" not in request.text
