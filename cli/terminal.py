"""Make rich's console safe against control characters in sessions, and fit its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from cli.output import cut_line, printable

if TYPE_CHECKING:
    from rich.console import RenderResult
    from rich.table import Column


class SafeConsole(Console):
    """A rich console in which only rich's own styles become escape sequences."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Let the command handle a closed reader; rich would exit with a failure."""
        raise BrokenPipeError


MIN_COLUMN_WIDTH: Final = 12
"""The minimum width of a prose column."""
_OF_TIMES: Final = "(UTC)"
"""The end of a heading of times, which are never wrapped."""
_GAP: Final = 2
_UNBOUNDED: Final = 100_000


class FittedTable(Table):
    """A table without lines. The first column, numbers and times stay whole.

    If the terminal is too narrow, the column `shrinks` gives way first, then the widest of the others, each
    down to `MIN_COLUMN_WIDTH` or its longest word; cells are cut if they may not wrap, otherwise wrapped. If
    that is not enough, the columns of `drops` are left out one by one, and then words of `shrinks` are cut. Headings
    wrap at words unless all fit on one line.
    """

    def __init__(
        self, names: Sequence[str], *, right: Sequence[str], shrinks: str, drops: Sequence[str] = ()
    ) -> None:
        super().__init__(box=None, padding=(0, _GAP, 0, 0), header_style="bold", pad_edge=False)
        self._shrinks, self._drops = shrinks, drops
        self.headings: tuple[str, ...] = tuple(names)
        """The columns; once the table is printed, those that the terminal had room for."""
        for name in names:
            justify = "right" if name in right else "left"
            self.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = [(column, _measured(column, console, options)) for column in self.columns]
        for name in ("", *self._drops):
            columns = [(column, measured) for column, measured in columns if column.header != name]
            widths = self._fitted(columns, options.max_width)
            whole = sum(widths) + _GAP * (len(widths) - 1)
            if whole <= options.max_width:
                break
        else:
            for place in self._giving_way(columns):
                column, measured = columns[place]
                if column.header == self._shrinks:
                    columns[place] = replace(column, overflow="ellipsis"), measured
                    least = min(MIN_COLUMN_WIDTH, widths[place])
                    widths[place] = max(widths[place] - (whole - options.max_width), least)
            whole = sum(widths) + _GAP * (len(widths) - 1)
        self.headings = tuple(str(column.header) for column, _ in columns)
        headed = [
            max(width, cell_len(str(column.header)))
            for (column, _), width in zip(columns, widths, strict=True)
        ]
        if whole + sum(headed) - sum(widths) <= options.max_width:
            whole, widths = whole + sum(headed) - sum(widths), headed
        shown = copy(self)
        shown.columns = [
            replace(column, width=width, _index=place)
            for place, ((column, _), width) in enumerate(zip(columns, widths, strict=True))
        ]
        rendered = Table.__rich_console__(
            shown, console, options.update(max_width=max(whole, options.max_width))
        )
        yield from _without_trailing_spaces(rendered)

    def _fitted(self, columns: Sequence[tuple[Column, Measurement]], terminal: int) -> list[int]:
        """Return the widths of columns after those that can shrink have given way."""
        widths = [measured.maximum for _, measured in columns]
        room = terminal - _GAP * (len(widths) - 1)
        for place in self._giving_way(columns):
            least = min(max(MIN_COLUMN_WIDTH, columns[place][1].minimum), widths[place])
            widths[place] = max(widths[place] - max(sum(widths) - room, 0), least)
        return widths

    def _giving_way(self, columns: Sequence[tuple[Column, Measurement]]) -> list[int]:
        """Return the indexes of the columns that can shrink, in the order in which they give way."""
        places = [
            place
            for place, (column, _) in enumerate(columns)
            if place and column.justify == "left" and not str(column.header).endswith(_OF_TIMES)
        ]
        return sorted(
            places, key=lambda place: (columns[place][0].header != self._shrinks, -columns[place][1].maximum)
        )


class CutLine:
    """A cell of one line, cut to the width of its column but keeping the end of a path.

    A column of such cells is not narrower than `least`, unless all of them are.
    """

    def __init__(self, line: str, least: int = 1) -> None:
        self._line, self._least = line, least

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        width = cell_len(self._line)
        return Measurement(max(min(self._least, width), 1), width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(cut_line(self._line, options.max_width), no_wrap=True, overflow="ellipsis")


def _measured(column: Column, console: Console, options: ConsoleOptions) -> Measurement:
    """Return the width at which no word of a column is cut, and the width without wrapped cells.

    A heading may wrap: it needs no more than the width of its longest word.
    """
    unbounded = options.update(max_width=_UNBOUNDED)
    heading = console.measure(column.header, options=unbounded).minimum
    cells = [(cell, console.measure(cell, options=unbounded)) for cell in column.cells]
    least = (1 if isinstance(cell, Text) and cell.no_wrap else found.minimum for cell, found in cells)
    return Measurement(max([heading, *least]), max([heading, *(found.maximum for _, found in cells)]))


def _without_trailing_spaces(rendered: RenderResult) -> Iterator[Segment]:
    for line in Segment.split_lines(each for each in rendered if isinstance(each, Segment)):
        while line and not line[-1].text.strip(" "):
            line.pop()
        yield from line[:-1]
        if line:
            yield line[-1]._replace(text=line[-1].text.rstrip(" "))
        yield Segment.line()
