"""The scenes of `refold report`."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from tests.cli.golden import File, Scene
from tests.cli.golden.steps import help_of, the_demo, the_tale
from tests.cli.running import Refold


class _Words(HTMLParser):
    """Collect a page's text, a line for each block, with `title` and `aria-label` values."""

    _IN_LINE = ("a", "span", "mark", "code", "strong", "em", "b", "small", "title", "td", "th", "dd")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines = [""]
        self._silent = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent = tag in ("style", "script")
        if tag not in self._IN_LINE:
            self.lines.append("")
        self.lines[-1] += "".join(f" [{value}]" for name, value in attrs if name in ("title", "aria-label"))

    def handle_endtag(self, tag: str) -> None:
        self._silent = False
        if tag not in self._IN_LINE:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.lines[-1] += f" {' '.join(data.split())}"


def the_words_of_the_page(refold: Refold) -> str:
    del refold
    said = (" ".join(line.split()) for line in _Words(Path("page.html").read_text("utf-8")).lines)
    return "\n".join(line for line in said if line)


def the_overview_of_the_page(refold: Refold) -> str:
    """Up to the replacements, each of which is long."""
    return the_words_of_the_page(refold).partition("\nTurns one by one")[0]


SCENES: Final[Sequence[Scene]] = [
    help_of("report"),
    Scene(
        the_tale,
        [
            "report @last",
            "report @last -o page.html",
            the_words_of_the_page,
            File("notes.html", "<p>mine</p>"),
            "report @last -o notes.html",
            "report @last -o gone/page.html",
            "report @last -o .",
            "report nope",
        ],
    ),
    Scene(the_demo, ["report @last -o page.html", the_overview_of_the_page]),
]
