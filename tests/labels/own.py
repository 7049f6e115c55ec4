"""The project's own sentences, marked up by hand: no corpus needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from projections.mentions import MentionKind
from tests.labels.labelled import Named

FILE: Final = Path(__file__).with_name("own.txt")
_MARK: Final = re.compile(r"⟨(\w+) |⟩")


def own_lines() -> Iterator[tuple[str, list[Named]]]:
    """Each sentence without its marks, and what they say that it names, in order."""
    for line in FILE.read_text("utf-8").splitlines():
        if line and not line.startswith("# "):
            yield unmarked(line)


def unmarked(line: str) -> tuple[str, list[Named]]:
    """A line without its marks, and what they say. A mark that is not closed raises IndexError or ValueError."""
    text, at = "", 0
    opened: list[tuple[MentionKind, int]] = []
    named: list[Named] = []
    for mark in _MARK.finditer(line):
        text, at = text + line[at : mark.start()], mark.end()
        if mark[1]:
            opened.append((MentionKind(mark[1]), len(text)))
        else:
            kind, start = opened.pop()
            named.append(Named(kind, start, len(text)))
    if opened:
        raise ValueError(f"a mark is not closed: {line}")
    return text + line[at:], sorted(named, key=lambda each: (each.start, -each.stop))
