"""How long answers may be, in tokens. Shares of the reserve are rounded down; these are oh-my-pi's numbers."""

from __future__ import annotations

from typing import Final

MOST_OUTPUT: Final = 16_384
"""What the longest summary may have."""
_MOST_SHORT: Final = 512


def output_budget(reserve: int) -> int:
    """For a summary: 80 % of the reserve, at most 16,384."""
    return min(int(reserve * 0.8), MOST_OUTPUT)


def turn_prefix_budget(reserve: int) -> int:
    """For the beginning of a split turn: half of the reserve."""
    return int(reserve * 0.5)


def short_budget(reserve: int) -> int:
    """For the summary that is only shown: a fifth of the reserve, at most 512."""
    return min(_MOST_SHORT, int(reserve * 0.2))
