"""Replay recorded sessions with other policies and templates; measure what each would leave."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from compaction.part import Limits
from compaction.replay.boundaries import Where, boundaries_of
from compaction.replay.results import ReplayedBoundary, ReplayResult, Trial
from compaction.replay.stored_trials import StoredTrial, identity_of, key_of
from compaction.replay.trials import try_of_recorded_size, try_variant
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizersFailedError
from eventstore.dependencies import StoredResults
from eventstore.log import EventLog, Snapshot
from projections.context.build import context_at
from projections.context.cursor import Cursor, resolve_cursor
from projections.context.parts import Context, Fate, view_of_part
from projections.tokens import counter


def replay_session(
    snapshot: Snapshot,
    session: str,
    variants: Sequence[Variant],
    *,
    at: Where = "clean",
    limits: Limits,
    only: Collection[int] | None = None,
    matches_size: bool = False,
    log: EventLog | None = None,
) -> Iterator[ReplayResult]:
    """Try variants at each boundary of a session, in order. Raises NotFoundError.

    `only` are the numbers of the entries to compact at, None for all. `matches_size`: each policy keeps as much as
    makes its context as large as the recorded one. `log` stores the results of trials, those of programs and those
    without a summary excepted: what it has stored is not tried again.
    """
    results = StoredResults(log, snapshot)
    snapshot = results.snapshot
    cursor = resolve_cursor(snapshot, session)
    identities = [identity_of(variant) for variant in variants]
    chosen = (each for each in boundaries_of(snapshot, cursor, at) if only is None or each.leaf.seq in only)
    attempt = try_of_recorded_size if matches_size else try_variant
    for index, boundary in enumerate(chosen):
        here = cursor.at_leaf(boundary.leaf.seq)
        trials, texts = list[Trial](), dict[str, str]()
        for variant, identity in zip(variants, identities, strict=True):
            key = key_of(session, boundary.leaf.seq, at, limits, matches_size, identity)
            tried = results.find(key, StoredTrial) if identity else None
            if tried is None:
                try:
                    after = attempt(snapshot, cursor, boundary, variant, limits=limits)
                    is_recorded = variant.policy is None and variant.program is None
                    reckoned = boundary.reckoned if is_recorded else 0
                    tried = _figures(snapshot, here, after, reckoned)
                    if identity:
                        results.add(key, tried)
                except SummarizersFailedError as error:
                    tried = StoredTrial(error=str(error))
            trials.append(_trial(tried, index, variant.name))
            if tried.summary:
                texts[variant.name] = tried.summary
        results.save()
        yield ReplayResult(
            boundary=ReplayedBoundary(session=session, leaf=boundary.leaf.id, seq=boundary.leaf.seq, at=at),
            trials=trials,
            summaries=texts,
        )


def _figures(snapshot: Snapshot, here: Cursor, after: Context | str, reckoned: int) -> StoredTrial:
    """Return the figures of a new context, or of the reason why there is none.

    `reckoned` are the tokens that its harness restored without a record.
    """
    if isinstance(after, str):
        return StoredTrial(error=after)
    before = context_at(snapshot, here)
    shown = {part.key: part.raw for part in before.parts}
    tokens = counter("utf16/4")
    restored = [part for part in after.parts if part.fate is Fate.RESTORED and part.key not in shown]
    texts = [view_of_part(part).text for part in after.parts if part.role == "compactionSummary"]
    return StoredTrial(
        first_kept=next((part.id for part in after.parts if shown.get(part.key) == part.raw), None),
        tokens_before=sum(tokens.count(before.parts)),
        tokens_after=sum(tokens.count(after.parts)) + reckoned,
        tokens_restored=sum(tokens.count(restored)) + reckoned,
        summary=texts[-1] if texts else "",
    )


def _trial(tried: StoredTrial, boundary: int, variant: str) -> Trial:
    return Trial(
        boundary=boundary,
        variant=variant,
        first_kept=tried.first_kept,
        tokens_before=tried.tokens_before,
        tokens_after=tried.tokens_after,
        tokens_restored=tried.tokens_restored,
        error=tried.error,
    )
