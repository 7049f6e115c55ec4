"""What a session's model calls sent, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from eventstore.event import Event
from eventstore.views import Message, Usage
from projections.prices import Prices
from projections.usage import paid


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call that its provider counted, on whatever branch. `dollars` as recorded, or else by a table of prices.

    None where neither knows.
    """

    seq: int
    usage: Usage
    dollars: float | None
    is_recorded: bool


def call_of(event: Event, view: Message, prices: Prices) -> Call | None:
    """The call that a message answers; None for other messages."""
    usage = paid(view)
    if usage is None:
        return None
    dollars = usage.cost
    if dollars is None:
        price = prices.price(view.model, provider=view.provider, time=event.time, prompt=usage.prompt)
        dollars = price.of(usage) if price else None
    return Call(seq=event.seq, usage=usage, dollars=dollars, is_recorded=usage.cost is not None)


def spent(calls: Sequence[Call]) -> float | None:
    """Dollars of all calls whose cost is known; None where none is."""
    known = [call.dollars for call in calls if call.dollars is not None]
    return math.fsum(known) if known else None


def spent_at(calls: Sequence[Call], entries: Sequence[int]) -> Iterator[tuple[int, float]]:
    """After each entry of a path, by its number, what had been spent by then, calls of other branches with it."""
    done, total = 0, 0.0
    for seq in entries:
        while done < len(calls) and calls[done].seq <= seq:
            total += calls[done].dollars or 0.0
            done += 1
        yield seq, total
