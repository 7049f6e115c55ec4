"""Replay recorded sessions with other policies and templates, and measure what each would have kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from compaction.part import Limits
from compaction.replay.boundaries import Where, clean_boundaries, recorded_boundaries
from compaction.replay.probes import answered, probes_at
from compaction.replay.trials import try_of_recorded_size, try_variant
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizersFailedError
from eventstore.event import Event
from eventstore.log import Snapshot
from projections.audit.future_use import Needs, needs_at
from projections.context.build import context_at
from projections.context.cursor import path, resolve_cursor
from projections.context.parts import Context, view_of_part
from projections.mentions import MentionKind
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import SessionFacts
from projections.replacement import replacement_between
from projections.tokens import counter

Thing = tuple[MentionKind, str]


class ReplayStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of results; JSON names are in camel case."""


class ReplayedBoundary(ReplayStruct, frozen=True):
    """A place at which variants were tried.

    `leaf` is the id of the context's last entry, number `seq`. `needed_count` counts the things that the log had
    named and that the model used from there to the next compaction, branch summary or undo: the same for every
    variant. `probe_count` counts the questions that each context is asked.
    """

    session: str
    leaf: str
    seq: int
    at: Where
    needed_count: int
    probe_count: int


class Trial(ReplayStruct, frozen=True):
    """The result of a variant for the context at a boundary, given by its index.

    `first_kept` is the id of the first kept message, None for none. Sizes are in tokens, by pi's estimate.
    `kept_count` is how many of the needed things the new context names, `answered_count` how many probes it answers.
    `error` says why there is no result; then
    the figures are None.
    """

    boundary: int
    variant: str
    first_kept: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    kept_count: int | None = None
    answered_count: int | None = None
    error: str | None = None


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The needed things that the context of each variant names, by its name; and all of them.

    `summaries` are the texts of the contexts' summaries, for variants that have one.
    """

    needed: frozenset[Thing]
    by_variant: dict[str, frozenset[Thing]]
    summaries: dict[str, str]


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary with its trials; `kept` says which things they kept."""

    boundary: ReplayedBoundary
    trials: list[Trial]
    kept: Kept


def replay_session(
    snapshot: Snapshot,
    session: str,
    variants: Sequence[Variant],
    *,
    at: Where = "clean",
    limits: Limits,
    only: Collection[int] | None = None,
    horizon: int | None = None,
    matches_size: bool = False,
) -> Iterator[ReplayResult]:
    """Try variants at each boundary of a session, in order. Raises NotFoundError.

    `only` are the numbers of the entries to compact at, None for all. What was needed is looked for in at most
    `horizon` answers of the model. `matches_size`: each policy keeps as much as makes its context as large as the
    recorded one.
    """
    cursor = resolve_cursor(snapshot, session)
    entries = path(snapshot, cursor)
    found = clean_boundaries(snapshot, cursor, entries) if at == "clean" else recorded_boundaries(entries)
    facts = SessionFacts()
    chosen = (each for each in found if only is None or each.leaf.seq in only)
    for index, boundary in enumerate(chosen):
        before = context_at(snapshot, cursor.at_leaf(boundary.leaf.seq))
        later = boundary.later if horizon is None else _until_answer(horizon, boundary.later)
        unchanged = replacement_between(boundary.leaf, before, before, earlier=boundary.earlier, later=later)
        needs, probes = needs_at(unchanged, facts), probes_at(boundary.earlier, facts)
        trials, kept, summaries = list[Trial](), dict[str, frozenset[Thing]](), dict[str, str]()
        for variant in variants:
            try:
                attempt = try_of_recorded_size if matches_size else try_variant
                after: Context | str = attempt(snapshot, cursor, boundary, variant, limits=limits)
            except SummarizersFailedError as error:
                after = str(error)
            if isinstance(after, str):
                trials.append(Trial(boundary=index, variant=variant.name, error=after))
                continue
            kept[variant.name] = _kept(after, needs, facts)
            if texts := _summaries(after):
                summaries[variant.name] = texts[-1]
            trial = _trial(index, variant.name, before, after)
            counts = len(kept[variant.name]), answered(probes, after, facts)
            trials.append(msgspec.structs.replace(trial, kept_count=counts[0], answered_count=counts[1]))
        yield ReplayResult(
            boundary=ReplayedBoundary(
                session=session,
                leaf=boundary.leaf.id,
                seq=boundary.leaf.seq,
                at=at,
                needed_count=len(needs.needs),
                probe_count=len(probes),
            ),
            trials=trials,
            kept=Kept(
                needed=frozenset((need.kind, need.value) for need in needs.needs),
                by_variant=kept,
                summaries=summaries,
            ),
        )


def _until_answer(number: int, later: Sequence[Event]) -> Sequence[Event]:
    """Return entries up to the model's answer of a number, which several entries may hold."""
    answers = 0
    for place, entry in enumerate(later):
        is_answer = entry.role == "assistant"
        answers += is_answer and (place == 0 or later[place - 1].role != "assistant")
        if answers > number or (answers == number and not is_answer):
            return later[:place]
    return later


def _kept(after: Context, needs: Needs, facts: SessionFacts) -> frozenset[Thing]:
    index = MentionIndex(facts.of_parts(after.parts), needs.paths, facts.chunks)
    return frozenset((need.kind, need.value) for need in needs.needs if index.contains(need.kind, need.value))


def _summaries(context: Context) -> list[str]:
    return [view_of_part(part).text for part in context.parts if part.role == "compactionSummary"]


def _trial(index: int, name: str, before: Context, after: Context) -> Trial:
    shown = {part.key: part.raw for part in before.parts}
    first = next((part.id for part in after.parts if shown.get(part.key) == part.raw), None)
    tokens = counter("utf16/4")
    return Trial(
        boundary=index,
        variant=name,
        first_kept=first,
        tokens_before=sum(tokens.count(before.parts)),
        tokens_after=sum(tokens.count(after.parts)),
    )
