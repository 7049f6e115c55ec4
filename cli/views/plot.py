"""Plot a series of numbers as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_BLOCKS: Final = " ▁▂▃▄▅▆▇█"


def plot(values: Sequence[int], *, marks: Sequence[int] = (), width: int = 80, height: int = 10) -> list[str]:
    """Plot a series as lines of text, largest value on top; `marks` are indexes to mark below.

    Each column covers an equal share of the series and shows its largest value.
    """
    if not values:
        return []
    label = len(f"{max(values):,}")
    columns = max(min(width - label - 2, len(values)), 1)
    shares = [
        values[len(values) * at // columns : max(len(values) * (at + 1) // columns, 1)]
        for at in range(columns)
    ]
    tops = [max(share) if share else 0 for share in shares]
    highest = max(*tops, 1)
    lines = []
    for row in range(height, 0, -1):
        eighths = (round(top / highest * height * 8) - (row - 1) * 8 for top in tops)
        text = "".join(_BLOCKS[min(max(each, 0), 8)] for each in eighths)
        scale = f"{highest * row // height:,}" if row in (height, height // 2) else ""
        lines.append(f"{scale:>{label}} │{text}".rstrip())
    lines.append(f"{'0':>{label}} └" + "─" * columns)
    if marks:
        at = {mark * columns // len(values) for mark in marks}
        lines.append(
            " " * (label + 2) + "".join("∑" if column in at else " " for column in range(columns)).rstrip()
        )
    return lines
