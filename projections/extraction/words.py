"""Lists of words, written as text so that they can be read."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(text.split())
