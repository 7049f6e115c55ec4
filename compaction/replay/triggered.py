"""Let policies decide when to compact recorded sessions, and measure what would have been sent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Final, Literal

from compaction.part import Limits
from compaction.policy.model import Policy
from compaction.replay import ReplayStruct
from compaction.replay.trials import compacted
from compaction.replay.variants import RECORDED, Variant
from compaction.summarizers.chain import SummarizersFailedError
from compaction.window import has_open_calls
from eventstore.event import Event, NewEvent, Parent, as_new
from eventstore.log import Snapshot
from eventstore.paths import event
from eventstore.preview import Preview
from projections.audit.prices import MILLION, Prices
from projections.context.build import context_at
from projections.context.cursor import Cursor, path, resolve_cursor
from projections.settings import settings_at
from projections.timeline import timeline
from projections.tokens import counter

_REPLACEMENTS: Final = frozenset({"compaction", "rewrite", "undone", "reset_boundary"})


class SentContext(ReplayStruct, frozen=True):
    """The tokens of a context that a model was sent before the recorded entry number `seq`."""

    seq: int
    tokens: int


class TriggeredCompaction(ReplayStruct, frozen=True):
    """A compaction behind the recorded entry number `seq`; the context's tokens before and after it.

    `tokens_after` is None if no answer follows.
    """

    seq: int
    tokens_before: int
    tokens_after: int | None


class TriggeredRun(ReplayStruct, frozen=True):
    """A session as it would have gone on under a policy, or as it was recorded.

    `sent` has a context for each of the model's answers, `tokens_sent` is their sum and `peak_tokens` the largest, all
    by pi's estimate. `dollars` is what these tokens cost as input, if each call reads from the cache what the call
    before it sent, and writes the rest; None without the model's price. `error` says why there is no run.
    """

    session: str
    variant: str
    compactions: Sequence[TriggeredCompaction] = ()
    sent: Sequence[SentContext] = ()
    tokens_sent: int | None = None
    peak_tokens: int | None = None
    dollars: float | None = None
    error: str | None = None


def triggered_runs(
    snapshot: Snapshot, session: str, variants: Sequence[Variant], *, limits: Limits, prices: Prices
) -> Iterator[TriggeredRun]:
    """Yield the recorded run of a session, then that of each variant. Raises NotFoundError.

    A variant's run has the recorded messages without the recorded compactions, rewrites and undos. Before each answer
    of the model, the policy's trigger sees the estimated size of the context, and may compact.
    """
    cursor = resolve_cursor(snapshot, session)
    entries = path(snapshot, cursor)
    yield _measured(RECORDED, snapshot, session, _recorded(snapshot, cursor, entries), prices)
    for variant in (each for each in variants if each.name != RECORDED):
        if variant.policy is None or variant.policy.cut is None or variant.drops:
            yield TriggeredRun(session=session, variant=variant.name, error="it has no trigger that compacts")
            continue
        try:
            found = _simulated(snapshot, session, _conversation(entries), variant, limits)
        except SummarizersFailedError as error:
            yield TriggeredRun(session=session, variant=variant.name, error=str(error))
            continue
        yield _measured(variant.name, snapshot, session, found, prices)


class _History:
    """Hold what a run sent before each answer, by the answer's recorded number, and its compactions.

    A compaction has the recorded number of the entry above it, and the size of the context before it.
    """

    def __init__(self) -> None:
        self.sent: dict[int, int] = {}
        self.compactions: list[tuple[int, int]] = []


def _conversation(entries: Sequence[Event]) -> list[Event]:
    """Leave out entries that replaced messages, and what was appended with a compaction."""
    causes = {entry.cause for entry in entries if entry.kind == "compaction" and entry.cause}
    return [entry for entry in entries if entry.kind not in _REPLACEMENTS and entry.cause not in causes]


def _recorded(snapshot: Snapshot, cursor: Cursor, entries: Sequence[Event]) -> _History:
    found = _History()
    sizes = [moment.tokens for moment in timeline(snapshot, cursor.session).moments]
    for place, (above, entry) in enumerate(pairwise(entries), 1):
        if _is_answer(above, entry):
            found.sent[entry.seq] = sizes[place - 1]
        elif entry.kind == "compaction":
            found.compactions.append((above.seq, sizes[place - 1]))
    return found


def _is_answer(above: Event | None, entry: Event) -> bool:
    """Return True if an entry begins an answer; several records may hold one."""
    return entry.role == "assistant" and (above is None or above.role != "assistant")


def _simulated(
    snapshot: Snapshot, session: str, entries: Sequence[Event], variant: Variant, limits: Limits
) -> _History:
    """Return what a policy would have made of a session's messages. Raises SummarizersFailedError.

    Each compaction makes a preview of the session, in which the rest of the messages follow it.
    """
    policy = variant.policy
    assert policy is not None  # noqa: S101  checked by the caller
    found, begun = _History(), 0
    preview: Snapshot = Preview(snapshot, session, _following(entries, above=None))
    while begun < len(entries):
        seqs, sizes = _sizes(preview, session, len(entries) - begun, "utf16/4")
        _, seen = (
            (seqs, sizes)
            if policy.counter == "utf16/4"
            else _sizes(preview, session, len(seqs) - 1, policy.counter)
        )
        for place, entry in enumerate(entries[begun:]):
            if not _is_answer(entries[begun + place - 1] if begun + place else None, entry):
                continue
            if place and policy.trigger.fires(seen[place], limits):
                here = resolve_cursor(preview, session).at_leaf(seqs[place])
                prospect = _compacted_at(preview, here, variant, policy, limits)
                if prospect is not None:
                    begun += place
                    preview = Preview(prospect, session, _following(entries[begun:], above=Parent.LEAF))
                    found.compactions.append((entries[begun - 1].seq, sizes[place]))
                    break
            found.sent[entry.seq] = sizes[place]
        else:
            break
    return found


def _following(entries: Sequence[Event], *, above: Literal[Parent.LEAF] | None) -> list[NewEvent]:
    """Return entries as new ones, each below the one before it, the first below `above`, None for a root."""
    return [
        as_new(entry, parent=Parent.LEAF if place else above, target=None)
        for place, entry in enumerate(entries)
    ]


def _sizes(snapshot: Snapshot, session: str, newest: int, name: str) -> tuple[list[int], list[int]]:
    """Return numbers and context sizes of a session's newest entries, and of the one above them."""
    moments = timeline(snapshot, session, tokens=counter(name)).moments
    seqs, sizes = [0, *(each.seq for each in moments)], [0, *(each.tokens for each in moments)]
    return seqs[-newest - 1 :], sizes[-newest - 1 :]


def _compacted_at(
    snapshot: Snapshot, here: Cursor, variant: Variant, policy: Policy, limits: Limits
) -> Snapshot | None:
    """Return the session compacted at an entry, None if a call is open or there is nothing to do."""
    if has_open_calls(context_at(snapshot, here).parts):
        return None
    found = compacted(snapshot, here, variant, policy, limits)
    return None if isinstance(found, str) else found


def _measured(
    variant: str, snapshot: Snapshot, session: str, history: _History, prices: Prices
) -> TriggeredRun:
    """Return a run with its totals; the answer behind a compaction was sent what it made."""
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
        dollars=_dollars(snapshot, session, sent, {each.seq for each in compactions}, prices),
    )


def _dollars(
    snapshot: Snapshot,
    session: str,
    sent: Sequence[SentContext],
    compacted_at: AbstractSet[int],
    prices: Prices,
) -> float | None:
    """Return what the contexts of a run cost as input, None if the price of a model is unknown."""
    costs, cached, since = list[float](), 0, 0
    for each in sent:
        if any(since < seq < each.seq for seq in compacted_at):
            cached = 0
        answer = event(snapshot, session, each.seq)
        model = settings_at(snapshot, session, each.seq).model
        price = prices.price(
            str(model.model_id) if model else "",
            provider=str(model.provider or "") if model else "",
            time=answer.time,
            prompt=each.tokens,
        )
        if price is None:
            return None
        read = min(cached, each.tokens)
        costs.append(read * price.cache_read + (each.tokens - read) * price.cache_write_5m)
        cached, since = each.tokens, each.seq
    return math.fsum(costs) / MILLION
