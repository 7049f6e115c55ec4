"""Price what recorded calls cost as input behind another context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import NamedTuple

from compaction.replay.boundaries import Boundary
from compaction.replay.results import ReplayStruct
from eventstore.event import Event
from eventstore.log import Snapshot
from eventstore.paths import event
from projections.audit.prices import MILLION, Prices
from projections.context.cursor import Cursor, path
from projections.replacement import end_of_change
from projections.settings import settings_at
from projections.timeline import timeline


class SentContext(ReplayStruct, frozen=True):
    """The tokens of a context that a model was sent before the recorded entry number `seq`."""

    seq: int
    tokens: int


def is_answer(above: Event | None, entry: Event) -> bool:
    """Return True if an entry begins an answer; several records may hold one."""
    return entry.role == "assistant" and (above is None or above.role != "assistant")


class Call(NamedTuple):
    """The recorded answer number `seq` behind a compaction, and the places of both on the path."""

    seq: int
    place: int
    compacted: int


class Growth:
    """The growth of a session's context behind its compactions, call by call."""

    def __init__(self, snapshot: Snapshot, cursor: Cursor) -> None:
        self._snapshot, self._cursor = snapshot, cursor
        self._entries = path(snapshot, cursor)
        self._places = {each.seq: place for place, each in enumerate(self._entries)}

    @cached_property
    def _sizes(self) -> list[int]:
        # A fold over the whole session, which stored trials do not need.
        return [each.tokens for each in timeline(self._snapshot, self._cursor.session).moments]

    def behind(self, boundary: Boundary) -> list[Call]:
        """Return the calls behind a boundary's compaction, up to the next one."""
        if boundary.compaction is None:
            return []
        first = self._places[end_of_change(boundary.compaction, self._snapshot, self._cursor)]
        found = list[Call]()
        for place in range(first + 1, len(self._entries)):
            entry = self._entries[place]
            if entry.kind == "compaction":
                break
            if is_answer(self._entries[place - 1], entry):
                found.append(Call(entry.seq, place, first))
        return found

    def sent(self, calls: Sequence[Call], size: int) -> list[SentContext]:
        """Return what calls would have been sent if the compaction had left `size` tokens."""
        sizes = self._sizes
        return [
            SentContext(seq=seq, tokens=max(0, size + sizes[place - 1] - sizes[compacted]))
            for seq, place, compacted in calls
        ]


def input_cost(
    snapshot: Snapshot,
    session: str,
    sent: Sequence[SentContext],
    compacted_at: AbstractSet[int],
    prices: Prices,
) -> float | None:
    """Return the input cost of a run's contexts, None if the price of a model is unknown."""
    costs, cached, since = list[float](), 0, 0
    for each in sent:
        if any(since <= seq < each.seq for seq in compacted_at):
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
