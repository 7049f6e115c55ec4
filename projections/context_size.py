"""How large a context is, for the decision whether to make it smaller."""

from __future__ import annotations

import msgspec

from eventstore.formats import view_of_message
from eventstore.frame import decode, header_of
from eventstore.kinds import REWRITE
from eventstore.log import Snapshot
from eventstore.undo import in_effect
from projections.context import Context, context_at
from projections.standpoint import Standpoint
from projections.tokens import Counter
from projections.usage import measured


class ContextSize(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The size that decides, in tokens, and what it is made of.

    `measured` is what the provider counted at the newest call that went through since the compaction in effect,
    event `measured_at` (None: there is no such call); `saved` what rewrites behind it took away of what it
    measured; `after` the estimate of the messages behind it, as they are now. `estimate` is that of the whole
    context, below which `tokens` never is.
    """

    tokens: int
    estimate: int
    measured: int | None
    measured_at: str | None
    saved: int
    after: int


def context_size(
    snapshot: Snapshot, at: Standpoint, tokens: Counter, *, less_saved: bool = True
) -> ContextSize:
    """The size of the context at a leaf.

    A call from before the compaction in effect measured another context, though its message may be kept: by
    its figure every compaction would be followed by the next. Calls that failed or were aborted have none.
    `less_saved`: the savings of rewrites since the measured call count.
    """
    context = context_at(snapshot, at)
    counts = tokens.count(context.parts)
    estimate = sum(counts)
    place, usage = _newest_measured(snapshot, at, context)
    if place is None:
        return ContextSize(
            tokens=estimate, estimate=estimate, measured=None, measured_at=None, saved=0, after=0
        )
    after = sum(counts[place + 1 :])
    saved = 0
    if less_saved:
        saved = _saved(snapshot, at, context.parts[place].seq, sum(counts[: place + 1]), tokens)
    return ContextSize(
        tokens=max(usage - saved + after, estimate),
        estimate=estimate,
        measured=usage,
        measured_at=context.parts[place].id,
        saved=saved,
        after=after,
    )


def _newest_measured(snapshot: Snapshot, at: Standpoint, context: Context) -> tuple[int | None, int]:
    in_effect_here = header_of(snapshot.frame(at.session, at.leaf)).compaction_seq if at.leaf else 0
    for place in range(len(context.parts) - 1, -1, -1):
        part = context.parts[place]
        if part.role != "assistant":
            continue
        event = decode(snapshot.frame(at.session, part.seq), at.session)
        usage = measured(view_of_message(part.raw))
        if usage is not None and event.compaction_seq == in_effect_here:
            return place, usage.total
    return None, 0


def _saved(snapshot: Snapshot, at: Standpoint, measured_at: int, now: int, tokens: Counter) -> int:
    """What rewrites since a measured call took away of what it measured, which is `now` so many tokens."""
    frames = list(snapshot.path(at.session, at.leaf, first=measured_at + 1))
    effective = in_effect(reversed(frames), lambda seq: snapshot.frame(at.session, seq))
    if not any(head.kind == REWRITE for _, head in effective):
        return 0
    then = sum(tokens.count(context_at(snapshot, at.at(measured_at)).parts))
    return max(then - now, 0)
