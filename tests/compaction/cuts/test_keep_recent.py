"""Keeping the newest messages that fit a budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.cuts import KeepRecent, scale_budget
from compaction.part import Limits
from tests.compaction.cuts.windows import ROLES, told
from tests.support.sentences import numbers

LIMITS = Limits(window=200_000)


def cut(words, tokens, **fields):
    return KeepRecent(tokens=tokens).cut(told(words, **fields), LIMITS)


def kept(words, tokens, **fields):
    found = cut(words, tokens, **fields)
    return None if found is None else found.kept


def test_the_oldest_place_from_which_all_fits_is_the_cut():
    assert kept("u10 a10 u10 a10", 30) == ["m1", "m2", "m3"]


def test_a_budget_that_is_met_exactly_fits():
    assert kept("u10 a10 u10 a10", 20) == ["m2", "m3"]


def test_what_is_kept_never_begins_with_a_tool_result():
    assert kept("u10 a10 r10 a10", 20) == ["m3"]


def test_the_newest_group_is_kept_even_if_it_alone_is_too_large():
    assert kept("u10 a10 r500", 20) == ["m1", "m2"]


def test_a_window_that_fits_leaves_nothing_to_summarize():
    assert cut("u10 a10", 20) is None


def test_an_empty_window_leaves_nothing_to_summarize():
    assert cut("", 20) is None


def test_a_window_right_behind_a_compaction_leaves_nothing_to_summarize():
    assert cut("u10 a10 u10 a10", 10, is_compacted=True) is None


def test_a_cut_at_the_start_of_a_turn_parts_none():
    found = cut("u10 a10 u10 a10", 20)
    assert (found.to_summarize, found.turn_prefix) == (["m0", "m1"], [])


def test_a_cut_inside_a_turn_sets_its_beginning_apart():
    found = cut("u10 a10 u10 a10 r10 a10", 10)
    assert (found.to_summarize, found.turn_prefix, found.kept) == (["m0", "m1"], ["m2", "m3", "m4"], ["m5"])


@pytest.mark.parametrize("letter", ["u", "b", "c", "s"])
def test_turns_start_with_users_shell_commands_extensions_and_branch_summaries(letter):
    assert cut(f"a10 {letter}10 a10", 20).turn_prefix == []


def test_a_window_without_the_start_of_a_turn_is_parted_without_a_prefix():
    found = cut("a10 a10 a10", 10)
    assert (found.to_summarize, found.turn_prefix) == (["m0", "m1"], [])


def test_a_budget_shrinks_by_what_the_provider_counts_more_than_the_estimate():
    assert scale_budget(20_000, measured=150, estimate=100) == 13_333


def test_a_budget_does_not_grow_where_the_provider_counts_less():
    assert scale_budget(20_000, measured=50, estimate=100) == 20_000


def test_a_budget_stays_at_least_one():
    assert scale_budget(2, measured=1_000, estimate=1) == 1


def test_an_adapting_cut_keeps_less_where_the_provider_counts_more():
    window = told("u10 a10 u10 a10", measured=80)
    assert KeepRecent(tokens=20, adapts=True).cut(window, LIMITS).kept == ["m3"]


words = st.lists(
    st.tuples(st.sampled_from(sorted(ROLES)), st.integers(0, 30)).map(lambda each: f"{each[0]}{each[1]}"),
    max_size=12,
).map(" ".join)


@given(words=words, tokens=st.integers(1, 100))
def test_every_message_is_summarized_or_kept_and_in_order(words, tokens):
    found = cut(words, tokens)
    if found is not None:
        names = [f"m{place}" for place in range(len(words.split()))]
        assert found.to_summarize + found.turn_prefix + found.kept == names


@given(words=words, tokens=st.integers(1, 100))
def test_what_is_kept_fits_the_budget_or_is_the_newest_group(words, tokens):
    found = cut(words, tokens)
    if found is not None:
        window = told(words)
        sizes = {item.id: item.tokens for item in window.items}
        starts = [item.id for item in window.items if item.may_start]
        assert sum(sizes[name] for name in found.kept) <= tokens or found.kept[0] == starts[-1]


def test_it_says_that_all_is_kept_where_all_has_room():
    window = told("u10 a10")
    assert numbers(KeepRecent(tokens=20).why_all(window)) == [20]
    assert KeepRecent(tokens=19).why_all(window) == ""
