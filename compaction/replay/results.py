"""Define the results of a replay: boundaries, trials of variants, and a summary of these."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

from compaction.replay.boundaries import Where


class ReplayStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of results; JSON names are in camel case."""


class ReplayedBoundary(ReplayStruct, frozen=True):
    """A place at which variants were tried; `leaf` is the context's last entry, number `seq`."""

    session: str
    leaf: str
    seq: int
    at: Where


class Trial(ReplayStruct, frozen=True):
    """The result of a variant for the context at a boundary, given by its index.

    `first_kept` is the id of the first kept message, None for none. Sizes are in tokens, by pi's estimate.
    `tokens_restored` are those of `tokens_after` that show content again, as recorded or reckoned from usage.
    `error` says why there is no result; then the figures are None.
    """

    boundary: int = 0
    variant: str = ""
    first_kept: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    tokens_restored: int | None = None
    error: str | None = None


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary with its trials; `summaries` are the texts of those that have one, by variant."""

    boundary: ReplayedBoundary
    trials: list[Trial]
    summaries: dict[str, str]


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
