"""Let policies decide when to compact recorded sessions; measure what would have been sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from compaction.compactor import Compactor
from compaction.maintainer import Maintainer
from compaction.part import Limits
from compaction.replay.costs import SentContext, input_cost, is_answer
from compaction.replay.results import ReplayStruct
from compaction.replay.trials import conversation, following, preview_writer
from compaction.replay.variants import RECORDED, Variant, identity_of, trial_key
from compaction.summarizers.chain import SummarizerChain
from eventstore.dependencies import StoredResults
from eventstore.event import Event, Parent
from eventstore.log import EventLog, Snapshot
from eventstore.paths import event
from eventstore.preview import Preview, PreviewLog
from projections.audit.prices import Prices, identity_of_prices
from projections.context.build import context_at
from projections.context.cursor import Cursor, path, resolve_cursor
from projections.timeline import timeline
from projections.tokens import counter


class TriggeredCompaction(ReplayStruct, frozen=True):
    """A compaction after the recorded entry number `seq`; the context's tokens before and after.

    `tokens_after` is None if no answer follows.
    """

    seq: int
    tokens_before: int
    tokens_after: int | None


class TriggeredRun(ReplayStruct, frozen=True):
    """A session as it would have gone on under a policy, or as it was recorded.

    `sent` has a context for each of the model's answers, `tokens_sent` is their sum and `peak_tokens` the largest,
    all by pi's estimate. `measured_peak` is the most that the provider counted for a call of the recorded run, with
    system prompt and tools; None for the other runs, and if nothing was counted. `dollars` is what these tokens cost
    as input, if each call reads from the cache what the call before it sent, and writes the rest; None without the
    model's price. `error` says why there is no run.
    """

    session: str
    variant: str
    compactions: Sequence[TriggeredCompaction] = ()
    sent: Sequence[SentContext] = ()
    tokens_sent: int | None = None
    peak_tokens: int | None = None
    measured_sent: int | None = None
    measured_peak: int | None = None
    dollars: float | None = None
    error: str | None = None


def triggered_runs(
    snapshot: Snapshot,
    session: str,
    variants: Sequence[Variant],
    *,
    limits: Limits,
    prices: Prices,
    log: EventLog | None = None,
) -> Iterator[TriggeredRun]:
    """Yield the recorded run of a session, then that of each variant. Raises NotFoundError.

    A variant's run has the recorded messages without the recorded compactions, rewrites and undos. Before each answer
    of the model, a maintainer with the default settings keeps the context small, by estimated sizes. `log` stores the
    runs: what it has stored is not run again.
    """
    results = StoredResults(log, snapshot)
    recorded = Variant(name=RECORDED, policy=None, chain=SummarizerChain(summarizers=[]))
    for variant in (recorded, *(each for each in variants if each.name != RECORDED)):
        identity = identity_of(variant)
        key = trial_key("run", session, limits, identity_of_prices(prices), identity)
        run = results.find(key, TriggeredRun) if identity else None
        if run is None:
            run = _run(results.snapshot, session, variant, limits, prices)
            if identity and run.error is None:
                results.add(key, run)
                results.save()
        yield msgspec.structs.replace(run, variant=variant.name)


def _run(snapshot: Snapshot, session: str, variant: Variant, limits: Limits, prices: Prices) -> TriggeredRun:
    cursor = resolve_cursor(snapshot, session)
    entries = path(snapshot, cursor)
    if variant.name == RECORDED:
        return _measured(RECORDED, snapshot, session, _recorded(snapshot, cursor, entries), prices)
    if variant.policy is None or variant.drops:
        return TriggeredRun(session=session, variant=variant.name, error="it has no trigger that compacts")
    found = _simulated(snapshot, session, conversation(entries), variant, limits)
    if isinstance(found, str):
        return TriggeredRun(session=session, variant=variant.name, error=found)
    return _measured(variant.name, snapshot, session, found, prices)


class _History:
    """The contexts that a run sent, by the recorded number of the answer, and its compactions.

    A compaction has the recorded number of the entry above it, and the size of the context before it.
    """

    def __init__(self) -> None:
        self.sent: dict[int, int] = {}
        self.compactions: list[tuple[int, int]] = []
        self.measured: list[int] = []


def _recorded(snapshot: Snapshot, cursor: Cursor, entries: Sequence[Event]) -> _History:
    found = _History()
    moments = timeline(snapshot, cursor.session).moments
    sizes = [moment.tokens for moment in moments]
    found.measured = [each.measured for each in moments if each.measured]
    for place, (above, entry) in enumerate(pairwise(entries), 1):
        if is_answer(above, entry):
            found.sent[entry.seq] = sizes[place - 1]
        elif entry.kind == "compaction":
            found.compactions.append((above.seq, sizes[place - 1]))
    return found


def _simulated(
    snapshot: Snapshot, session: str, entries: Sequence[Event], variant: Variant, limits: Limits
) -> _History | str:
    """Return a policy's run over a session's messages, or why there is none.

    A maintainer is called before answers, in a preview of the messages up to there and of what it appended so far.
    """
    found, log, maintainer = _History(), PreviewLog(snapshot, session), _maintainer(variant, limits)
    policy, writer, shown = maintainer.compactor.policy, preview_writer(log, session), 0
    sizes, seen = _sizes_ahead(log, session, entries, policy.counter, above=None)
    for place, entry in enumerate(entries):
        if not is_answer(entries[place - 1] if place else None, entry):
            continue
        # Where the trigger does not fire, the maintainer finds nothing to do, unless it rewrites each request.
        if place and (policy.before_requests or policy.trigger.fires(seen[place], limits)):
            log.append(session, following(entries[shown:place], above=Parent.LEAF if shown else None))
            shown = place
            done = maintainer.before_request(writer)
            with log.snapshot() as preview:
                made = {
                    each.kind: each
                    for each in (
                        event(preview, session, preview.locate(session, name)) for name in done.events
                    )
                }
            if "attempt" in made:
                return done.error or done.reason
            if "compaction" in made:
                before = _size(preview, session, made["compaction"].parent_seq)
                found.compactions.append((entries[place - 1].seq, before))
            if policy.before_requests:
                sizes[place] = _size(preview, session, preview.head(session).leaf)
            elif done.history_rewritten:
                sizes[place:], seen[place:] = _sizes_ahead(
                    log, session, entries[place:], policy.counter, above=Parent.LEAF
                )
        found.sent[entry.seq] = sizes[place]
    return found


def _sizes_ahead(
    log: PreviewLog,
    session: str,
    entries: Sequence[Event],
    name: str,
    *,
    above: Literal[Parent.LEAF] | None,
) -> tuple[list[int], list[int]]:
    """Return the sizes above each entry to come, by pi's estimate and by a policy's counter."""
    with log.snapshot() as snapshot:
        preview = Preview(snapshot, session, following(entries, above=above))
    of_each = {
        each: [moment.tokens for moment in timeline(preview, session, tokens=counter(each)).moments]
        for each in {"utf16/4", name}
    }
    sizes, seen = ([0, *of_each[each]][-len(entries) - 1 :] for each in ("utf16/4", name))
    return sizes, seen


def _maintainer(variant: Variant, limits: Limits) -> Maintainer:
    """Return a maintainer that follows a policy and ignores what providers counted."""
    assert variant.policy is not None  # noqa: S101  checked by the caller
    policy = variant.policy
    if variant.template:
        prompting = msgspec.structs.replace(policy.prompting, template=variant.template, update="")
        policy = msgspec.structs.replace(policy, prompting=prompting)
    compactor = Compactor(
        policy=policy,
        chain=variant.chain,
        limits=limits,
        tokens=msgspec.structs.replace(counter(policy.counter), ignores_usage=True),
        sources=variant.sources,
    )
    return Maintainer(compactor=compactor, now=lambda: 0)


def _size(snapshot: Snapshot, session: str, leaf: int) -> int:
    here = resolve_cursor(snapshot, session).at_leaf(leaf)
    return sum(counter("utf16/4").count(context_at(snapshot, here).parts))


def _measured(
    variant: str, snapshot: Snapshot, session: str, history: _History, prices: Prices
) -> TriggeredRun:
    """Return a run with its totals; the answer after a compaction was sent the new context."""
    sent = [SentContext(seq=seq, tokens=tokens) for seq, tokens in history.sent.items()]
    compactions = [
        TriggeredCompaction(
            seq=seq,
            tokens_before=before,
            tokens_after=next((tokens for later, tokens in history.sent.items() if later > seq), None),
        )
        for seq, before in history.compactions
    ]
    return TriggeredRun(
        session=session,
        variant=variant,
        compactions=compactions,
        sent=sent,
        tokens_sent=sum(each.tokens for each in sent),
        peak_tokens=max((each.tokens for each in sent), default=0),
        measured_sent=sum(history.measured) or None,
        measured_peak=max(history.measured, default=None),
        dollars=input_cost(snapshot, session, sent, {each.seq for each in compactions}, prices),
    )
