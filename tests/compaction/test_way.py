"""The way of a compaction, as docs/architecture.md shows it, is the one that it takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from tests.compaction.scripted import compactor, turns
from tests.conftest import PROJECT

MOST = 15
"""Functions that lie between the command and the append, at most."""


def way() -> Iterator[tuple[int, str, str]]:
    """The depth, the name and the module of each line, "" for the module above."""
    page = (PROJECT / "docs" / "architecture.md").read_text("utf-8")
    block = page.partition("```\nCompactor.compact")[2].partition("```")[0]
    for line in f"Compactor.compact{block}".splitlines():
        indent, name, module = re.fullmatch(r"( *)(\S+) *(\S*)", line).groups()
        yield len(indent) // 2, name, module


def test_a_compaction_goes_the_way_shown(story):
    # Two prompts would be answered in threads.
    turns(story, 40, 5)
    above: list[tuple[str, str]] = []
    entered: list[tuple[tuple[str, str], list[tuple[str, str]]]] = []

    def watch(frame: FrameType, happening: str, _: Any) -> None:
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(PROJECT) and happening in {"call", "return"}:
            if happening == "call":
                here = (frame.f_code.co_name, file.relative_to(PROJECT).as_posix())
                entered.append((here, [*above]))
                above.append(here)
            elif above:
                above.pop()

    compacts = compactor()
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        done = compacts.compact(story.writer)
    finally:
        sys.setprofile(before)
    assert done.outcome == "compacted"
    shown = list(way())
    assert 10 < len(shown) <= MOST
    parents: list[tuple[str, str]] = []
    for depth, name, module in shown:
        del parents[depth:]
        here = (name.rpartition(".")[2], module or parents[-1][1])
        at = next(
            place
            for place, (found, over) in enumerate(entered)
            if found == here and set(parents) <= set(over)
        )
        del entered[:at]
        parents.append(here)
