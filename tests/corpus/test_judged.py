"""The page on readings says what was counted, claim by claim, on sessions that nobody had tuned on."""

from __future__ import annotations

import json
from collections import Counter
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

MEASURED: dict[str, Any] = json.loads(Path(__file__).with_name("judged.json").read_text())
PAGE = (Path(__file__).parents[2] / "docs/judge.md").read_text()


def percent(part: int, whole: int) -> str:
    """Return the 95 % interval of a share, by Wilson."""
    z = 1.96
    share, spread = part / whole, 1 + z * z / whole
    middle = (share + z * z / (2 * whole)) / spread
    half = z * sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole)) / spread
    return f"{100 * (middle - half):.0f}–{100 * (middle + half):.0f} %"  # noqa: RUF001  as the page writes it


@pytest.mark.parametrize(("name", "row"), [("rules", "rules"), ("facts", "facts, of 454")])
def test_the_rows_are_what_was_counted(name: str, row: str) -> None:
    found = Counter(each["second"] for each in MEASURED["claims"] if each["list"] == name)
    right, all_of_them = found["right"], found.total()
    cells = f"| {right} ({percent(right, all_of_them)}) | {found['doubtful']} | {found['wrong']} |"
    assert f"| {all_of_them} {row} {cells}" in PAGE


@pytest.mark.parametrize(("name", "row"), [("statements", "statements"), ("losses", "losses shown")])
def test_few_claims_have_no_percentage(name: str, row: str) -> None:
    verdicts = [each["second"] for each in MEASURED["claims"] if each["list"] == name and each["shown"]]
    assert f"| {len(verdicts)} {row} | {verdicts.count('right')}, too few to say |" in PAGE


def test_nine_of_ten_printed_claims_are_right() -> None:
    found = Counter(
        {
            verdict: sum(
                len(events) for each in MEASURED["again"] for events in each.get(verdict, {}).values()
            )
            for verdict in ("right", "doubtful", "wrong")
        }
    )
    assert found == {"right": 1267, "doubtful": 48, "wrong": 29}
    assert found["right"] / found.total() >= 0.9


def test_labels_that_were_found_are_counted() -> None:
    rules, found = MEASURED["labelledRules"], MEASURED["labelledRulesFound"]
    losses = [each["found"] for each in MEASURED["losses"]]
    words = " ".join(PAGE.split())
    assert f"Of {rules} rules that were labelled, {found} ({percent(found, rules)}) were read" in words
    assert f"Of {len(losses)} labelled losses, {sum(losses)} were shown" in words


def test_planted_states_are_counted() -> None:
    planted = MEASURED["planted"]
    elsewhere = planted["saidElsewhere"]
    assert planted["readAsGone"] + sum(elsewhere.values()) == planted["cut"]
    assert planted["readAsKept"] == planted["left"]
    words = " ".join(PAGE.split())
    assert f"Of the {planted['left']} left, all were read as kept." in words
    assert (
        f"{planted['readAsGone']} were read as gone; the {sum(elsewhere.values())} others the summary still says"
        f" elsewhere, {elsewhere['fully']} in full and {elsewhere['partly']} in part"
    ) in words
    unsaid = planted["unsaid"]
    assert f"Of {unsaid['put']} sentences about the person that nobody had said" in words
    assert f"it named {unsaid['readAsUnsaid']} as such" in words


def test_three_runs_are_compared() -> None:
    runs = MEASURED["threeRuns"]
    none, some, few = runs["withLosses"]
    words = " ".join(PAGE.split())
    assert (
        f"of {runs['ruleEvents']} messages with rules at {runs['boundaries']} boundaries, three runs of version 5 named"
        f" {runs['inAll']} each time, {runs['sameState']} of them with the same state; they showed losses at {none},"
        f" {some} and {few} of the boundaries"
    ) in words
