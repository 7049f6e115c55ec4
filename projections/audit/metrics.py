"""Measure a replacement: its size, what followed, and its cost.

To add a metric: write its struct and its function in a module of this package, add a line to `Metrics` and to
`measure`, and document it.
"""

from __future__ import annotations

from collections.abc import Sequence

from projections.audit.cache import CacheEffect, cache_effect
from projections.audit.calls import ModelCall
from projections.audit.cost import Cost, cost
from projections.audit.measure import MetricStruct, Size, size
from projections.audit.person_next import PersonNext, person_next
from projections.audit.prices import Prices
from projections.audit.rework import Rework, rework
from projections.replacement import Replacement
from projections.tokens import Counter


class Metrics(MetricStruct, frozen=True):
    """All metrics of one replacement."""

    size: Size
    rework: Rework
    next: PersonNext
    cache: CacheEffect
    cost: Cost


def measure(
    replacement: Replacement, *, tokens: Counter, prices: Prices, calls: Sequence[ModelCall]
) -> Metrics:
    """Return all metrics of a replacement; `calls` are the model calls on its path."""
    return Metrics(
        size=size(replacement, tokens),
        rework=rework(replacement, tokens),
        next=person_next(replacement),
        cache=cache_effect(replacement, tokens, calls),
        cost=cost(replacement, tokens, prices, calls),
    )
