"""Contexts are too large by each harness's own numbers."""

from __future__ import annotations

import msgspec
import pytest

from compaction.part import Limits
from compaction.policy import load as policies
from compaction.triggers import Threshold

PI = Threshold()
OH_MY_PI = Threshold(share=0.15)
OPENCODE = Threshold(reserve=20_000, inclusive=True)
LAYERED = Threshold(reserve=0, output=20_000, margin=13_000)


@pytest.mark.parametrize(
    ("trigger", "limits", "threshold"),
    [
        (PI, Limits(window=200_000), 183_616),
        (OH_MY_PI, Limits(window=200_000), 170_000),
        (OH_MY_PI, Limits(window=100_000), 83_616),
        (OPENCODE, Limits(window=200_000), 180_000),
        (LAYERED, Limits(window=200_000, output=64_000), 167_000),
        (LAYERED, Limits(window=200_000, output=8_000), 179_000),
    ],
)
def test_each_harness_leaves_free_what_it_leaves_free(trigger, limits, threshold):
    assert trigger.threshold(limits) == threshold


def test_a_context_as_large_as_the_threshold_is_not_over_it():
    assert not PI.fires(183_616, Limits(window=200_000))
    assert PI.fires(183_617, Limits(window=200_000))


def test_an_inclusive_threshold_fires_when_it_is_reached():
    assert not OPENCODE.fires(179_999, Limits(window=200_000))
    assert OPENCODE.fires(180_000, Limits(window=200_000))


def test_a_threshold_in_tokens_is_over_all_others():
    assert Threshold(tokens=50_000, percent=10).threshold(Limits(window=200_000)) == 50_000


def test_a_threshold_in_tokens_stays_below_the_window():
    assert Threshold(tokens=300_000).threshold(Limits(window=200_000)) == 199_999


@pytest.mark.parametrize(("percent", "threshold"), [(80, 160_000), (100, 198_000), (250, 198_000)])
def test_a_threshold_in_percent_is_at_most_99(percent, threshold):
    assert Threshold(percent=percent).threshold(Limits(window=200_000)) == threshold


def test_a_policy_may_name_more_than_a_hundred_percent():
    named = policies.parse_policy('name = "p"\n[trigger]\npart = "threshold"\npercent = 150', source="p")
    assert named.trigger.threshold(Limits(window=200_000)) == 198_000


def test_a_reserve_that_nobody_chose_leaves_a_small_window_85_percent():
    assert PI.threshold(Limits(window=10_000)) == 8_500


def test_a_reserve_that_somebody_chose_holds_though_it_leaves_nothing():
    assert Threshold(reserve=16_384).fires(2, Limits(window=10_000))


def test_a_threshold_is_at_least_one():
    assert Threshold(reserve=16_384).threshold(Limits(window=10_000)) == 1


@pytest.mark.parametrize(
    ("window", "threshold"),
    [(16_384, 13_927), (16_385, 13_928), (19_274, 16_383), (19_275, 2_891), (20_000, 3_616)],
    ids=["none", "one", "just too few", "just enough", "some"],
)
def test_a_reserve_that_nobody_chose_is_15_percent_where_it_would_leave_less(window, threshold):
    assert PI.threshold(Limits(window=window)) == threshold


def test_a_threshold_in_tokens_is_at_least_1_in_the_smallest_window():
    assert Threshold(tokens=5).threshold(Limits(window=1)) == 1


SMALL = Limits(window=16_000)


@pytest.mark.parametrize("name", policies.preset_names())
def test_every_preset_leaves_a_small_window_85_percent(name):
    share = 0.9 if name.startswith("codex") else 0.85
    assert policies.load_preset(name).trigger.threshold(SMALL) == 16_000 * share


@pytest.mark.parametrize(
    ("trigger", "window", "threshold"),
    [
        (OPENCODE, 20_000, 17_000),
        (OPENCODE, 23_528, 19_999),
        (OPENCODE, 23_529, 3_529),
        (LAYERED, 33_000, 28_050),
        (LAYERED, 34_000, 28_900),
        (LAYERED, 40_000, 7_000),
    ],
)
def test_what_stays_free_gives_way_where_it_would_leave_less_than_that(trigger, window, threshold):
    gives_way = msgspec.structs.replace(trigger, gives_way=True)
    assert gives_way.threshold(Limits(window=window)) == threshold


@pytest.mark.parametrize(
    ("trigger", "leaves_nothing"),
    [
        (PI, False),
        (OPENCODE, True),
        (LAYERED, True),
        (msgspec.structs.replace(OPENCODE, gives_way=True), False),
        (msgspec.structs.replace(OPENCODE, tokens=1), False),
        (msgspec.structs.replace(OPENCODE, percent=50), False),
        (Threshold(reserve=15_999), False),
        (Threshold(reserve=16_000), True),
        (Threshold(share=1.0), True),
    ],
)
def test_a_trigger_leaves_nothing_where_all_of_the_window_has_to_stay_free(trigger, leaves_nothing):
    assert trigger.leaves_nothing(SMALL) == leaves_nothing
