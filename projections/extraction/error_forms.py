"""How errors are reported, one line each: by compilers, runtimes, shells, test runners and harnesses."""

from __future__ import annotations

from typing import Final

_FILE: Final = r"(?=[^\s:]*[./])[\w./@~+\\-]{1,300}+"
_NO_VALUE: Final = r"(?!(?:err|error|e|null|undefined|string|unknown|any|true|false)\b)"
_NUMBER: Final = r"[ ]-?[1-9]\d*[.]?[ \t]*$"
_REASON: Final = (
    r"(?:command not found|not found|No such file or directory|[Pp]ermission denied|Is a directory"
    r"|Not a directory|File exists|Operation not permitted)"
)

FORMS: Final = (
    # What was thrown: `TypeError: x is not a function`, `java.io.IOException: …`.
    r"(?>(?:Uncaught |Unhandled |Caused by: )?)[A-Za-z_][\w.]{0,100}+(?:(?<=Error)|(?<=Exception))(?: \[\w+\])?:[ \t]",
    r"thread '[^'\n]*' panicked at",
    # What was said; a member called `error` has a value or a type behind it.
    rf"(?:error|ERROR|fatal|FATAL|panic)(?:\[\w+\]| TS\d+)?:[ \t]++{_NO_VALUE}",
    r"(?>(?:PHP )?)(?:Fatal|Parse|Syntax|fatal) error:[ \t]",
    r"\[?(?:ERROR|FATAL)\]?[ \t]++\S",
    r"Error response from daemon:|Segmentation fault",
    # Where, then what: `a.ts(1,2): error TS2304: …`, `a.c:1:2: error: …`, `a.go:1:2: undefined: x`.
    rf"{_FILE}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):?[ -]++(?:fatal )?error\b",
    rf"{_FILE}:\d+:\d+: (?!warning|note|info|hint|debug)[^\W\d]",
    # Test runners.
    r"--- FAIL: |FAIL(?:ED)?[ \t]++[^\s/._:]*+[/._:]\S|E {3,}\S",
    # Package managers and builders.
    r"npm (?:ERR!|error) \S| ?ERR_PNPM\w+ |ELIFECYCLE |error Command failed|make(?:\[\d+\])?: \*\*\*",
    # Exits.
    rf"(?:Command|Process|Script) (?:exited|failed) with (?:exit )?(?:code|status){_NUMBER}",
    rf"[Ee]xit (?:code|status):?{_NUMBER}",
    # Shells, and programs with what the system told them.
    rf"[\w./-]+:(?:[^\n]*[ :])?{_REASON}(?: \(os error \d+\)|[.])?[ \t]*$",
    r"\(eval\):\d+: |zsh: |bash: line \d+: |Permission denied \(|curl: \(\d+\)",
    # Harnesses, of a tool of theirs.
    r"<tool_use_error>\S|(?:apply_patch|exec_command) [\w ]*failed\b",
    r"Request failed with status code \d|File not found: ",
)
"""Regular expressions for the beginning of a report, or for all of it."""

HINTS: Final = (
    r"rror|ERR|FATAL|FAIL|xception:|anic|atal:|xit |xited |ailed |ot found|o such|enied|a directory|xists"
    r"|ermitted|sh: |eval\):|url: \(|ake(?:\[|: )|egmentation|E   |:\d+:\d+: "
)
"""What every such line has in it: only lines with one of these are looked at.

Each begins with a character of its own, not with a set or a position: so the search is a fast one.
"""
