"""A table that fits its terminal: what names things stays whole, prose gives way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Column

LEAST: Final = 12
"""Columns of a terminal that prose keeps in any case."""
_NAMES: Final = frozenset({"EVENT"})
"""Columns of names, wherever they stand."""
_GAP: Final = 2
_UNBOUNDED: Final = 100_000


class Listing(Table):
    """A table without lines. Columns of names, the first one and those of numbers stay whole.

    Where a terminal is too narrow, the column `shrinks` gives way, then the widest of the others, each down to
    `LEAST`: a text that may not be wrapped is cut there, any other goes on in the next line.
    """

    def __init__(self, names: Sequence[str], *, right: Sequence[str], shrinks: str) -> None:
        super().__init__(box=None, padding=(0, _GAP, 0, 0), header_style="bold", pad_edge=False)
        self._shrinks = shrinks
        for name in names:
            justify = "right" if name in right else "left"
            self.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [_width(column, console, options) for column in self.columns]
        room = options.max_width - _GAP * (len(widths) - 1)
        for place in self._giving_way(widths):
            widths[place] = max(widths[place] - max(sum(widths) - room, 0), min(LEAST, widths[place]))
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
        whole = sum(widths) + _GAP * (len(widths) - 1)
        yield from super().__rich_console__(console, options.update(max_width=max(whole, options.max_width)))

    def _giving_way(self, widths: Sequence[int]) -> list[int]:
        """The places of the columns that may be narrower than what stands in them, the first to give way first."""
        places = [
            place
            for place, column in enumerate(self.columns)
            if place and column.justify == "left" and column.header not in _NAMES
        ]
        return sorted(places, key=lambda place: (self.columns[place].header != self._shrinks, -widths[place]))


def _width(column: Column, console: Console, options: ConsoleOptions) -> int:
    cells = (column.header, *column.cells)
    return max(console.measure(cell, options=options.update(max_width=_UNBOUNDED)).maximum for cell in cells)
