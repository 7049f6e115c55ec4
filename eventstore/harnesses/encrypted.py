"""Estimate the size of content that only its provider can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ENVELOPE: Final = 650
"""Bytes around what an encrypted item holds."""


def tokens_of_encrypted(item: Mapping[str, Any]) -> int:
    """Return an estimate of the tokens that an item's encrypted content stands for."""
    content = item.get("encrypted_content")
    size = len(content) if isinstance(content, str) else 0
    return max(0, size * 3 // 4 - _ENVELOPE) // 4
