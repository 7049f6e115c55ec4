"""Sum up the variants of a replay, over all of its boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from compaction.replay.results import ReplayResult, ReplayStruct


class VariantSummary(ReplayStruct, frozen=True):
    """A variant over the boundaries at which all variants had results.

    A variant without any result is ignored here. `trials` counts these boundaries, and `failed` all at which this
    variant had no result. `size` is the mean share of the tokens that it left.
    """

    variant: str
    trials: int
    failed: int
    size: float | None


def summaries(results: Sequence[ReplayResult], variants: Sequence[str]) -> list[VariantSummary]:
    """Return a line for each variant, in the given order: that of the trials of each boundary."""
    places = range(len(variants))
    works = {place for place in places for each in results if each.trials[place].error is None}
    shared = [each for each in results if all(each.trials[place].error is None for place in works)]
    return [_summary(results, shared if place in works else [], place, variants[place]) for place in places]


def _summary(
    results: Sequence[ReplayResult], shared: Sequence[ReplayResult], place: int, name: str
) -> VariantSummary:
    trials = [each.trials[place] for each in shared]
    sizes = [
        trial.tokens_after / trial.tokens_before
        for trial in trials
        if trial.tokens_before and trial.tokens_after is not None
    ]
    return VariantSummary(
        variant=name,
        trials=len(trials),
        failed=sum(each.trials[place].error is not None for each in results),
        size=fmean(sizes) if sizes else None,
    )
