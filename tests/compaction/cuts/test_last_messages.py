"""Keeping a few messages, or none."""

from __future__ import annotations

from compaction.cuts import LastMessages
from compaction.part import Limits
from tests.compaction.cuts.windows import told

LIMITS = Limits(window=200_000)


def cut(words, messages=5):
    return LastMessages(messages=messages).cut(told(words), LIMITS)


def test_the_last_five_are_kept():
    assert cut("u1 a1 u1 a1 u1 a1 u1").kept == ["m2", "m3", "m4", "m5", "m6"]


def test_a_place_at_a_tool_result_moves_back_to_its_call():
    assert cut("u1 a1 r1 r1 u1 a1 u1 a1").kept == ["m1", "m2", "m3", "m4", "m5", "m6", "m7"]


def test_none_are_kept_where_none_are_asked_for():
    found = cut("u1 a1", messages=0)
    assert (found.to_summarize, found.kept, found.first_kept) == (["m0", "m1"], [], "")


def test_as_few_as_are_asked_for_leave_nothing_to_summarize():
    assert cut("u1 a1 u1 a1 u1") is None


def test_a_group_as_long_as_the_window_leaves_nothing_to_summarize():
    assert cut("a1 r1 r1 r1 r1 r1 r1") is None


def test_an_answer_whose_calls_are_in_flight_is_kept_though_none_are_asked_for():
    window = told("u1 a1 u1 a1", is_open=True)
    assert LastMessages(messages=0).cut(window, LIMITS).kept == ["m3"]
