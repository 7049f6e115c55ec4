"""Compare two variants by their differences at the same boundaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final

import msgspec

FEWEST_SESSIONS: Final = 8
"""Minimum sessions for an interval: with fewer, it would be too narrow too often."""
CONFIDENCE: Final = 0.95


class Difference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The mean over sessions of a difference, each session's being the mean over its boundaries.

    `low` and `high` are the ends of a 95% interval, None with fewer than eight sessions.
    """

    mean: float
    low: float | None = None
    high: float | None = None


def paired_difference(by_session: Mapping[str, Sequence[float]]) -> Difference | None:
    """Return the mean of differences at boundaries, with Student's interval; None if empty.

    Boundaries of one session are not independent, so that each session counts once.
    """
    means = [fmean(differences) for differences in by_session.values() if differences]
    if not means:
        return None
    mean = fmean(means)
    if len(means) < FEWEST_SESSIONS:
        return Difference(mean=mean)
    half = student_quantile((1 + CONFIDENCE) / 2, len(means) - 1) * stdev(means) / sqrt(len(means))
    return Difference(mean=mean, low=mean - half, high=mean + half)


def student_quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t; exact to four digits from 7 degrees of freedom on.

    This is the expansion in powers of 1 / freedom around the normal quantile.
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(freedom**power) for power, term in enumerate(terms, 1))
