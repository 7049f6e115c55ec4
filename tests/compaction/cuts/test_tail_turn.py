"""Keeping the newest turns, by opencode's numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.cuts import TailTurn
from compaction.part import Limits
from tests.compaction.cuts.test_keep_recent import words
from tests.compaction.cuts.windows import told


def limits(budget):
    """A model with which the tail may have so many tokens, 2,000 to 8,000."""
    return Limits(window=20_000 + 4 * budget)


def cut(words, budget=2_000):
    return TailTurn().cut(told(words), limits(budget))


@pytest.mark.parametrize(
    ("window", "budget"), [(200_000, 8_000), (40_000, 5_000), (24_002, 2_000), (1_000, 2_000)]
)
def test_the_budget_is_a_quarter_of_what_can_be_used_between_two_and_eight_thousand(window, budget):
    assert TailTurn().budget(Limits(window=window)) == budget


def test_a_budget_is_rounded_down():
    assert TailTurn().budget(Limits(window=32_003)) == 3_000


def test_at_most_two_turns_are_kept():
    assert cut("u10 a10 u10 a10 u10 a10").kept == ["m2", "m3", "m4", "m5"]


def test_turns_are_counted_and_not_messages():
    assert cut("u10 a10 r10 a10 r10 a10 u10 a10 u10 a10 r10").kept == ["m6", "m7", "m8", "m9", "m10"]


def test_a_turn_that_does_not_fit_is_parted_where_its_end_fits():
    found = cut("u10 a10 u10 a1500 r10 a1000 u10 a900")
    assert (found.turn_prefix, found.kept) == (["m2", "m3", "m4"], ["m5", "m6", "m7"])


def test_the_message_that_began_a_parted_turn_is_quoted():
    assert cut("u10 a10 u10 a1500 r10 a1000 u10 a900").quoted == ["m2"]


def test_a_turn_of_which_nothing_fits_is_summarized_whole():
    found = cut("u10 a10 u10 a1500 u10 a1900")
    assert (found.turn_prefix, found.kept) == ([], ["m4", "m5"])


@pytest.mark.parametrize(
    "talk",
    [
        "u10 a10 u10 a2500 b10",
        "u10 a10 u10 a2500 c10",
        "u10 a10 u10 a10 b2500",
        "u10 a10 u10 b10 b10",
        "u10 a10 u10 a10 b2500 b10",
    ],
)
def test_the_newest_order_is_quoted_where_only_commands_and_extensions_messages_are_kept(talk):
    assert cut(talk).quoted == ["m2"]


def test_no_order_is_quoted_where_a_newer_one_is_kept():
    assert cut("u10 a10 u10 a2500 u10 b10").quoted == []


def test_an_order_that_is_over_the_budget_by_itself_is_not_quoted():
    assert cut("u10 a10 u2001 b10").quoted == []


def test_the_newest_order_is_quoted_beside_the_command_that_began_a_parted_turn():
    assert cut("u10 a10 b10 a1500 r10 a1000 b900").quoted == ["m0", "m2"]


def test_the_tail_never_begins_with_a_tool_result():
    assert cut("u10 a1999 r10 r10").kept == ["m1", "m2", "m3"]


def test_the_newest_group_is_kept_though_it_is_over_the_budget():
    assert cut("u10 a10 u10 a10 r100000").kept == ["m3", "m4"]


def test_a_group_that_is_over_the_budget_has_to_shrink_to_it():
    assert cut("u10 a10 u10 a10 r100000").shrinks_to == 2_000
    assert cut("u10 a10 u10 a1500 r10 a1000 u10 a900").shrinks_to is None


def test_one_turn_that_fits_leaves_nothing_to_summarize():
    assert cut("u10 a10") is None


@given(words=words, budget=st.integers(2_000, 8_000))
def test_no_tail_begins_with_a_result_and_every_message_is_in_one_place(words, budget):
    found = cut(words, budget)
    if found is not None:
        names = [f"m{place}" for place in range(len(words.split()))]
        starts = {item.id for item in told(words).items if item.may_start}
        assert found.to_summarize + found.turn_prefix + found.kept == names
        assert found.kept[0] in starts
