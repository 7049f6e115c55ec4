"""What each call of a harness is a case for."""

from __future__ import annotations

import pytest

from compaction.maintaining import Settings
from compaction.maintaining.compact_tool import Asked
from compaction.maintaining.triggers import (
    Skip,
    after_turn,
    before_request,
    is_too_large,
    on_error,
    on_idle,
)
from compaction.part import Limits
from compaction.trigger import Trigger
from eventstore.views import ToolCall

ON = Settings()
OFF = Settings(enabled=False)
NO_STRATEGY = Settings(strategy="off")
IDLE = Settings(idle_enabled=True)
IS_OFF = Skip("automatic compaction is off")
LAST = Asked(call=ToolCall(id="c1", name="compact"), is_last=True)
NOT_LAST = Asked(call=ToolCall(id="c1", name="compact"), is_last=False)
TOO_LONG = "prompt is too long: 201000 tokens > 200000 maximum"


@pytest.mark.parametrize(("settings", "case"), [(ON, "threshold"), (OFF, IS_OFF), (NO_STRATEGY, IS_OFF)])
def test_before_a_request_the_threshold_is_looked_at_unless_that_is_off(settings, case):
    assert before_request(settings) == case


FAILED = Skip("the answer failed or was aborted")
WAITS = Skip("a compaction is asked for, once the other calls have their results")


@pytest.mark.parametrize(
    ("stop", "is_of_model", "asked", "settings", "case"),
    [
        ("stop", True, None, ON, "threshold"),
        ("toolUse", True, None, ON, "threshold"),
        ("stop", True, None, OFF, IS_OFF),
        ("", True, None, ON, "threshold"),
        ("error", True, None, ON, FAILED),
        ("aborted", True, None, ON, FAILED),
        ("length", True, None, ON, "incomplete"),
        ("length", True, None, OFF, IS_OFF),
        ("length", False, None, ON, "threshold"),
        ("toolUse", True, LAST, ON, "tool"),
        ("toolUse", True, LAST, OFF, "tool"),
        ("toolUse", True, NOT_LAST, ON, WAITS),
        ("length", True, LAST, ON, "incomplete"),
    ],
)
def test_after_a_turn_the_answer_says_what_it_is_a_case_for(stop, is_of_model, asked, settings, case):
    assert after_turn(stop=stop, is_of_model=is_of_model, asked=asked, settings=settings) == case


@pytest.mark.parametrize(
    ("error", "is_stale", "is_of_model", "settings", "case"),
    [
        (TOO_LONG, False, True, ON, "overflow"),
        (TOO_LONG, False, True, OFF, IS_OFF),
        (TOO_LONG, True, True, ON, Skip("the error is older than the newest compaction")),
        (TOO_LONG, False, False, ON, Skip("the error is of another model")),
        ("overloaded", False, True, ON, Skip("the error says nothing of the context's length")),
    ],
)
def test_a_refusal_is_a_case_if_it_is_of_this_models_length_and_not_over(
    error, is_stale, is_of_model, settings, case
):
    assert on_error(error, is_stale=is_stale, is_of_model=is_of_model, settings=settings) == case


@pytest.mark.parametrize(
    ("seconds", "settings", "case"),
    [
        (300, IDLE, "idle"),
        (299.9, IDLE, Skip("idle for less than 300 seconds")),
        (300, ON, Skip("idle compaction is off")),
        (300, Settings(idle_enabled=True, enabled=False), Skip("idle compaction is off")),
        (60, Settings(idle_enabled=True, idle_timeout_seconds=60), "idle"),
    ],
)
def test_an_idle_session_is_a_case_once_it_has_been_so_for_long_enough(seconds, settings, case):
    assert on_idle(seconds, settings) == case


@pytest.mark.parametrize(
    ("reason", "tokens", "expected"),
    [
        ("threshold", 183_616, False),
        ("threshold", 183_617, True),
        ("idle", 200_000, False),
        ("idle", 200_001, True),
    ],
)
def test_an_idle_session_has_a_threshold_of_its_own(reason, tokens, expected):
    limits = Limits(window=200_000)
    assert is_too_large(reason, tokens, trigger=Trigger(), limits=limits, settings=ON) == expected
