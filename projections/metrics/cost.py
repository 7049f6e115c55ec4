"""What a replacement cost, and what it saved in the rest of the session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.views import Usage
from projections.memo import Memo
from projections.metrics.asked import asked
from projections.metrics.cache import shared_prefix
from projections.metrics.requests import Request, in_effect, records_cache
from projections.metrics.shapes import Shape
from projections.prices import MILLION, Price, Prices
from projections.replacement import Replacement
from projections.settings import Model
from projections.tokens import Counter
from projections.usage import paid


class Cost(Shape, frozen=True):
    """US dollars by a price table; None where it does not know the model.

    `summary`: the request for the summary, as recorded or as estimated (`is_estimate`). `rewrite`: what it costs to
    cache anew what the cache had. `saved`: what the later calls (`calls`) would have paid more for the longer
    context. `net` = saved - summary - rewrite.
    """

    model: str | None
    calls: int
    summary: float | None
    is_estimate: bool
    rewrite: float | None
    saved: float | None
    net: float | None


def cost(replacement: Replacement, tokens: Counter, prices: Prices, calls: Sequence[Request]) -> Cost:
    """What a replacement cost, and saved up to the next compaction or undo, by the prices of its time.

    `calls` are the requests of the path that it lies on. A branch summary saves nothing: what it stands for lies
    elsewhere, and who stays there has no use of it. Where none of them records a cache, all that is
    sent costs what input costs. Without a later call nothing is cached anew.
    """
    event, model = replacement.event, replacement.after.settings.model
    before = sum(tokens.count(replacement.before.parts))
    shared, counts = shared_prefix(replacement, tokens)
    after, rewritten = sum(counts), sum(counts[shared:])
    later = sum(map(_is_paid, in_effect(replacement)))
    long, short = (_price(prices, model, event, prompt) for prompt in (before, after))
    summary, is_estimate = _summary(replacement, tokens, prices)
    rewrite = saved = net = None
    if event.kind == "branch_summary":
        net = None if summary is None else 0.0 - summary
    elif long and short:
        has_cache = records_cache(calls)
        read = long.cache_read if has_cache else long.input
        dearer = short.cache_write_5m - short.cache_read if has_cache and later else 0
        saved = later * (before - after) * read / MILLION
        rewrite = rewritten * dearer / MILLION
        net = None if summary is None else saved - summary - rewrite
    return Cost(
        model=str(model or "") or None,
        calls=later,
        summary=summary,
        is_estimate=is_estimate,
        rewrite=rewrite,
        saved=saved,
        net=net,
    )


def _is_paid(entry: Event) -> bool:
    return entry.role == "assistant" and _PAID.get(entry.digest, lambda: _has_usage(entry))


_PAID: Final = Memo[bool]()


def _has_usage(entry: Event) -> bool:
    view = view_of_event(entry)
    return view is not None and paid(view) is not None


def _summary(replacement: Replacement, tokens: Counter, prices: Prices) -> tuple[float | None, bool]:
    """What asking for the summary cost, and whether that is an estimate. A rewrite asks nobody."""
    event, in_use = replacement.event, replacement.after.settings.model
    requests = asked(event)
    if event.kind == "rewrite" or (requests and all(each.is_free for each in requests)):
        return 0.0, False
    used = [(each.model, each.usage) for each in requests if each.usage is not None]
    if not used:
        model = requests[-1].model if requests else None
        return _request_cost(_estimated(replacement, tokens), model or in_use, event, prices), True
    costs = [_request_cost(usage, model or in_use, event, prices) for model, usage in used]
    known = [each for each in costs if each is not None]
    return math.fsum(known) if len(known) == len(costs) else None, False


def _estimated(replacement: Replacement, tokens: Counter) -> Usage:
    """What a request for the summary uses by our own count: H was sent, and S came back."""
    summary = [replacement.summary] if replacement.summary else []
    return Usage(input=sum(tokens.count(replacement.removed)), output=sum(tokens.count(summary)))


def _request_cost(usage: Usage, model: Model | None, event: Event, prices: Prices) -> float | None:
    price = _price(prices, model, event, usage.prompt)
    return price.of(usage) if price else None


def _price(prices: Prices, model: Model | None, event: Event, prompt: int) -> Price | None:
    if model is None or not isinstance(model.model_id, str):
        return None
    provider = model.provider if isinstance(model.provider, str) else ""
    return prices.price(model.model_id, provider=provider, time=event.time, prompt=prompt)
