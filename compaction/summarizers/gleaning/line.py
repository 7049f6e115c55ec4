"""What is gleaned: lines, by what they tell."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec


class Sort(StrEnum):
    """What a line tells."""

    GOAL = "goal"
    """What was asked for last, and what at first."""
    RULE = "rule"
    """What the person orders, forbids or prefers."""
    REQUEST = "request"
    """What else was asked for."""
    DONE = "done"
    """How a turn ended."""
    CHANGED = "changed"
    """A file that was written or edited."""
    DOING = "doing"
    """Where a turn stands that is not over."""
    FAILING = "failing"
    """A command that failed when it was last run."""
    DECISION = "decision"
    """What was chosen, and over what."""
    PLAN = "plan"
    """What was to come next."""
    QUESTION = "question"
    """What the person was asked and has not answered."""
    NOTE = "note"
    """What an earlier summary says besides."""
    FILE = "file"
    """A file that was read or spoken of."""
    COMMAND = "command"
    """A command with its outcome."""
    ERROR = "error"
    """An error, with how many like it there were."""
    NAME = "name"
    """A name in code, an address, an identifier."""


class Line(msgspec.Struct, frozen=True):
    """Something to tell: a text by itself, or behind a `head` on one line with all that has the same head.

    `place` is where it stands among the lines of its sort. `thing` is what it names, if it does no more than
    that: then it need not be told where another line names the same.
    """

    text: str
    place: int = 0
    head: str = ""
    thing: str = ""


GO_ON: Final = "go on with what is in progress"
AT_FIRST: Final = "at first: "
BEFORE: Final = "before: "
QUESTION: Final = "open question: "
FAILED: Final = "failed"
OK: Final = "ok"
CHANGED: Final = " (changed)"
FILES: Final = "files"
NAMES: Final = "names"
"""What lines say, begin with or end with, by which they are known when a summary is brought up to date."""


def one_line(text: str, most: int = 0) -> str:
    """A text as one line, white space collapsed, of at most so many characters (0: as many as there are)."""
    line = " ".join(text.split())
    return line if not most or len(line) <= most else line[: most - 1].rstrip() + "…"


def in_order(texts: Iterable[str]) -> list[Line]:
    """Lines of distinct texts, the most telling first; empty ones are left out."""
    return [Line(text, place) for place, text in enumerate(dict.fromkeys(filter(None, texts)))]


def newest_first(texts: Iterable[str]) -> list[Line]:
    """Lines of distinct texts that stand in order of time, of which the newest are the most telling."""
    return in_order(texts)[::-1]
