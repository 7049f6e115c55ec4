"""Which remedy there is for a context that is too large."""

from __future__ import annotations

import pytest

from compaction.maintaining import Settings
from compaction.maintaining.circuit import Past
from compaction.maintaining.remedies import GivenUp, remedy

HANDS_OFF = Settings(strategy="handoff")
AUTOMATIC = ["overflow", "incomplete", "threshold", "idle"]


def chosen(reason, *, larger=False, past=None, settings=HANDS_OFF, can=True):
    return remedy(reason, has_larger_model=larger, past=past or Past(), settings=settings, can_hand_off=can)


@pytest.mark.parametrize("reason", AUTOMATIC)
def test_a_larger_model_goes_before_all_else(reason):
    assert chosen(reason, larger=True, past=Past(failures=3)) == "switch-model"


def test_a_model_that_asks_for_a_compaction_gets_one():
    assert chosen("tool", larger=True) == "compact"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("threshold", "hand-off"), ("incomplete", "hand-off"), ("overflow", "compact"), ("idle", "compact")],
)
def test_a_handoff_is_for_the_threshold_and_for_answers_that_were_cut_off(reason, expected):
    assert chosen(reason) == expected


def test_a_handoff_takes_the_strategy_and_a_place_to_go():
    assert chosen("threshold", settings=Settings()) == "compact"
    assert chosen("threshold", can=False) == "compact"


@pytest.mark.parametrize("reason", [*AUTOMATIC, "tool"])
def test_an_open_circuit_stops_handoffs_and_compactions(reason):
    why = "3 compactions in a row have failed: compact by hand to go on"
    assert chosen(reason, past=Past(failures=3)) == GivenUp(why)


def test_what_gained_nothing_is_not_tried_on_the_same_context():
    assert chosen("threshold", past=Past(failures=1, gained_nothing=True)) == GivenUp(
        "a compaction of this context gained nothing"
    )
