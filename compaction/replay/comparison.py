"""Compare the variants of a replay, over all of its boundaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from compaction.replay import ReplayResult, ReplayStruct, Trial
from compaction.replay.statistics import Difference, paired_difference


class Overlap(ReplayStruct, frozen=True):
    """Needed things by which of two contexts names them, the first variant's and another's."""

    both: int
    first_only: int
    variant_only: int
    neither: int


class VariantSummary(ReplayStruct, frozen=True):
    """A variant over the boundaries at which all variants had results.

    So all shares have one denominator. A variant that had none anywhere does not count for that. `trials`
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


def summaries(results: Sequence[ReplayResult], variants: Sequence[str]) -> list[VariantSummary]:
    """Return a line for each variant, in the given order."""
    works = {name for name in variants for each in results if _trial(each, name).error is None}
    shared = [each for each in results if works <= each.kept.by_variant.keys()]
    return [_summary(results, shared if name in works else [], name, variants[0]) for name in variants]


def _summary(
    results: Sequence[ReplayResult], shared: Sequence[ReplayResult], name: str, first: str
) -> VariantSummary:
    done = [(each, _trial(each, name)) for each in shared]
    needed = sum(each.boundary.needed_count for each, _ in done)
    kept = sum(trial.kept_count or 0 for _, trial in done)
    probes = sum(each.boundary.probe_count for each, _ in done)
    answers = sum(trial.answered_count or 0 for _, trial in done)
    sizes = [
        trial.tokens_after / trial.tokens_before
        for _, trial in done
        if trial.tokens_before and trial.tokens_after is not None
    ]
    return VariantSummary(
        variant=name,
        trials=len(done),
        failed=sum(_trial(each, name).error is not None for each in results),
        size=fmean(sizes) if sizes else None,
        needed_count=needed,
        kept_count=kept,
        kept_share=kept / needed if needed else None,
        probe_count=probes,
        answered_count=answers,
        answered_share=answers / probes if probes else None,
        difference=None if name == first else paired_difference(_differences(results, name, first)),
        overlap=None if name == first else _overlap(results, name, first),
    )


def _overlap(results: Sequence[ReplayResult], name: str, first: str) -> Overlap:
    kept = [each.kept for each in results if {name, first} <= each.kept.by_variant.keys()]
    pairs = [(each.by_variant[first], each.by_variant[name], each.needed) for each in kept]
    return Overlap(
        both=sum(len(one & other) for one, other, _ in pairs),
        first_only=sum(len(one - other) for one, other, _ in pairs),
        variant_only=sum(len(other - one) for one, other, _ in pairs),
        neither=sum(len(needed - one - other) for one, other, needed in pairs),
    )


def _differences(results: Sequence[ReplayResult], name: str, first: str) -> dict[str, list[float]]:
    """Return the differences of kept shares at boundaries where both variants have a result, by session."""
    by_session = defaultdict[str, list[float]](list)
    for each in results:
        one, other = _trial(each, name).kept_count, _trial(each, first).kept_count
        if one is not None and other is not None and each.boundary.needed_count:
            by_session[each.boundary.session].append((one - other) / each.boundary.needed_count)
    return by_session


def _trial(result: ReplayResult, name: str) -> Trial:
    return next(trial for trial in result.trials if trial.variant == name)
