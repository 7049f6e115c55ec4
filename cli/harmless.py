"""A console that passes nothing of a session to the terminal as a command."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from cli.output import printable


class HarmlessConsole(Console):
    """rich's console; of what is printed, only rich's own styles become escape sequences."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Leave it to the command what becomes of a reader that has seen enough: rich would make it a failure."""
        raise BrokenPipeError
