"""Base of what metrics are made of."""

from __future__ import annotations

import msgspec


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A figure or several; JSON names are in camel case."""


class Share(Shape, frozen=True):
    """How many of `total` were `found`; `share` is found / total, None where there was nothing to find."""

    total: int
    found: int
    share: float | None


def share_of(found: int, total: int) -> Share:
    """A share, with its quotient."""
    return Share(total=total, found=found, share=found / total if total else None)
