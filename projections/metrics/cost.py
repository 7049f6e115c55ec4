"""What a replacement cost, and what it saved in the rest of the session."""

from __future__ import annotations

from collections.abc import Sequence

from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.formats.pi_entry import tolerant_json, usage_view
from eventstore.views import Usage
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

    `calls` are the requests of the path that it lies on. Where none of them records a cache, all that is
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
    if long and short:
        has_cache = records_cache(calls)
        read = long.cache_read if has_cache else long.input
        dearer = short.cache_write_5m - short.cache_read if has_cache and later else 0
        saved = later * (before - after) * read / MILLION
        rewrite = rewritten * dearer / MILLION
        net = None if summary is None else saved - summary - rewrite
    return Cost(
        model=str(model) if model else None,
        calls=later,
        summary=summary,
        is_estimate=is_estimate,
        rewrite=rewrite,
        saved=saved,
        net=net,
    )


def _is_paid(entry: Event) -> bool:
    view = view_of_event(entry) if entry.role == "assistant" else None
    return view is not None and paid(view) is not None


def _summary(replacement: Replacement, tokens: Counter, prices: Prices) -> tuple[float | None, bool]:
    """What the request for a summary cost, and whether that is an estimate.

    A record of refold's holds its `request`: the `usage`, with `input`, `output`, `cacheRead` and `cacheWrite`,
    and the `provider` and `model` that were asked. Without one, the removed messages were sent to the model
    in use, and the summary came back. A rewrite asks no model.
    """
    event, model = replacement.event, replacement.after.settings.model
    if event.kind == "rewrite":
        return 0.0, False
    usage, asked = _recorded_request(event)
    if usage is None:
        summary = [replacement.summary] if replacement.summary else []
        usage = Usage(input=sum(tokens.count(replacement.removed)), output=sum(tokens.count(summary)))
        price = _price(prices, model, event, usage.prompt)
        return price.of(usage) if price else None, True
    price = _price(prices, asked or model, event, usage.prompt)
    return price.of(usage) if price else None, False


def _recorded_request(event: Event) -> tuple[Usage | None, Model | None]:
    request = tolerant_json(event.body).get("request")
    if not isinstance(request, dict):
        return None, None
    usage = usage_view(request.get("usage"))
    asked = Model(provider=request.get("provider"), model_id=request["model"]) if "model" in request else None
    return usage if usage and usage.total else None, asked


def _price(prices: Prices, model: Model | None, event: Event, prompt: int) -> Price | None:
    if model is None or not isinstance(model.model_id, str):
        return None
    provider = model.provider if isinstance(model.provider, str) else ""
    return prices.price(model.model_id, provider=provider, time=event.time, prompt=prompt)
