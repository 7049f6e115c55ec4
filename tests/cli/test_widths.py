"""On a terminal of 60 or 80 columns no command prints a longer line, and none cuts a word."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.cli.golden import transcript
from tests.cli.golden.scenes import SCENES

AS_THEY_ARE = re.compile(
    r"--(json|raw|format (?!text)\S+)|^completion|^policies show|^templates show|-o -|^maintain|^append"
)
"""Command lines whose output is for programs, and printed as it is."""
PASSING = re.compile(r"[━⠀-⣿]")
"""Lines that are wiped away again: bars, and what is waited for."""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
PART_OF_A_TIME = re.compile(r"\d\d[-:]\d\d|AGE|\d+[mhdwy]")
"""Parts of times, and the ages that stand for times where these have no room."""
CHANGING = {r"(refold-demo-)\w+": "refold-demo-12345678"}
"""Patterns of text that differs between runs, with replacements of the same length."""


def printed(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command line of a transcript with the lines that it printed."""
    command, lines = "", list[str]()
    for line in [*CONTROL.sub("", text).splitlines(), "$"]:
        if line.startswith(("$", "#", "< ")):
            if line.startswith("$"):
                yield command, lines
                command, lines = line.partition("refold ")[2], []
        elif line and not PASSING.search(line):
            lines.append(line.removeprefix("!").removeprefix(" "))


def is_unbreakable(line: str) -> bool:
    """Return True for a line of one word, or of a command that is to be pasted."""
    return len(line.split()) == 1 or bool(re.search(r"(^ *|[:;] )refold ", line))


@pytest.mark.parametrize("columns", [pytest.param(60, marks=pytest.mark.slow), 80])
@pytest.mark.parametrize("name", SCENES)
def test_no_line_is_longer_than_the_terminal_and_no_word_is_cut(name: str, columns: int) -> None:
    whole = set(transcript(SCENES[name], changing=CHANGING).split())
    wrong = []
    for command, lines in printed(transcript(SCENES[name], columns=columns, changing=CHANGING)):
        if AS_THEY_ARE.search(command):
            continue
        for line in lines:
            if len(line) > columns and not is_unbreakable(line):
                wrong.append(f"{command}: too long: {line}")
            words = (word for word in line.split() if "…" not in word and not PART_OF_A_TIME.fullmatch(word))
            wrong += [f"{command}: cut: {word}" for word in words if word not in whole]
    assert "\n".join(wrong) == ""
