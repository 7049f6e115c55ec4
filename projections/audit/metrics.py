"""Measure a replacement: its size, what followed, and its cost.

To add a metric: write its struct and its function in a module of this package, add a line to `Metrics` and to
`measure`, and document it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from projections.audit.cache import CacheEffect, cache_effect
from projections.audit.calls import ModelCall
from projections.audit.cost import Cost, cost
from projections.audit.isolation import Isolation
from projections.audit.measure import MetricStruct, Size, size
from projections.audit.person_next import PersonNext, person_next
from projections.audit.prices import Prices
from projections.audit.rework import Rework, rework
from projections.replacement import Replacement
from projections.tokens import Counter


class Metrics(MetricStruct, frozen=True):
    """All metrics of one replacement; None for one that could not be computed.

    The size is the measure of all others, so that without it there is no replacement to show.
    """

    size: Size
    rework: Rework | None
    next: PersonNext | None
    cache: CacheEffect | None
    cost: Cost | None


def measure(
    replacement: Replacement,
    *,
    sent: Replacement,
    tokens: Counter,
    prices: Prices,
    calls: Sequence[ModelCall],
    reckoned: int,
    isolation: Isolation,
) -> Metrics:
    """Return all metrics of a replacement.

    `sent` is the replacement in what was sent; in `replacement`, messages stand for a history that only its provider
    can read. `calls` are the model calls on its path; `reckoned` are the tokens that were restored without a record.
    """
    compute = partial(isolation.compute, event=replacement.event)
    return Metrics(
        size=size(sent, tokens, reckoned),
        rework=compute("done again", lambda: rework(replacement, tokens)),
        next=compute("said next", lambda: person_next(replacement)),
        cache=compute("prompt cache", lambda: cache_effect(sent, tokens, calls)),
        cost=compute("cost", lambda: cost(sent, tokens, prices, calls)),
    )
