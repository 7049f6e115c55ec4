"""Lines that report an error, as compilers, runtimes, shells, test runners and harnesses write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 300
"""Characters of a report that are compared."""

_FILE: Final = r"[\w./@~+\\-]{1,300}+"
_FORMS: Final = (
    # What was thrown: `TypeError: x is not a function`, `java.io.IOException: …`.
    r"(?:(?:Uncaught|Unhandled|Caused by:) )?+[A-Za-z_][\w.]{0,100}+(?:(?<=Error)|(?<=Exception))(?:\s\[\w+\])?:[ \t]",
    # What was said; a member called `error` has a value or a type behind it.
    r"(?:error|ERROR|fatal|FATAL|panic)(?:\[\w+\]|[ ]TS\d+)?:[ \t]++(?!(?:err|error|e|null|undefined|string|unknown|any|true|false)\b)",
    r"(?:PHP )?+(?:Fatal|Parse|Syntax|fatal) error:[ \t]",
    r"(?:ERROR|FATAL)[ \t]++\S",
    # Where, then what: `a.ts(1,2): error TS2304: …`, `a.c:1:2: error: …`, `a.go:1:2: undefined: x`.
    rf"{_FILE}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))[:]?[ -]++(?:fatal[ ])?error\b",
    rf"(?=[^\s:]*[./]){_FILE}:\d+:\d+:[ ](?!warning|note|info|hint|debug)[^\W\d]",
    # Test runners and package managers.
    r"---[ ]FAIL:[ ]|FAIL(?:ED)?[ \t]++[^\s/._:]*+[/._:]\S|E[ ]{2,}\S",
    r"npm[ ](?:ERR!|error)[ ]\S|[ ]?ERR_PNPM\w+[ ]|ELIFECYCLE[ ]",
    r"make(?:\[\d+\])?:[ ]\*\*\*",
    # Exits.
    r"(?:(?:Command|Process|Script)[ ](?:exited|failed)[ ]with[ ](?:exit[ ])?(?:code|status)|[Ee]xit[ ](?:code|status):?)"
    r"[ ]-?[1-9]\d*[.]?[ \t]*$",
    # Shells and system calls.
    r"[\w./-]+:(?:[^\n]*[ :])?(?:command[ ]not[ ]found|not[ ]found|No[ ]such[ ]file[ ]or[ ]directory|[Pp]ermission[ ]denied"
    r"|Is[ ]a[ ]directory|Not[ ]a[ ]directory|File[ ]exists|Operation[ ]not[ ]permitted)(?:[ ]\(os[ ]error[ ]\d+\)|[.])?[ \t]*$",
    r"\(eval\):\d+:[ ]|zsh:[ ]|bash:[ ]line[ ]\d+:[ ]|Permission[ ]denied[ ]\(",
    r"curl:[ ]\(\d+\)|thread[ ]'[^'\n]*'[ ]panicked[ ]at|Segmentation[ ]fault",
    # Harnesses about a tool of theirs.
    r"<tool_use_error>\S|Request[ ]failed[ ]with[ ]status[ ]code[ ]\d|(?:apply_patch|exec_command)[ ][\w ]*failed\b|File[ ]not[ ]found:[ ]",
)
_TIME: Final = r"\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?"
_COLOUR: Final = r"\x1b\[[\d;]*m"
_PREFIX: Final = rf"(?:[ \t]|{_COLOUR}|{_TIME}[ \t]|\[[A-Za-z][\w./-]{{0,30}}\][ ]|[\u2717\u2718\u00d7\u274c\u2a2f][ ])*+"
_LINE: Final = re.compile(rf"{_PREFIX}(?P<report>(?:{'|'.join(_FORMS)})[^\n]*+)")
_HINT: Final = re.compile(
    r"rror|ption[: ]|atal|anic|FAIL|FATAL|^E  |ERR|xit |with (?:code|status)|ot found|o such|enied|failed|xists$|\): |directory$"
    r"|permitted|^zsh|^bash|curl: |make|Segm|:\d+: ",
    re.MULTILINE,
)
_CLOSING: Final = re.compile(rf"{_COLOUR}|</?tool_use_error>")
_CODE: Final = (",", ";", "{", "(", "[", "=>")


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
    words = _CLOSING.sub("", report).split()
    if len(words) < 2 or words[-1].endswith(_CODE):  # noqa: PLR2004  a report says what and of what
        return ""
    return " ".join(words)[:LONGEST].rstrip()
