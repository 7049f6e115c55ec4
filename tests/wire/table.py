"""The part of docs/checks.md that says what each release sent, and how much of it refold's contexts equal."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple, Self

from tests.wire.compare import Counts
from tests.wire.install import RELEASES

PAGE: Final = Path(__file__).parents[2] / "docs" / "checks.md"
_KINDS: Final = "differ: ≠ other, + only built, \N{MINUS SIGN} only sent"
_HEAD: Final = (
    f"| program | release | run on | requests | compared | equal | {_KINDS} |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
)
_NO_READER: Final = "no reader yet"


class Row(NamedTuple):
    """A row of the table; `differences` counts the requests that have each kind, in words."""

    harness: str
    release: str
    date: str
    requests: int
    compared: int
    equal: int
    differences: str

    @classmethod
    def of(cls, harness: str, release: str, date: str, counts: Counts) -> Self:
        kinds = sorted(counts.differences.items(), key=lambda kind: (-kind[1], kind[0]))
        named = ", ".join(f"{name}{count}" for name, count in kinds)
        if not counts.compared:
            named = _NO_READER
        return cls(harness, release, date, counts.requests, counts.compared, counts.equal, named)

    def __str__(self) -> str:
        return f"| {' | '.join(map(str, self))} |".replace("|  |", "| |")


def rows() -> dict[tuple[str, str], Row]:
    """Return the rows of the page, by program and release."""
    found: dict[tuple[str, str], Row] = {}
    for line in _table(PAGE.read_text("utf-8"))[2].splitlines():
        harness, release, date, requests, compared, equal, named = re.split(r" *\| *", line[1:-1].strip(" "))
        counts = (int(requests), int(compared), int(equal))
        found[harness, release] = Row(harness, release, date, *counts, named)
    return found


def write(row: Row) -> None:
    """Put a row into the page, in the place of an older one; rows of other releases than `RELEASES` go."""
    before, head, _, after = _table(PAGE.read_text("utf-8"))
    kept = {**rows(), (row.harness, row.release): row}
    order = [(harness, version) for harness, versions in RELEASES.items() for version in versions]
    ordered = [kept[release] for release in order if release in kept]
    PAGE.write_text(before + head + "".join(f"{each}\n" for each in ordered) + after, "utf-8")


def _table(page: str) -> tuple[str, str, str, str]:
    """Split the page into what is above the table, its head, its rows, and what is below."""
    before, head, rest = page.partition(_HEAD)
    size = len("".join(takewhile(lambda line: line.startswith("|"), rest.splitlines(keepends=True))))
    return before, head, rest[:size], rest[size:]
