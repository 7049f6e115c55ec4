"""How the list of things that successive summaries name grows."""

from __future__ import annotations

from projections.metrics.shapes import Shape


class Growth(Shape, frozen=True):
    """Distinct paths, symbols, identifiers and addresses that a summary names.

    Of the `total`, `carried` stood in the summary before, `fresh` did not; `left_out` are those of the
    summary before that it no longer names.
    """

    total: int
    carried: int
    fresh: int
    left_out: int
