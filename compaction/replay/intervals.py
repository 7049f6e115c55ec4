"""Compare two variants over sessions: an interval for the difference of their shares."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

FEWEST_SESSIONS: Final = 8
"""Sessions that an interval needs."""
_SAMPLES: Final = 2_000
_SEED: Final = 17


def interval(sessions: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the limits, 95 %, of a difference of shares; None for too few sessions.

    Each session has the difference of two sums, and what both are a share of: sessions of 0 are left out. Whole
    sessions are drawn again (a bootstrap), because the boundaries of one are alike. Equal input has equal limits.
    """
    counted = [each for each in sessions if each[1]]
    if len(counted) < FEWEST_SESSIONS:
        return None
    random, shares = Random(_SEED), list[float]()  # noqa: S311  samples, no secret
    for _ in range(_SAMPLES):
        drawn = random.choices(counted, k=len(counted))
        shares.append(sum(each for each, _ in drawn) / sum(of for _, of in drawn))
    shares.sort()
    tail = _SAMPLES // 40
    return shares[tail], shares[-1 - tail]
