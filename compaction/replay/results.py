"""Define the results of a replay: boundaries, trials of variants, and a summary of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Literal, TypeVar

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


class Claim(ReplayStruct, frozen=True):
    """A rule, a fact, or the known words of a shown loss, with a reading's quotations."""

    kind: Literal["rule", "fact", "loss"]
    claim: str
    quotes: list[str]


class Standing(ReplayStruct, frozen=True):
    """Words of a context that say a claim, which is given by its index.

    `event` is the message's id, "" for the summary. `is_read`: a model chose them; else they are those that the reading
    quotes.
    """

    claim: int
    event: str
    quote: str
    is_read: bool = False


class Kept(Counts, frozen=True):
    """Counts of the claims that a context has word for word, and where it has them.

    `read` counts those that it has only in other words, which a model quoted: None if no model was asked.
    `standings` has one for each claim of the boundary that is there. `unread` says why an answer of the model does not
    count.
    """

    read: Counts | None = None
    standings: list[Standing] = []
    unread: str = ""


class ReplayedBoundary(ReplayStruct, frozen=True):
    """A place at which variants were tried; `leaf` is the context's last entry, number `seq`.

    `asked` counts its `claims`: what readings say was known before it; None without a reading. `round` counts from 1,
    0 if variants begin anew at each boundary. `calls` counts the recorded calls behind it, up to the next compaction.
    """

    session: str
    leaf: str
    seq: int
    at: Where
    round: int = 0
    calls: int = 0
    asked: Counts | None = None
    claims: list[Claim] = []


class Trial(ReplayStruct, frozen=True):
    """The result of a variant for the context at a boundary, given by its index.

    `first_kept` is the id of the first kept message, None for none. Sizes are in tokens, by pi's estimate.
    `tokens_restored` are those of `tokens_after` that show content again, as recorded or reckoned from usage.
    `requests` counts the summary's requests to a model, None if they are not recorded. `dollars` is what the recorded
    calls up to the next compaction cost as input behind this context, cache included; None without a price. `kept` is
    what stands in the context; None without a reading, and if only a provider can read it (`is_sealed`). `error` says
    why there is no result; then the figures are None.
    """

    boundary: int = 0
    variant: str = ""
    first_kept: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    tokens_restored: int | None = None
    requests: int | None = None
    dollars: float | None = None
    is_sealed: bool = False
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


class RoundSummary(ReplayStruct, frozen=True):
    """A variant in one round, over the `judged` sessions in which all variants were asked there."""

    round: int
    judged: int
    size: float | None
    asked: Counts
    kept: Counts
    read: Counts | None


class VariantSummary(ReplayStruct, frozen=True):
    """A variant over the boundaries at which all variants had results.

    A variant without any result is ignored here. `trials` counts these boundaries, and `failed` all at which this
    variant had no result. `size` is the mean share of the tokens that it left; `requests` and `dollars` are sums, None
    if one is unknown. At `judged` of the boundaries, each variant was asked for what it kept: `kept` of `asked`, word
    for word, and `read` beside these, in other words. `rounds` are the same counts round by round. `against` compares
    it with the first variant, both ways of keeping together.
    """

    variant: str
    trials: int
    failed: int
    size: float | None
    requests: int | None = None
    dollars: float | None = None
    judged: int = 0
    asked: Counts = Counts()
    kept: Counts = Counts()
    read: Counts | None = None
    rounds: list[RoundSummary] = []
    against: Against | None = None


def summaries(results: Sequence[ReplayResult], variants: Sequence[str]) -> list[VariantSummary]:
    """Return a line for each variant, in the given order: that of the trials of each boundary."""
    places = range(len(variants))
    works = [place for place in places if any(each.trials[place].error is None for each in results)]
    shared = [each for each in results if all(each.trials[place].error is None for place in works)]
    judged = [each for each in shared if all(each.trials[place].kept is not None for place in works)]
    found = list[VariantSummary]()
    for place, name in enumerate(variants):
        failed = sum(each.trials[place].error is not None for each in results)
        if place not in works:
            found.append(VariantSummary(variant=name, trials=0, failed=failed, size=None))
            continue
        trials = [each.trials[place] for each in shared]
        summary = VariantSummary(
            variant=name,
            trials=len(shared),
            failed=failed,
            size=_mean_size(trials),
            requests=_total([each.requests for each in trials]),
            dollars=_total([each.dollars for each in trials]),
        )
        if judged:
            summary = msgspec.structs.replace(
                summary,
                judged=len(judged),
                asked=_sum([each.boundary.asked for each in judged]),
                kept=_sum([each.trials[place].kept for each in judged]),
                read=_read([each.trials[place] for each in judged]),
                rounds=list(_rounds(judged, place)),
                against=_against(judged, place, works[0], variants[works[0]]) if place != works[0] else None,
            )
        found.append(summary)
    return found


Number = TypeVar("Number", int, float)


def _total(numbers: Sequence[Number | None]) -> Number | None:
    known = [each for each in numbers if each is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(numbers) else None


def _rounds(judged: Sequence[ReplayResult], place: int) -> Iterator[RoundSummary]:
    for number in sorted({each.boundary.round for each in judged} - {0}):
        found = [each for each in judged if each.boundary.round == number]
        trials = [each.trials[place] for each in found]
        yield RoundSummary(
            round=number,
            judged=len(found),
            size=_mean_size(trials),
            asked=_sum([each.boundary.asked for each in found]),
            kept=_sum([each.kept for each in trials]),
            read=_read(trials),
        )


def _read(trials: Sequence[Trial]) -> Counts | None:
    """Return what a model found in other words, None if it was not asked everywhere."""
    found = [each.kept.read for each in trials if each.kept]
    return None if None in found else _sum(found)


def _mean_size(trials: Sequence[Trial]) -> float | None:
    """Return the share of the tokens that trials left, None where no size before is known."""
    sizes = [_size(each) for each in trials if each.tokens_before]
    return fmean(sizes) if sizes else None


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
        rules=differences(lambda trial: all_kept(trial).rules, lambda asked: asked.rules),
        facts=differences(lambda trial: all_kept(trial).facts, lambda asked: asked.facts),
    )


def all_kept(trial: Trial) -> Counts:
    """Return what a context has of its boundary's claims, word for word or in other words."""
    return _sum([trial.kept, trial.kept.read if trial.kept else None])
