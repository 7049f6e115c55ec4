"""Replay recorded sessions with other policies and templates; measure what each would keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from compaction.part import Limits
from compaction.replay.boundaries import Boundary, Where, clean_boundaries, recorded_boundaries
from compaction.replay.probes import Probe, answered, probes_at
from compaction.replay.results import Kept, ReplayedBoundary, ReplayResult, Thing, Trial
from compaction.replay.stored_trials import StoredBoundary, StoredTrial, identity_of, key_of
from compaction.replay.trials import try_of_recorded_size, try_variant
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizersFailedError
from eventstore.dependencies import StoredResults
from eventstore.event import Event
from eventstore.log import EventLog, Snapshot
from projections.audit.future_use import Needs, needs_at
from projections.context.build import context_at
from projections.context.cursor import Cursor, path, resolve_cursor
from projections.context.parts import Context, view_of_part
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import SessionFacts
from projections.replacement import replacement_between
from projections.tokens import counter


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
    facts: SessionFacts | None = None,
    log: EventLog | None = None,
) -> Iterator[ReplayResult]:
    """Try variants at each boundary of a session, in order. Raises NotFoundError.

    `only` are the numbers of the entries to compact at, None for all. What was needed is looked for in at most
    `horizon` answers of the model. `matches_size`: each policy keeps as much as makes its context as large as the
    recorded one. `facts` are the session's, for summarizers that share them. `log` stores the results of trials, those
    of programs and those without a summary excepted: what it has stored is not tried again.
    """
    results = StoredResults(log, snapshot)
    snapshot = results.snapshot
    cursor = resolve_cursor(snapshot, session)
    entries = path(snapshot, cursor)
    found = clean_boundaries(snapshot, cursor, entries) if at == "clean" else recorded_boundaries(entries)
    facts = facts or SessionFacts()
    identities = [identity_of(variant) for variant in variants]
    chosen = (each for each in found if only is None or each.leaf.seq in only)
    attempt = try_of_recorded_size if matches_size else try_variant
    for index, boundary in enumerate(chosen):
        place = _Place(cursor.at_leaf(boundary.leaf.seq), boundary, snapshot, facts, horizon)
        where = session, boundary.leaf.seq, at, horizon
        key = key_of("boundary", where)
        shared = results.find(key, StoredBoundary)
        if shared is None:
            shared = StoredBoundary(place.needed, len(place.probes))
            results.add(key, shared)
        trials, by_variant, texts = list[Trial](), dict[str, frozenset[Thing]](), dict[str, str]()
        for variant, identity in zip(variants, identities, strict=True):
            key = key_of("trial", where, limits, matches_size, identity)
            tried = results.find(key, StoredTrial) if identity else None
            if tried is None:
                try:
                    tried = place.trial(attempt(snapshot, cursor, boundary, variant, limits=limits))
                    if identity:
                        results.add(key, tried)
                except SummarizersFailedError as error:
                    tried = StoredTrial(error=str(error))
            trials.append(_trial(tried, index, variant.name))
            if tried.error is None:
                by_variant[variant.name] = frozenset(shared.needed[each] for each in tried.kept)
            if tried.summary:
                texts[variant.name] = tried.summary
        results.save()
        yield ReplayResult(
            boundary=ReplayedBoundary(
                session=session,
                leaf=boundary.leaf.id,
                seq=boundary.leaf.seq,
                at=at,
                needed_count=len(shared.needed),
                probe_count=shared.probe_count,
            ),
            trials=trials,
            kept=Kept(needed=frozenset(shared.needed), by_variant=by_variant, summaries=texts),
        )


class _Place:
    """A boundary and the facts that its trials share, made when a trial needs them."""

    def __init__(
        self, here: Cursor, boundary: Boundary, snapshot: Snapshot, facts: SessionFacts, horizon: int | None
    ) -> None:
        self._here, self._boundary, self._snapshot = here, boundary, snapshot
        self._facts, self._horizon = facts, horizon

    @cached_property
    def before(self) -> Context:
        return context_at(self._snapshot, self._here)

    @cached_property
    def needs(self) -> Needs:
        boundary = self._boundary
        later = boundary.later if self._horizon is None else _until_answer(self._horizon, boundary.later)
        unchanged = replacement_between(
            boundary.leaf, self.before, self.before, earlier=boundary.earlier, later=later
        )
        return needs_at(unchanged, self._facts)

    @cached_property
    def needed(self) -> tuple[Thing, ...]:
        """The things needed, in a fixed order."""
        return tuple(sorted((need.kind, need.value) for need in self.needs.needs))

    @cached_property
    def probes(self) -> list[Probe]:
        return probes_at(self._boundary.earlier, self._facts)

    def trial(self, after: Context | str) -> StoredTrial:
        """Return the figures of a new context, or of the reason why there is none."""
        if isinstance(after, str):
            return StoredTrial(error=after)
        index = MentionIndex(self._facts.of_parts(after.parts), self.needs.paths, self._facts.index)
        shown = {part.key: part.raw for part in self.before.parts}
        tokens = counter("utf16/4")
        texts = [view_of_part(part).text for part in after.parts if part.role == "compactionSummary"]
        return StoredTrial(
            first_kept=next((part.id for part in after.parts if shown.get(part.key) == part.raw), None),
            tokens_before=sum(tokens.count(self.before.parts)),
            tokens_after=sum(tokens.count(after.parts)),
            answered_count=answered(self.probes, after, self._facts),
            kept=tuple(place for place, thing in enumerate(self.needed) if index.contains(*thing)),
            summary=texts[-1] if texts else "",
        )


def _trial(tried: StoredTrial, boundary: int, variant: str) -> Trial:
    return Trial(
        boundary=boundary,
        variant=variant,
        first_kept=tried.first_kept,
        tokens_before=tried.tokens_before,
        tokens_after=tried.tokens_after,
        kept_count=len(tried.kept) if tried.error is None else None,
        answered_count=tried.answered_count,
        error=tried.error,
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
