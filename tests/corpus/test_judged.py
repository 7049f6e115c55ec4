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


def counted(measurement: str, name: str = "") -> Counter[str]:
    """Return how many claims of a measurement are right, doubtful and wrong: all, or those of one list."""
    found = Counter[str]()
    for reading in MEASURED[measurement]:
        for verdict in ("right", "doubtful", "wrong"):
            found[verdict] += sum(
                len(each) for of, each in reading.get(verdict, {}).items() if name in ("", of)
            )
    return found


@pytest.mark.parametrize("name", ["rules", "facts", "statements"])
def test_the_rows_are_what_was_counted(name: str) -> None:
    found = counted("heldOut", name)
    right = f"{found['right']} ({percent(found['right'], found.total())})"
    assert f"| {found.total()} {name} | {right} | {found['doubtful']} | {found['wrong']} |" in PAGE


def test_few_claims_have_no_percentage() -> None:
    assert counted("heldOut", "losses") == {"right": 0, "doubtful": 0, "wrong": 1}
    assert "| 1 loss shown | 0, too few to say | 0 | 1 |" in PAGE


@pytest.mark.parametrize("measurement", ["heldOut", "again"])
def test_nine_of_ten_printed_claims_are_right(measurement: str) -> None:
    found = counted(measurement)
    assert found.total() >= 40
    assert found["right"] / found.total() >= 0.9


def test_labels_that_were_found_are_counted() -> None:
    rules, found = MEASURED["labelledRules"], MEASURED["labelledRulesFound"]
    losses = [each["found"] for each in MEASURED["losses"]]
    words = " ".join(PAGE.split())
    assert f"Of {rules} rules that were labelled, {found} ({percent(found, rules)}) were read" in words
    assert f"Of {len(losses)} labelled losses, {sum(losses)} were shown" in words


def test_rules_that_a_blind_reader_labelled_are_counted() -> None:
    labels = MEASURED["heldOutRules"]
    read, sure = ([each for each in labels if each[key]] for key in ("read", "sure"))
    assert all(each["read"] for each in sure)
    words = f"of {len(labels)}, {len(read)} ({percent(len(read), len(labels))}) were read, among them all {len(sure)}"
    assert words in " ".join(PAGE.split())


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
    assert f"version 5 named {unsaid['readAsUnsaid']} as such" in words


def test_three_runs_are_compared() -> None:
    runs = MEASURED["threeRuns"]
    none, some, few = runs["withLosses"]
    words = " ".join(PAGE.split())
    assert (
        f"of {runs['ruleEvents']} messages with rules at {runs['boundaries']} boundaries, three runs of version 5 named"
        f" {runs['inAll']} each time, {runs['sameState']} of them with the same state; they showed losses at {none},"
        f" {some} and {few} of the boundaries"
    ) in words
