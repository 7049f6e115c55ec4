"""Staged sessions, which are in the repository: what audits claim there, against labels made before they ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.labelled import HELD_OUT, LabelledRule
from tests.corpus.measure import SAID, Classed, Measured, measure_session

pytestmark = pytest.mark.slow

NOWHERE = Path("/nonexistent")
"""Staged sessions need no corpus."""


@pytest.fixture(scope="module")
def by_model() -> list[Measured]:
    return [each for name in HELD_OUT for each in measure_session(name, NOWHERE, by_model=True)]


def sure(measured: list[Measured]) -> list[Classed]:
    return [
        rule
        for each in measured
        for rule in each.rules
        if isinstance(rule.label, LabelledRule) and rule.label.sure
    ]


def test_nine_of_ten_rules_are_rules_to_a_model(by_model: list[Measured]) -> None:
    rules = sure(by_model)
    assert len(rules) >= 100
    assert sum(rule.state in ("kept", "gone", "tail") for rule in rules) >= 0.9 * len(rules)


def test_nine_of_ten_rules_are_kept_or_gone_as_a_reader_says(by_model: list[Measured]) -> None:
    rules = sure(by_model)
    assert sum(rule.is_right for rule in rules) >= 0.9 * len(rules)


def test_what_is_claimed_in_words_is_right_and_useful() -> None:
    measured = [each for name in HELD_OUT for each in measure_session(name, NOWHERE)]
    said = [judged for each in measured for judged in each.claims if judged.claim.kind in SAID]
    assert [judged.verdict for judged in said] == ["right/useful"]
