"""Replay recorded sessions with other policies and templates; measure what each would leave."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from compaction.part import Limits
from compaction.replay.boundaries import Where, boundaries_of
from compaction.replay.kept import asked_by, is_readable, kept_in
from compaction.replay.results import ReplayedBoundary, ReplayResult, Trial
from compaction.replay.trials import try_of_recorded_size, try_variant
from compaction.replay.variants import Variant, identity_of, trial_key
from compaction.summarizers.chain import SummarizersFailedError
from eventstore.dependencies import StoredResults
from eventstore.log import EventLog, Snapshot
from projections.audit.readings import Reading, readings
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
    without a summary excepted: what it has stored is not tried again. Contexts at recorded boundaries are asked for
    what the stored readings of these say was known.
    """
    results = StoredResults(log, snapshot)
    snapshot = results.snapshot
    cursor = resolve_cursor(snapshot, session)
    read = readings(snapshot, session) if at == "recorded" else {}
    identities = [identity_of(variant) for variant in variants]
    chosen = (each for each in boundaries_of(snapshot, cursor, at) if only is None or each.leaf.seq in only)
    attempt = try_of_recorded_size if matches_size else try_variant
    for index, boundary in enumerate(chosen):
        here = cursor.at_leaf(boundary.leaf.seq)
        reading = read.get(boundary.compaction.id) if boundary.compaction else None
        trials, texts = list[Trial](), dict[str, str]()
        for variant, identity in zip(variants, identities, strict=True):
            key = trial_key(session, boundary.leaf.seq, at, limits, matches_size, identity)
            tried = results.find(key, _Tried) if identity else None
            if tried is None:
                try:
                    after = attempt(snapshot, cursor, boundary, variant, limits=limits)
                    is_recorded = variant.policy is None and variant.program is None
                    reckoned = boundary.reckoned if is_recorded else 0
                    tried = _tried(snapshot, here, after, reckoned, reading)
                    if identity:
                        results.add(key, tried)
                except SummarizersFailedError as error:
                    tried = _Tried(Trial(error=str(error)))
            trials.append(msgspec.structs.replace(tried.trial, boundary=index, variant=variant.name))
            if tried.summary:
                texts[variant.name] = tried.summary
        results.save()
        yield ReplayResult(
            boundary=ReplayedBoundary(
                session=session,
                leaf=boundary.leaf.id,
                seq=boundary.leaf.seq,
                at=at,
                asked=asked_by(reading) if reading else None,
            ),
            trials=trials,
            summaries=texts,
        )


class _Tried(msgspec.Struct, frozen=True, array_like=True):
    """A trial as it is stored, and the text of its summary, "" for none."""

    trial: Trial
    summary: str = ""


def _tried(
    snapshot: Snapshot, here: Cursor, after: Context | str, reckoned: int, reading: Reading | None
) -> _Tried:
    """Measure a new context, or give the reason why there is none.

    `reckoned` are the tokens that its harness restored without a record. `reading` says what was known before.
    """
    if isinstance(after, str):
        return _Tried(Trial(error=after))
    before = context_at(snapshot, here)
    shown = {part.key: part.raw for part in before.parts}
    tokens = counter("utf16/4")
    restored = [part for part in after.parts if part.fate is Fate.RESTORED and part.key not in shown]
    texts = [view_of_part(part).text for part in after.parts if part.role == "compactionSummary"]
    trial = Trial(
        first_kept=next((part.id for part in after.parts if shown.get(part.key) == part.raw), None),
        tokens_before=sum(tokens.count(before.parts)),
        tokens_after=sum(tokens.count(after.parts)) + reckoned,
        tokens_restored=sum(tokens.count(restored)) + reckoned,
        kept=kept_in(after.parts, reading) if reading and is_readable(snapshot, after.parts) else None,
    )
    return _Tried(trial, texts[-1] if texts else "")
