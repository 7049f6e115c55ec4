"""What a replacement cost, and what it saved in the rest of the session."""

from __future__ import annotations

from projections.metrics.shapes import Shape


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
