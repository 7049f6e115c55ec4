"""Check the case that each call of a harness makes, and the actions that follow."""

from __future__ import annotations

import msgspec
import pytest

from compaction import maintainer as rules
from compaction.continuations import CONTINUATIONS
from compaction.decisions import FailureHistory
from compaction.maintainer import (
    GAINED_NOTHING,
    Promotion,
    Settings,
    Skip,
    case_after_turn,
    case_before_request,
    case_of_error,
    case_of_idle,
    choose_action,
    failure_message,
    is_recovery,
    open_circuit_message,
)
from compaction.newest_answer import CompactToolCalls
from compaction.triggers import Threshold
from eventstore.views import ToolCall
from tests.support import sentences

ON = Settings()
OFF = Settings(enabled=False)
NO_STRATEGY = Settings(strategy="off")
IDLE = Settings(idle_enabled=True)
LAST = CompactToolCalls(calls=(ToolCall(id="c1", name="compact"),), is_last=True)
NOT_LAST = CompactToolCalls(calls=(ToolCall(id="c1", name="compact"),), is_last=False)
TOO_LONG = "prompt is too long: 201000 tokens > 200000 maximum"


@pytest.mark.parametrize(
    ("settings", "case"), [(ON, "threshold"), (OFF, rules.OFF), (NO_STRATEGY, rules.OFF)]
)
def test_before_a_request_the_threshold_is_looked_at_unless_that_is_off(settings, case):
    assert case_before_request(settings) == case


@pytest.mark.parametrize(
    ("stop", "is_of_model", "asked", "settings", "case"),
    [
        ("stop", True, None, ON, "threshold"),
        ("toolUse", True, None, ON, "threshold"),
        ("stop", True, None, OFF, rules.OFF),
        ("", True, None, ON, "threshold"),
        ("error", True, None, ON, rules.NO_ANSWER),
        ("aborted", True, None, ON, rules.NO_ANSWER),
        ("length", True, None, ON, "incomplete"),
        ("length", True, None, OFF, rules.OFF),
        ("length", False, None, ON, "threshold"),
        ("toolUse", True, LAST, ON, "tool"),
        ("toolUse", True, LAST, OFF, "tool"),
        ("toolUse", True, NOT_LAST, ON, rules.WAITS),
        ("length", True, LAST, ON, "incomplete"),
    ],
)
def test_after_a_turn_the_answer_says_what_it_is_a_case_for(stop, is_of_model, asked, settings, case):
    assert case_after_turn(stop=stop, is_of_model=is_of_model, asked=asked, settings=settings) == case


@pytest.mark.parametrize(
    ("error", "is_stale", "is_of_model", "settings", "case"),
    [
        (TOO_LONG, False, True, ON, "overflow"),
        (TOO_LONG, False, True, OFF, rules.OFF),
        (TOO_LONG, False, False, ON, rules.OF_ANOTHER_MODEL),
        ("overloaded", False, True, ON, rules.NOT_OF_LENGTH),
    ],
)
def test_a_refusal_is_a_case_if_it_is_of_this_models_length_and_not_over(
    error, is_stale, is_of_model, settings, case
):
    assert case_of_error(error, is_stale=is_stale, is_of_model=is_of_model, settings=settings) == case


def test_a_refusal_from_before_a_compaction_is_no_case_and_told():
    case = case_of_error(TOO_LONG, is_stale=True, is_of_model=True, settings=ON)
    assert isinstance(case, Skip)
    assert case.reason.endswith(f": {TOO_LONG}")


@pytest.mark.parametrize(
    ("seconds", "settings", "case"),
    [
        (300, IDLE, "idle"),
        (300, ON, rules.IDLE_OFF),
        (300, Settings(idle_enabled=True, enabled=False), rules.IDLE_OFF),
        (60, Settings(idle_enabled=True, idle_timeout_seconds=60), "idle"),
    ],
)
def test_an_idle_session_is_a_case_once_it_has_been_so_for_long_enough(seconds, settings, case):
    assert case_of_idle(seconds, settings) == case


def test_a_session_that_was_not_idle_for_long_enough_is_told_how_long_that_is():
    case = case_of_idle(299.9, IDLE)
    assert isinstance(case, Skip)
    assert sentences.numbers(case.reason) == [300]


HANDS_OFF = Settings(strategy="handoff")
AUTOMATIC = ["overflow", "incomplete", "threshold", "idle"]


def chosen(reason, *, larger=False, past=None, settings=HANDS_OFF, can=True):
    return choose_action(
        reason, has_larger_model=larger, history=past or FailureHistory(), settings=settings, can_hand_off=can
    )


@pytest.mark.parametrize("reason", AUTOMATIC)
def test_a_larger_model_goes_before_all_else(reason):
    assert chosen(reason, larger=True, past=FailureHistory(failures=3)) == "switch-model"


def test_a_model_that_asks_for_a_compaction_gets_one():
    assert chosen("tool", larger=True) == "compact"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("threshold", "hand-off"), ("incomplete", "hand-off"), ("overflow", "compact"), ("idle", "hand-off")],
)
def test_a_handoff_is_for_whatever_is_automatic_but_for_what_was_too_long_to_be_sent(reason, expected):
    assert chosen(reason) == expected


def test_a_handoff_takes_the_strategy_and_a_place_to_go():
    assert chosen("threshold", settings=Settings()) == "compact"
    assert chosen("threshold", can=False) == "compact"


@pytest.mark.parametrize("reason", [*AUTOMATIC, "tool"])
def test_an_open_circuit_stops_handoffs_and_compactions(reason):
    assert chosen(reason, past=FailureHistory(failures=2)) != Skip(open_circuit_message(2))
    for failures in (3, 4):
        past = FailureHistory(failures=failures)
        assert chosen(reason, past=past) == Skip(open_circuit_message(failures))


def test_what_gained_nothing_is_not_tried_on_the_same_context():
    assert chosen("threshold", past=FailureHistory(failures=1, gained_nothing=True)) == GAINED_NOTHING


VAST = Promotion(model="vast", window=100_000)
"""Too large for it is what is over 83,616 tokens: its window less 16,384."""


@pytest.mark.parametrize(("tokens", "promoted"), [(83_616, True), (83_617, False)])
def test_a_larger_model_is_gone_on_with_while_it_has_room(tokens, promoted):
    assert VAST.has_room(tokens, Threshold(), in_use="p/m") == promoted


@pytest.mark.parametrize(
    ("in_use", "promoted"), [("p/vast", False), ("vast", False), ("p/m", True), ("", True)]
)
def test_the_larger_model_in_use_is_not_gone_on_with_again(in_use, promoted):
    assert VAST.has_room(1, Threshold(), in_use=in_use) == promoted


def test_a_larger_model_may_be_named_with_its_provider():
    vast = msgspec.structs.replace(VAST, model="p/vast")
    assert not vast.has_room(1, Threshold(), in_use="p/vast")


@pytest.mark.parametrize("named", ["vast", "p/vast"])
@pytest.mark.parametrize("in_use", ["vast", "p/vast"])
def test_the_larger_model_is_known_by_its_name_with_its_provider_and_without(named, in_use):
    vast = msgspec.structs.replace(VAST, model=named)
    assert not vast.has_room(1, Threshold(), in_use=in_use)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("overflow", "Context overflow recovery failed: no"),
        ("incomplete", "Incomplete response recovery failed: no"),
        ("threshold", "Auto-compaction failed: no"),
        ("idle", "Auto-compaction failed: no"),
        ("tool", "Auto-compaction failed: no"),
    ],
)
def test_what_failed_is_said_as_oh_my_pi_says_it(reason, said):
    assert failure_message(reason, "no") == said


@pytest.mark.parametrize(
    ("reason", "expected"), [("overflow", True), ("incomplete", True), ("threshold", False), ("idle", False)]
)
def test_a_harness_waits_for_recoveries_only(reason, expected):
    assert is_recovery(reason) == expected


@pytest.mark.parametrize(
    ("reason", "hook", "way", "expected"),
    [
        ("threshold", "after_turn", "auto-continue", True),
        ("threshold", "before_request", "auto-continue", False),
        ("overflow", "error", "auto-continue", False),
        ("incomplete", "after_turn", "auto-continue", False),
        ("idle", "idle", "auto-continue", False),
        ("threshold", "after_turn", "replay", True),
        ("threshold", "before_request", "replay", True),
        ("overflow", "error", "replay", True),
        ("incomplete", "after_turn", "replay", True),
        ("idle", "idle", "replay", False),
        ("tool", "after_turn", "replay", False),
    ],
)
def test_what_goes_on_by_itself_depends_on_the_way_and_the_reason(reason, hook, way, expected):
    assert CONTINUATIONS[way].is_due(reason, is_after_turn=hook == "after_turn") == expected
