"""How deep a JSON value is nested that goes into a request."""

from __future__ import annotations

from typing import Final

from eventstore.javascript import is_deeper

DEEPEST: Final = 100
"""Levels that every reader of JSON takes. What one takes beyond depends on its stack, and so on its caller."""


def is_too_deep(raw: bytes) -> bool:
    """Whether lists and objects in a JSON value are nested deeper than `DEEPEST`."""
    return is_deeper(raw, DEEPEST)
