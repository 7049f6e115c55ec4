"""Lines that report an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from projections.extraction.error_forms import FORMS, HINTS

LONGEST: Final = 300
"""Characters of a report that are compared."""

_TIME: Final = (
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?[ \t]"
)
_COLOUR: Final = r"\x1b\[[\d;]*m"
_TAG: Final = r"\[(?!ERROR|FATAL)[A-Za-z][\w./-]{0,30}\][ ]"
_CROSS: Final = r"[\u2717\u2718\u00d7\u274c\u2a2f][ ]"
_LINE: Final = re.compile(
    rf"(?>(?:[ \t]|{_COLOUR}|{_TIME}|{_TAG}|{_CROSS})*)(?P<report>(?:{'|'.join(FORMS)})[^\n]*+)"
)
"""No number of a line and no sign of a diff before the report: those lines are of a file that was shown."""

_HINT: Final = re.compile(HINTS, re.MULTILINE)
_MARKUP: Final = re.compile(rf"{_COLOUR}|</?tool_use_error>")
_CODE: Final = (",", ";", "{", "(", "[", "=>")
_FEWEST: Final = 2


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """The lines of a text that report an error: where the report begins and ends, and what it says.

    Not the header of a traceback, which says nothing; not lines of a listing, of a diff, of code.
    """
    at = 0
    while hint := _HINT.search(text, at):
        begin = text.rfind("\n", at, hint.start()) + 1 or at
        end = text.find("\n", hint.start())
        end = len(text) if end < 0 else end
        found = _LINE.match(text, begin, end)
        if found and (value := _said(found["report"])):
            yield found.start("report"), begin + len(text[begin:end].rstrip()), value
        at = end + 1


def _said(report: str) -> str:
    """What a report says, in one line; nothing where it is one word, or goes on like code."""
    words = _MARKUP.sub("", report).split()
    if len(words) < _FEWEST or words[-1].endswith(_CODE):
        return ""
    return " ".join(words)[:LONGEST].rstrip()
