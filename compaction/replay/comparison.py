"""Compare the variants of a replay, over all of its boundaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from statistics import fmean

from msgspec.structs import astuple

from compaction.replay.results import Kept, ReplayedBoundary, ReplayResult, ReplayStruct, Trial
from compaction.replay.statistics import Difference, paired_difference


class Overlap(ReplayStruct, frozen=True):
    """Needed things by which of two contexts names them, the first variant's and another's."""

    both: int
    first_only: int
    variant_only: int
    neither: int


class BoundaryFigures(ReplayStruct, frozen=True):
    """A boundary with its trials, and their overlaps with the first variant's.

    `overlaps` count needed things, in the order of the trials; None for the first variant, and where it or the
    other has no result.
    """

    boundary: ReplayedBoundary
    trials: list[Trial]
    overlaps: list[Overlap | None]


class VariantSummary(ReplayStruct, frozen=True):
    """A variant over the boundaries at which all variants had results.

    So all figures but `failed` count the same things; a variant without any result is ignored here. `trials`
    counts these boundaries, and `failed` all at which this variant had no result. `size` is the mean share of
    the tokens that it left, `kept_share` the share of all needed things that its contexts name. `difference`
    is the paired difference of kept shares from the first variant, and `overlap` compares the things that
    both kept; None for the first variant itself. `answered_share` is the share of all probes that its contexts answer.
    """

    variant: str
    trials: int
    failed: int
    size: float | None
    needed_count: int
    kept_count: int
    kept_share: float | None
    probe_count: int
    answered_count: int
    answered_share: float | None
    difference: Difference | None
    overlap: Overlap | None


def figures_of(result: ReplayResult) -> BoundaryFigures:
    """Return the figures of a boundary, without the things and summaries that they count."""
    first, *others = (trial.variant for trial in result.trials)
    return BoundaryFigures(
        boundary=result.boundary,
        trials=result.trials,
        overlaps=[None, *(_overlap(result.kept, first, other) for other in others)],
    )


def _overlap(kept: Kept, first: str, other: str) -> Overlap | None:
    if not {first, other} <= kept.by_variant.keys():
        return None
    one, two = kept.by_variant[first], kept.by_variant[other]
    return Overlap(
        both=len(one & two),
        first_only=len(one - two),
        variant_only=len(two - one),
        neither=len(kept.needed - one - two),
    )


def worst_cases(results: Iterable[ReplayResult], most: int) -> list[ReplayResult]:
    """Return this many results, those in which a variant lost the most against the first one."""
    return nsmallest(most, results, key=_by_loss)


def _by_loss(result: ReplayResult) -> tuple[int, str, int]:
    return -largest_loss(result), result.boundary.session, result.boundary.seq


def largest_loss(result: ReplayResult) -> int:
    """Return how many things a variant lost at most that the first one keeps."""
    kept = result.kept.by_variant
    first = kept.get(result.trials[0].variant, frozenset())
    return max((len(first - names) for names in kept.values()), default=0)


def summaries(results: Sequence[BoundaryFigures], variants: Sequence[str]) -> list[VariantSummary]:
    """Return a line for each variant, in the given order: that of the trials of each boundary."""
    places = range(len(variants))
    works = {place for place in places for each in results if each.trials[place].error is None}
    shared = [each for each in results if all(each.trials[place].error is None for place in works)]
    return [_summary(results, shared if place in works else [], place, variants[place]) for place in places]


def _summary(
    results: Sequence[BoundaryFigures], shared: Sequence[BoundaryFigures], place: int, name: str
) -> VariantSummary:
    trials = [each.trials[place] for each in shared]
    needed = sum(each.boundary.needed_count for each in shared)
    kept = sum(trial.kept_count or 0 for trial in trials)
    probes = sum(each.boundary.probe_count for each in shared)
    answers = sum(trial.answered_count or 0 for trial in trials)
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
        needed_count=needed,
        kept_count=kept,
        kept_share=kept / needed if needed else None,
        probe_count=probes,
        answered_count=answers,
        answered_share=answers / probes if probes else None,
        difference=paired_difference(_differences(shared, place)) if place else None,
        overlap=_sum([each.overlaps[place] for each in shared]) if place else None,
    )


def _sum(overlaps: Iterable[Overlap | None]) -> Overlap:
    rows = [astuple(each) for each in overlaps if each is not None]
    return Overlap(*map(sum, zip(*rows, strict=True))) if rows else Overlap(0, 0, 0, 0)


def _differences(results: Sequence[BoundaryFigures], place: int) -> dict[str, list[float]]:
    """Return the differences of kept shares by session, where both variants have a result."""
    by_session = defaultdict[str, list[float]](list)
    for each in results:
        one, other = each.trials[place].kept_count, each.trials[0].kept_count
        if one is not None and other is not None and each.boundary.needed_count:
            by_session[each.boundary.session].append((one - other) / each.boundary.needed_count)
    return by_session
