"""Define the results of a replay: boundaries, trials of variants, and a summary of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import msgspec

from compaction.replay.boundaries import Where
from compaction.replay.intervals import interval


class ReplayStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of results; JSON names are in camel case."""


class Counts(ReplayStruct, frozen=True):
    """Numbers of rules, of facts, and of losses by what was known before them."""

    rules: int = 0
    facts: int = 0
    losses: int = 0


class Kept(Counts, frozen=True):
    """Counts of what a context has of a reading; the rules and facts that it `lacks`."""

    lacks: list[str] = []


class ReplayedBoundary(ReplayStruct, frozen=True):
    """A place at which variants were tried; `leaf` is the context's last entry, number `seq`.

    `asked` is what its reading says was known before it, None without a reading.
    """

    session: str
    leaf: str
    seq: int
    at: Where
    asked: Counts | None = None


class Trial(ReplayStruct, frozen=True):
    """The result of a variant for the context at a boundary, given by its index.

    `first_kept` is the id of the first kept message, None for none. Sizes are in tokens, by pi's estimate.
    `tokens_restored` are those of `tokens_after` that show content again, as recorded or reckoned from usage.
    `kept` is what stands word for word in the context; None without a reading, and if only a provider can read
    the context. `error` says why there is no result; then the figures are None.
    """

    boundary: int = 0
    variant: str = ""
    first_kept: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    tokens_restored: int | None = None
    kept: Kept | None = None
    error: str | None = None


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary with its trials; `summaries` are the texts of those that have one, by variant."""

    boundary: ReplayedBoundary
    trials: list[Trial]
    summaries: dict[str, str]


class Against(ReplayStruct, frozen=True):
    """The differences of a variant's shares from those of another `variant`.

    They are intervals of 95 %, paired over sessions; None for too few of these.
    """

    variant: str
    size: tuple[float, float] | None
    rules: tuple[float, float] | None
    facts: tuple[float, float] | None


class VariantSummary(ReplayStruct, frozen=True):
    """A variant over the boundaries at which all variants had results.

    A variant without any result is ignored here. `trials` counts these boundaries, and `failed` all at which this
    variant had no result. `size` is the mean share of the tokens that it left. At `judged` of the boundaries, each
    variant was asked for what it kept: `kept` of `asked`. `against` compares it there with the first variant.
    """

    variant: str
    trials: int
    failed: int
    size: float | None
    judged: int = 0
    asked: Counts = Counts()
    kept: Counts = Counts()
    against: Against | None = None


def summaries(results: Sequence[ReplayResult], variants: Sequence[str]) -> list[VariantSummary]:
    """Return a line for each variant, in the given order: that of the trials of each boundary."""
    places = range(len(variants))
    works = [place for place in places if any(each.trials[place].error is None for each in results)]
    shared = [each for each in results if all(each.trials[place].error is None for place in works)]
    judged = [each for each in shared if all(each.trials[place].kept is not None for place in works)]
    found = list[VariantSummary]()
    for place, name in enumerate(variants):
        summary = VariantSummary(
            variant=name,
            trials=len(shared) if place in works else 0,
            failed=sum(each.trials[place].error is not None for each in results),
            size=fmean(sizes)
            if place in works and (sizes := [_size(each.trials[place]) for each in shared])
            else None,
        )
        if place in works and judged:
            summary = msgspec.structs.replace(
                summary,
                judged=len(judged),
                asked=_sum([each.boundary.asked for each in judged]),
                kept=_sum([each.trials[place].kept for each in judged]),
                against=_against(judged, place, works[0], variants[works[0]]) if place != works[0] else None,
            )
        found.append(summary)
    return found


def _size(trial: Trial) -> float:
    """Return the share of the tokens that a trial left; an empty context has nothing to leave."""
    return (trial.tokens_after or 0) / trial.tokens_before if trial.tokens_before else 0.0


def _sum(counts: Sequence[Counts | None]) -> Counts:
    found = [each or Counts() for each in counts]
    return Counts(
        rules=sum(each.rules for each in found),
        facts=sum(each.facts for each in found),
        losses=sum(each.losses for each in found),
    )


def _against(judged: Sequence[ReplayResult], place: int, first: int, name: str) -> Against:
    """Compare a variant with the first one over the sessions of boundaries."""

    def differences(
        value: Callable[[Trial], float], of: Callable[[Counts], float]
    ) -> tuple[float, float] | None:
        sums: dict[str, tuple[float, float]] = {}
        for each in judged:
            difference, total = sums.get(each.boundary.session, (0.0, 0.0))
            sums[each.boundary.session] = (
                difference + value(each.trials[place]) - value(each.trials[first]),
                total + of(each.boundary.asked or Counts()),
            )
        return interval(list(sums.values()))

    return Against(
        variant=name,
        size=differences(_size, lambda _: 1),
        rules=differences(lambda trial: (trial.kept or Counts()).rules, lambda asked: asked.rules),
        facts=differences(lambda trial: (trial.kept or Counts()).facts, lambda asked: asked.facts),
    )
