"""Check the maximum lengths of answers."""

from __future__ import annotations

import pytest

from compaction.branching.summarize import MAX_BRANCH_SUMMARY_TOKENS
from compaction.policy.load import load_preset
from compaction.prompts import output_budget, short_budget, turn_prefix_budget


@pytest.mark.parametrize(
    ("reserve", "tokens"), [(16_384, 13_107), (20_480, 16_384), (20_479, 16_383), (100_000, 16_384), (1, 0)]
)
def test_a_summary_may_have_four_fifths_of_the_reserve_up_to_16384(reserve, tokens):
    assert output_budget(reserve) == tokens


@pytest.mark.parametrize(("reserve", "tokens"), [(16_384, 8_192), (16_385, 8_192), (100_000, 50_000)])
def test_the_beginning_of_a_turn_may_have_half_of_it(reserve, tokens):
    assert turn_prefix_budget(reserve) == tokens


@pytest.mark.parametrize(("reserve", "tokens"), [(16_384, 512), (2_560, 512), (2_559, 511), (100, 20)])
def test_what_is_only_shown_may_have_a_fifth_of_it_up_to_512(reserve, tokens):
    assert short_budget(reserve) == tokens


def test_a_branch_may_have_2048():
    assert MAX_BRANCH_SUMMARY_TOKENS == 2_048


def test_the_layered_policy_gives_20000():
    assert load_preset("layered").prompting.output == 20_000
