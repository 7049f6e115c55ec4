"""The table of docs/checks.md is what the command says of all real sessions, row by row."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Refold

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"
HARNESSES = ("pi", "claude-code")
COLUMNS = ("message counts", "cached prefixes", "compacted contexts", "claimed sizes", "size jumps")


@pytest.fixture(scope="module")
def checked(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Refold:
    refold = Refold(tmp_path_factory.mktemp("checks") / "store")
    for harness in HARNESSES:
        refold("sync", corpus / harness)
    return refold


@pytest.fixture(scope="module")
def sums(checked: Refold) -> dict[str, dict[str, Any]]:
    """The sums of a check over the sessions of each harness, from the command's JSON."""
    found: dict[str, dict[str, Any]] = {each: defaultdict(lambda: [0, 0]) for each in HARNESSES}
    for session in checked("check", "--all", "--json", code=0).json["sessions"]:
        of = found[session["harness"]]
        of["sessions"][0] += 1
        for result in session["results"]:
            of[result["name"]][0] += result["passed"]
            of[result["name"]][1] += result["checked"]
    return found


@pytest.mark.parametrize("harness", HARNESSES)
def test_the_page_has_what_the_command_says(sums: dict[str, dict[str, Any]], harness: str) -> None:
    of = sums[harness]
    shares = [f"{of[name][0]:,} of {of[name][1]:,}" if of[name][1] else "" for name in COLUMNS]
    cells = [harness, str(of["sessions"][0]), *shares]
    rows = [re.split(r" *\| *", line.strip("| ")) for line in PAGE.read_text("utf-8").splitlines()]
    assert cells in rows


def test_the_commands_own_table_ends_with_the_same_sums(
    checked: Refold, sums: dict[str, dict[str, Any]]
) -> None:
    lines = checked("check", "--all", code=0).lines
    for harness, of in sums.items():
        (row,) = (line.split()[3:] for line in lines if line.startswith(f"all of {harness} "))
        shares = [f"{of[name][0]:,}/{of[name][1]:,}" if of[name][1] else "-" for name in COLUMNS]
        assert sorted(row) == sorted(shares)
