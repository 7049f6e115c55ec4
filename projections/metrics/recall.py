"""Recall: what of the things that a replacement removed is still named in the context after it."""

from __future__ import annotations

from projections.metrics.shapes import Shape


class KindRecall(Shape, frozen=True):
    """Of the things of one kind in H and not in K (`total`), those named in C′ (`found`); `lost` are the others."""

    kind: str
    total: int
    found: int
    share: float | None
    lost: list[str]


class Recall(Shape, frozen=True):
    """Recall over all kinds, and of each."""

    total: int
    found: int
    share: float | None
    kinds: list[KindRecall]
