"""Which replacements, and which sessions, are worth looking at first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from projections.metrics import Metrics


class Measured(Protocol):
    """A replacement that was measured: the audit of a compaction, a branch summary or a rewrite."""

    @property
    def seq(self) -> int: ...

    @property
    def metrics(self) -> Metrics: ...


M = TypeVar("M", bound=Measured)
Rank = tuple[bool, float, int, int]
"""What sorts the worst first."""


def worst_first(measured: Iterable[M]) -> list[M]:
    """Those of which the smallest share was still there when it was needed come first.

    Where nothing was needed later, there is no share: they come last. Among equals, those with more losses come
    first, then those with more instructions gone, then the older ones.
    """
    return sorted(measured, key=lambda each: (rank_of(each.metrics), each.seq))


def rank_of(metrics: Metrics) -> Rank:
    """The rank of one replacement."""
    return rank(metrics.future_use.share, len(metrics.future_use.losses), metrics.instructions.gone)


def rank(future_use: float | None, losses: int, gone: int) -> Rank:
    """The rank of a share of future use (None: nothing was needed), a number of losses and one of gone instructions."""
    return (future_use is None, future_use or 0.0, -losses, -gone)
