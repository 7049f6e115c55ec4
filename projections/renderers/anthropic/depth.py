"""How deep a JSON value is nested."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final

DEEPEST: Final = 100
"""Levels that every reader of JSON takes. What one takes beyond depends on its stack, and so on its caller."""
_OPENED: Final = (b"[", b"{")
_STRING_OR_BRACKET: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


def is_too_deep(raw: bytes) -> bool:
    """Whether lists and objects in a JSON value are nested deeper than `DEEPEST`."""
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return False
    brackets = (found[0] for found in _STRING_OR_BRACKET.finditer(raw) if not found[0].startswith(b'"'))
    return any(depth > DEEPEST for depth in accumulate(1 if each in _OPENED else -1 for each in brackets))
