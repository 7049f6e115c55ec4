"""Quantities: a number with its unit."""

from __future__ import annotations

import re
from typing import Final

from projections.extraction.found import Found
from projections.extraction.words import words

UNITS: Final = {
    "B": "B byte bytes",
    "KB": "KB kB kb",
    "MB": "MB mb",
    "GB": "GB gb",
    "TB": "TB",
    "KiB": "KiB",
    "MiB": "MiB",
    "GiB": "GiB",
    "TiB": "TiB",
    "ns": "ns nanosecond nanoseconds",
    "µs": "µs μs us microsecond microseconds",
    "ms": "ms msec millisecond milliseconds",
    "s": "s sec secs second seconds",
    "min": "m min mins minute minutes",
    "h": "h hr hrs hour hours",
    "d": "d day days",
    "weeks": "week weeks",
    "months": "month months",
    "years": "year years",
    "%": "% percent",
    "tokens": "token tokens tok",
    "lines": "line lines LOC",
    "files": "file files",
    "characters": "character characters char chars",
    "words": "word words",
    "tests": "test tests",
    "commits": "commit commits",
    "messages": "message messages",
    "insertions": "insertion insertions",
    "deletions": "deletion deletions",
    "px": "px pixel pixels",
    "rem": "rem",
    "em": "em",
    "vh": "vh",
    "vw": "vw",
    "pt": "pt",
    "dpi": "dpi",
    "fps": "fps",
    "Hz": "Hz",
    "kHz": "kHz",
    "MHz": "MHz",
    "GHz": "GHz",
}
"""Each unit in the form that is compared, and how it is written."""

_CLOSE: Final = words("m h d % rem em vh vw pt")
"""Units that a number has right before them: `5 m`, `10 % 3` are something else."""

_CANONICAL: Final = {spelling: unit for unit, spellings in UNITS.items() for spelling in spellings.split()}
_SPELLINGS: Final = "|".join(sorted(map(re.escape, _CANONICAL), key=len, reverse=True))
_ONE: Final = r"(?:\d{1,3}(?>(?:,\d{3})+)|\d{1,15}+)(?>(?:\.\d{1,15}+)?)(?>(?:[kKM](?=[ +-]))?)"
_NUMBER: Final = rf"(?:{_ONE}(?>(?:[-\u2013]{_ONE})?)\+?+|\.\d{{1,4}}+)"
_HOURS: Final = r"\d{1,4}+h(?>(?:\d{1,2}+m)?)(?>(?:\d{1,2}+(?>(?:\.\d{1,9}+)?)s)?)"
_MINUTES: Final = r"\d{1,4}+m\d{1,2}+(?>(?:\.\d{1,9}+)?)s"

PATTERN: Final = (
    rf"(?<![\w.,:/#%\u2013-])(?:(?:{_HOURS}|{_MINUTES})(?!\w)|{_NUMBER}[ -]?(?:{_SPELLINGS})(?![\w-]))"
)
"""Not within a word, a version, a date, a time of day, a fraction, or what `printf` is told."""

_PARTS: Final = re.compile(rf"({_NUMBER})([ -]?)({_SPELLINGS})")
_ORDINAL: Final = re.compile(
    r"\b(?:case|chapter|item|level|line|node|option|page|part|phase|php|python|round|section|stage|step|task"
    r"|version) $",
    re.IGNORECASE,
)
"""What is numbered, not counted: `phase 2 tests`."""
_BEFORE: Final = 10
_LEAST_BYTES: Final = 3
"""Digits of a number right before `B`: `7B` is the size of a model."""


def find(text: str, start: int, stop: int) -> Found:
    """The quantity as number, blank and unit, without separators of thousands."""
    parts = _PARTS.fullmatch(text, start, stop)
    if parts is None:
        return start, stop, text[start:stop]
    number, between, unit = parts.groups()
    if between and (
        unit in _CLOSE or (between == " " and _ORDINAL.search(text, max(0, start - _BEFORE), start))
    ):
        return None
    if unit == "m" and text[start - 1 : start] in ("[", ";"):
        # `\x1b[0;31m` is a colour.
        return None
    if unit == "B" and not between and len(number) < _LEAST_BYTES:
        return None
    return start, stop, f"{number.replace(',', '')} {_CANONICAL[unit]}"
