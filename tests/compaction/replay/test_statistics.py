"""Differences of paired results, and their intervals."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from compaction.replay.statistics import FEWEST_SESSIONS, paired_difference, student_quantile


def test_each_session_counts_once() -> None:
    found = paired_difference({"long": [0.1] * 99, "short": [0.3]})
    assert found is not None
    assert found.mean == pytest.approx(0.2)


def test_without_sessions_there_is_no_difference() -> None:
    assert paired_difference({}) is None
    assert paired_difference({"s": []}) is None


def test_an_interval_needs_eight_sessions() -> None:
    few, enough = (
        paired_difference({str(number): [number / 100] for number in range(sessions)})
        for sessions in (FEWEST_SESSIONS - 1, FEWEST_SESSIONS)
    )
    assert few is not None
    assert enough is not None
    assert [each.low is None and each.high is None for each in (few, enough)] == [True, False]


def test_an_interval_that_excludes_zero_is_clear() -> None:
    far = paired_difference({str(number): [0.5 + number / 1000] for number in range(10)})
    near = paired_difference({str(number): [(-1) ** number * 0.5] for number in range(10)})
    assert far is not None
    assert near is not None
    assert (far.is_clear, near.is_clear) == (True, False)


SCIPY: Final = {
    7: (1.41492, 2.36462, 3.49948),
    9: (1.38303, 2.26216, 3.24984),
    15: (1.34061, 2.13145, 2.94671),
    19: (1.32773, 2.09302, 2.86093),
    40: (1.30308, 2.02108, 2.70446),
    1000: (1.2824, 1.96234, 2.58075),
}
"""`scipy.stats.t.ppf` of scipy 1.17.1 for .9, .975 and .995, by degrees of freedom."""


@pytest.mark.parametrize("freedom", SCIPY)
def test_quantiles_are_those_of_scipy(freedom: int) -> None:
    found = [student_quantile(probability, freedom) for probability in (0.9, 0.975, 0.995)]
    assert found == pytest.approx(SCIPY[freedom], rel=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [20, 40])
def test_intervals_cover_the_truth_as_often_as_they_say(sessions: int) -> None:
    random, truth, runs, covered = Random(sessions), 0.1, 4000, 0
    for _ in range(runs):
        found = paired_difference(
            {
                str(number): [center + random.gauss(0, 0.2) for _ in range(1 + random.randrange(12))]
                for number in range(sessions)
                for center in [truth + random.gauss(0, 0.1)]
            }
        )
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    assert 0.93 <= covered / runs <= 0.97
