"""What the calls of a session cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import msgspec

from eventstore.log import EventLog, Snapshot
from eventstore.views import Message, Usage
from projections.context.cursor import Standpoint, stand
from projections.metrics.shapes import Shape
from projections.prices import Prices
from projections.usage import assistant_messages, paid


class Spent(Shape, frozen=True):
    """US dollars that calls cost: `recorded` by their harness, and `priced` by a table.

    `unrecorded` calls have no recorded cost, `unpriced` ones no price; a sum is None where that is all of them.
    """

    calls: int
    recorded: float | None
    unrecorded: int
    priced: float | None
    unpriced: int


class ModelSpent(Shape, frozen=True):
    """What the calls of one model cost."""

    model: str
    spent: Spent


class SessionCost(Shape, frozen=True):
    """What all calls of a session cost, and those of each model, in order of first use.

    `prices` names the table, `prices_date` says of when it is.
    """

    prices: str
    prices_date: str
    spent: Spent
    models: list[ModelSpent]


def session_cost(
    log: EventLog | Snapshot, session: str, *, prices: Prices, as_of: int | None = None
) -> SessionCost:
    """What the calls of a session cost, on every branch, each message once.

    A call is an assistant's message that carries usage: one that failed or was cut off was paid for, too.
    Requests for summaries are no messages, and do not count. Raises NotFoundError.
    """
    by_model: dict[str, list[_Call]] = {}
    with log.snapshot() as snapshot:
        for call in _calls(snapshot, stand(snapshot, session, as_of=as_of), prices):
            by_model.setdefault(call.model, []).append(call)
    return SessionCost(
        prices=prices.name,
        prices_date=prices.date,
        spent=_spent([call for calls in by_model.values() for call in calls]),
        models=[ModelSpent(model=model, spent=_spent(calls)) for model, calls in by_model.items()],
    )


class _Call(msgspec.Struct, frozen=True):
    model: str
    recorded: float | None
    priced: float | None


def _calls(snapshot: Snapshot, at: Standpoint, prices: Prices) -> Iterator[_Call]:
    for event, view in assistant_messages(snapshot, at):
        usage = paid(view)
        if usage is not None:
            name = f"{view.provider}/{view.model}" if view.provider else view.model
            yield _Call(name, usage.cost, _priced(view, usage, event.time, prices))


def _priced(view: Message, usage: Usage, time: int | None, prices: Prices) -> float | None:
    """What a call cost by a table; None also where the record gives a total alone, which has no price."""
    if not usage.prompt + usage.output:
        return None
    price = prices.price(view.model, provider=view.provider, time=time, prompt=usage.prompt)
    return price.of(usage) if price else None


def _spent(calls: list[_Call]) -> Spent:
    recorded, unrecorded = _sum(call.recorded for call in calls)
    priced, unpriced = _sum(call.priced for call in calls)
    return Spent(calls=len(calls), recorded=recorded, unrecorded=unrecorded, priced=priced, unpriced=unpriced)


def _sum(costs: Iterable[float | None]) -> tuple[float | None, int]:
    """The sum of the known costs, None where none is known, and how many are not."""
    given = list(costs)
    known = [cost for cost in given if cost is not None]
    return math.fsum(known) if known else None, len(given) - len(known)
