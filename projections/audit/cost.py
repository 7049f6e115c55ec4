"""Compute the cost of compactions and of sessions from the usage in their records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.imports import copied_through
from eventstore.log import EventLog, Snapshot
from eventstore.node import RequestView
from eventstore.views import Message, Text, Thinking, ToolCall, Usage
from projections.audit.cache import shared_prefix
from projections.audit.calls import ModelCall, records_cache, tokens_per_estimate
from projections.audit.measure import MetricStruct
from projections.audit.prices import MILLION, Price, Prices, context_window
from projections.context.cursor import resolve_cursor
from projections.replacement import Replacement, entries_in_effect
from projections.settings import Model
from projections.tokens import Counter
from projections.usage import RecordedAnswer, answers, billed_usage

_MOST_CHARACTERS: Final = 8
"""The most characters of an answer for a token of output, if all of it was recorded."""
_ASK_NO_MODEL: Final = frozenset({"extractive", "recorded"})


def answered_requests(event: Event) -> list[RequestView]:
    """Return an event's summary requests that were answered or billed; none if not recorded."""
    return [each for each in node_of(event).requests if not each.is_failed or each.usage is not None]


def is_free(request: RequestView) -> bool:
    """Return True if a request's summarizer uses no model."""
    return request.summarizer in _ASK_NO_MODEL


class Cost(MetricStruct, frozen=True):
    """A replacement's cost in US dollars by a price table; None if the table lacks the model.

    `summary` is the cost of requesting the summary, recorded or estimated (`is_estimate`); `rewrite` is the
    cost of caching again what the cache had. `saved` is how much more the later calls (`calls`) would have
    cost with the longer context. `net` = saved - summary - rewrite. `window` is the model's context window in
    tokens, None if unknown; `too_long` of the later calls would not have fitted into it with the longer
    context. If there are any, `saved` and `net` are None, because the session could not have gone on like that.
    """

    model: str | None
    calls: int
    summary: float | None
    is_estimate: bool
    rewrite: float | None
    saved: float | None
    net: float | None
    window: int | None
    too_long: int


def cost(replacement: Replacement, tokens: Counter, prices: Prices, calls: Sequence[ModelCall]) -> Cost:
    """Return what a replacement cost and saved, at the prices of its time.

    Savings count up to the next compaction or undo.

    `calls` are the model calls on its path. A branch summary saves nothing: it describes another branch. If
    no call recorded cache use, all tokens cost the input price. Without a later call, nothing is cached
    again.
    """
    event, model = replacement.event, replacement.after.settings.model
    before = sum(tokens.count(replacement.before.parts))
    shared, counts = shared_prefix(replacement, tokens)
    after, rewritten = sum(counts), sum(counts[shared:])
    entries = list(entries_in_effect(replacement))
    later = _paid_messages(entries, calls)
    window = _window(model, calls)
    is_aside = event.kind == "branch_summary"
    too_long = 0 if is_aside else _too_long(entries, calls, window, before - after)
    long, short = (_price(prices, model, event, prompt) for prompt in (before, after))
    summary, is_estimate = _summary(replacement, tokens, prices)
    rewrite = saved = net = None
    if is_aside:
        net = None if summary is None else 0.0 - summary
    elif long and short:
        has_cache = records_cache(calls)
        read = long.cache_read if has_cache else long.input
        dearer = short.cache_write_5m - short.cache_read if has_cache and later else 0
        saved = None if too_long else later * (before - after) * read / MILLION
        rewrite = rewritten * dearer / MILLION
        net = None if summary is None or saved is None else saved - summary - rewrite
    return Cost(
        model=str(model or "") or None,
        calls=later,
        summary=summary,
        is_estimate=is_estimate,
        rewrite=rewrite,
        saved=saved,
        net=net,
        window=window,
        too_long=too_long,
    )


def _window(model: Model | None, calls: Sequence[ModelCall]) -> int | None:
    """Return a model's context window in tokens; None if unknown.

    It is also unknown if a call was larger than the library says.
    """
    if model is None or not isinstance(model.model_id, str):
        return None
    known = context_window(model.model_id, provider=_provider(model))
    largest = max((call.usage.total for call in calls), default=0)
    return None if known is None or largest > known else known


def _too_long(entries: Iterable[Event], calls: Sequence[ModelCall], window: int | None, shorter: int) -> int:
    """Count the calls that a context longer by `shorter` estimated tokens makes too long."""
    if window is None or shorter <= 0:
        return 0
    longer, later = round(shorter * tokens_per_estimate(calls)), {entry.seq for entry in entries}
    return sum(call.usage.total + longer > window for call in calls if call.seq in later)


def _paid_messages(entries: Iterable[Event], calls: Sequence[ModelCall]) -> int:
    """Count the answers in some entries that have a usage, their own or one recorded later."""
    measured = {call.seq for call in calls}
    answers = ((entry.seq, *answer_of(entry)) for entry in entries if entry.role == "assistant")
    return len({name for seq, name, is_paid in answers if is_paid or seq in measured})


def answer_of(entry: Event) -> tuple[str, bool]:
    """Return the message that an entry is part of, and True if the entry has a usage."""
    node = node_of(entry)
    is_paid = any(billed_usage(message) is not None for message in node.messages[:1])
    return node.group or f"#{entry.seq}", is_paid


def _summary(replacement: Replacement, tokens: Counter, prices: Prices) -> tuple[float | None, bool]:
    """Return the cost of requesting the summary, and True if it is an estimate.

    A rewrite makes no request.
    """
    event, in_use = replacement.event, replacement.after.settings.model
    requests = answered_requests(event)
    if event.kind == "rewrite" or (requests and all(map(is_free, requests))):
        return 0.0, False
    used = [(_model(each), each.usage) for each in requests if each.usage is not None]
    if not used:
        model = _model(requests[-1]) if requests else None
        return _request_cost(_estimated(replacement, tokens), model or in_use, event, prices), True
    costs = [_request_cost(usage, model or in_use, event, prices) for model, usage in used]
    known = [each for each in costs if each is not None]
    return math.fsum(known) if len(known) == len(costs) else None, False


def _model(request: RequestView) -> Model | None:
    return None if request.model is None else Model(provider=request.provider, model_id=request.model)


def _estimated(replacement: Replacement, tokens: Counter) -> Usage:
    """Estimate the usage of a request for the summary: H as input, S as output."""
    summary = [replacement.summary] if replacement.summary else []
    return Usage(input=sum(tokens.count(replacement.removed)), output=sum(tokens.count(summary)))


def _request_cost(usage: Usage, model: Model | None, event: Event, prices: Prices) -> float | None:
    price = _price(prices, model, event, usage.prompt)
    return price.of(usage) if price else None


def _price(prices: Prices, model: Model | None, event: Event, prompt: int) -> Price | None:
    if model is None or not isinstance(model.model_id, str):
        return None
    return prices.price(model.model_id, provider=_provider(model), time=event.time, prompt=prompt)


def _provider(model: Model) -> str:
    return model.provider if isinstance(model.provider, str) else ""


class Spending(MetricStruct, frozen=True):
    """The cost of calls in US dollars: `recorded` by their harness, and `priced` by a table.

    `cost` is that of each call as recorded, or else by the table. `unrecorded` counts calls without a recorded
    cost, `unpriced` those without a price, `without_cost` those without either. `understated` counts those of
    `cost` that are too low: priced answers whose recorded output has less than a token for eight characters.
    A sum is None if it lacks all calls.
    """

    calls: int
    recorded: float | None
    unrecorded: int
    priced: float | None
    unpriced: int
    cost: float | None
    without_cost: int
    understated: int = 0


class SessionCost(MetricStruct, frozen=True):
    """The cost of all calls of a session.

    `prices` names the price table, `prices_date` is its date.
    """

    prices: str
    prices_date: str
    spent: Spending


def session_cost(
    log: EventLog | Snapshot,
    session: str,
    *,
    prices: Prices,
    answered: Iterable[RecordedAnswer] | None = None,
) -> SessionCost:
    """Return the cost of a session's calls on every branch, each message once.

    A call is an assistant message with usage, even if the call failed or was truncated, because that was
    billed too. Requests for summaries are not messages and do not count. Neither do the calls that a fork,
    or a copy under another name, shares with its original, if the store has that one. `answered` are the
    session's answers, if they were read before. Raises NotFoundError.
    """
    with log.snapshot() as snapshot:
        if answered is None:
            answered = answers(snapshot, resolve_cursor(snapshot, session))
        calls = list(paid_calls(snapshot, session, answered, prices))
    return SessionCost(prices=prices.name, prices_date=prices.date, spent=_spent(calls))


class PaidCall(msgspec.Struct, frozen=True):
    """A call with usage; its time in epoch milliseconds, its costs in US dollars."""

    model: str
    time: int | None
    usage: Usage
    recorded: float | None
    priced: float | None
    has_all_output: bool

    @property
    def is_understated(self) -> bool:
        """Return True if the cost is priced by a part of the output only."""
        return self.recorded is None and self.priced is not None and not self.has_all_output

    @property
    def cost(self) -> float | None:
        """The cost as recorded, or else by the price table; None if neither is known."""
        return self.priced if self.recorded is None else self.recorded


def paid_calls(
    snapshot: Snapshot, session: str, answered: Iterable[RecordedAnswer], prices: Prices
) -> Iterator[PaidCall]:
    """Yield those of a session's calls that `session_cost` adds up."""
    copied = copied_through(snapshot, session)
    for event, view, *_ in answered:
        usage = billed_usage(view)
        if usage is not None and event.seq > copied:
            name = f"{view.provider}/{view.model}" if view.provider else view.model
            priced = _priced(view, usage, event.time, prices)
            has_all_output = _characters(view) <= _MOST_CHARACTERS * usage.output
            yield PaidCall(name, event.time, usage, usage.cost, priced, has_all_output)


def _characters(answer: Message) -> int:
    return sum(
        len(block.text)
        if isinstance(block, Text | Thinking)
        else len(block.arguments)
        if isinstance(block, ToolCall)
        else 0
        for block in answer.blocks
    )


def _priced(view: Message, usage: Usage, time: int | None, prices: Prices) -> float | None:
    """Return a call's cost by a table; None if unknown or if only a token total is recorded."""
    if not usage.prompt + usage.output:
        return None
    price = prices.price(view.model, provider=view.provider, time=time, prompt=usage.prompt)
    return price.of(usage) if price else None


def _spent(calls: list[PaidCall]) -> Spending:
    recorded, unrecorded = _sum(call.recorded for call in calls)
    priced, unpriced = _sum(call.priced for call in calls)
    cost, without_cost = _sum(call.cost for call in calls)
    return Spending(
        calls=len(calls),
        recorded=recorded,
        unrecorded=unrecorded,
        priced=priced,
        unpriced=unpriced,
        cost=cost,
        without_cost=without_cost,
        understated=sum(call.is_understated for call in calls),
    )


def _sum(costs: Iterable[float | None]) -> tuple[float | None, int]:
    """Return the sum of the known costs (None if none is known) and the number of unknown ones."""
    given = list(costs)
    known = [cost for cost in given if cost is not None]
    return math.fsum(known) if known else None, len(given) - len(known)
