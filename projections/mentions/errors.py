"""Find lines that report an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_FILE: Final = r"(?=[^\s:]*[./])[\w./@~+\\-]{1,300}+"
_NO_VALUE: Final = r"(?!(?:err|error|e|null|undefined|string|unknown|any|true|false)\b)"
_NUMBER: Final = r"[ ]-?[1-9]\d*[.]?[ \t]*$"
_REASON: Final = (
    r"(?:command not found|not found|No such file or directory|[Pp]ermission denied|Is a directory"
    r"|Not a directory|File exists|Operation not permitted)"
)

FORMS: Final = (
    # Exceptions: `TypeError: x is not a function`, `java.io.IOException: …`.
    r"(?>(?:Uncaught |Unhandled |Caused by: )?)[A-Za-z_][\w.]{0,100}+(?:(?<=Error)|(?<=Exception))(?: \[\w+\])?:[ \t]",
    r"thread '[^'\n]*' panicked at",
    # Messages; a member called `error` is followed by a value or a type.
    rf"(?:error|ERROR|fatal|FATAL|panic)(?:\[\w+\]| TS\d+)?:[ \t]++{_NO_VALUE}",
    r"(?>(?:PHP )?)(?:Fatal|Parse|Syntax|fatal) error:[ \t]",
    r"\[?(?:ERROR|FATAL)\]?[ \t]++\S",
    r"Error response from daemon:|Segmentation fault",
    # Locations: `a.ts(1,2): error TS2304: …`, `a.c:1:2: error: …`, `a.go:1:2: undefined: x`.
    rf"{_FILE}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):?[ -]++(?:fatal )?error\b",
    rf"{_FILE}:\d+:\d+: (?!warning|note|info|hint|debug)[^\W\d]",
    # Test runners.
    r"--- FAIL: |FAIL(?:ED)?[ \t]++[^\s/._:]*+[/._:]\S|E {3,}\S",
    # Package managers and builders.
    r"npm (?:ERR!|error) \S| ?ERR_PNPM\w+ |ELIFECYCLE |error Command failed|make(?:\[\d+\])?: \*\*\*",
    # Exits.
    rf"(?:Command|Process|Script) (?:exited|failed) with (?:exit )?(?:code|status){_NUMBER}",
    rf"[Ee]xit (?:code|status):?{_NUMBER}",
    # Shells, and system errors reported by programs.
    rf"[\w./-]+:(?:[^\n]*[ :])?{_REASON}(?: \(os error \d+\)|[.])?[ \t]*$",
    r"\(eval\):\d+: |zsh: |bash: line \d+: |Permission denied \(|curl: \(\d+\)",
    # Harnesses, about one of their tools.
    r"<tool_use_error>\S|(?:apply_patch|exec_command) [\w ]*failed\b",
    r"Request failed with status code \d|File not found: ",
)
"""Regular expressions for the beginning of an error report, or all of it."""

HINTS: Final = (
    r"rror|ERR|FATAL|FAIL|xception:|anic|atal:|xit |xited |ailed |ot found|o such|enied|a directory|xists"
    r"|ermitted|sh: |eval\):|url: \(|ake(?:\[|: )|egmentation|E   |:\d+:\d+: "
)
"""Substrings of which every error line contains at least one; other lines are skipped.

Each starts with a literal character, not with a set or an anchor, to keep the search fast.
"""


LONGEST: Final = 300
"""Characters of a report to compare."""

_TIME: Final = (
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?[ \t]"
)
_COLOUR: Final = r"\x1b\[[\d;]*m"
_TAG: Final = r"\[(?!ERROR|FATAL)[A-Za-z][\w./-]{0,30}\][ ]"
_CROSS: Final = r"[\u2717\u2718\u00d7\u274c\u2a2f][ ]"
_LINE: Final = re.compile(
    rf"(?>(?:[ \t]|{_COLOUR}|{_TIME}|{_TAG}|{_CROSS})*)(?P<report>(?:{'|'.join(FORMS)})[^\n]*+)"
)
"""No line number and no diff sign before the report: such lines come from a displayed file."""

_HINT: Final = re.compile(HINTS, re.MULTILINE)
_MARKUP: Final = re.compile(rf"{_COLOUR}|</?tool_use_error>")
_CODE: Final = (",", ";", "{", "(", "[", "=>")
_FEWEST: Final = 2


def find_errors(text: str) -> Iterator[tuple[int, int, str]]:
    """Return the lines of a text that report an error: start, end and the report itself.

    Skips traceback headers, which say nothing, and lines of listings, diffs and code.
    """
    at = 0
    while hint := _HINT.search(text, at):
        begin = text.rfind("\n", at, hint.start()) + 1 or at
        end = text.find("\n", hint.start())
        end = len(text) if end < 0 else end
        found = _LINE.match(text, begin, end)
        if found and (value := _report_text(found["report"])):
            yield found.start("report"), begin + len(text[begin:end].rstrip()), value
        at = end + 1


def _report_text(report: str) -> str:
    """Return the text of a report on one line; "" if it is one word, or continues like code."""
    words = _MARKUP.sub("", report).split()
    if len(words) < _FEWEST or words[-1].endswith(_CODE):
        return ""
    return " ".join(words)[:LONGEST].rstrip()
