"""Differences of paired results, and their intervals."""

from __future__ import annotations

from random import Random

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


def test_an_interval_excludes_zero_if_the_sessions_agree() -> None:
    far = paired_difference({str(number): [0.5 + number / 1000] for number in range(10)})
    near = paired_difference({str(number): [(-1) ** number * 0.5] for number in range(10)})
    assert far is not None
    assert near is not None
    assert far.low is not None
    assert far.low > 0
    assert near.low is not None
    assert near.high is not None
    assert near.low < 0 < near.high


def test_intervals_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="needs refold[reference]")
    for sessions in (*range(FEWEST_SESSIONS, 60), 1000):
        random = Random(sessions)
        means = [random.gauss(0.1, 0.3) for _ in range(sessions)]
        found = paired_difference({str(number): [mean] for number, mean in enumerate(means)})
        assert found is not None
        low, high = stats.ttest_1samp(means, 0).confidence_interval(0.95)
        assert (found.mean, found.low, found.high) == pytest.approx(
            (stats.tmean(means), low, high), rel=1e-3, abs=1e-4
        )
        for probability in (0.9, 0.975, 0.995):
            expected = stats.t.ppf(probability, sessions - 1)
            assert student_quantile(probability, sessions - 1) == pytest.approx(expected, rel=2e-4)


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
