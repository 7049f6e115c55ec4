"""Split texts into sentences, and find the lines that are a person's own prose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from projections.person_text import outside_tags

_FENCE: Final = re.compile(r"\s*(`{3,}(?!.*`)|~{3,})")
_FENCES: Final = ("```", "~~~")
_BULLET: Final = re.compile(r"\s*(?:[-*•‣◦]|(?:\d{1,3}|[a-z])[.)])\s+(?:\[[ xX]\]\s+)?")
_INDENTED: Final = re.compile(r"\s{2,}")
_END: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"')\]*_’”»]*+(?=\s|$)|[。！？]++")  # noqa: RUF001  ends of sentences
_CODE: Final = re.compile(r"`[^`\n]*`")
_WRAPPED: Final = range(60, 131)
"""Lengths of a line that was probably wrapped, so that its sentence continues on the next."""

_NO_END: Final = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|approx|resp|incl|viz|mr|mrs|ms|dr|[a-z])\.$", re.IGNORECASE
)
_SOMETIMES_END: Final = re.compile(r"\b(?:etc|al)\.$", re.IGNORECASE)
_LONGEST_ABBREVIATION: Final = 8
_LONGEST_ASIDE: Final = 200
"""Characters within which an opened bracket is searched for."""

_NOT_PROSE: Final = re.compile(
    r"""\s*(?:
    \#{1,6}\s | \|                                         # headings, tables
    | \*\*(?!.*\b(?:not|never|no|don't|must|always|only)\b)[^.!?*]*\*\*:?\s*$
    | > | <[/!a-zA-Z]                                      # quotations, markup
    | [$➜\u276f%]\s | >>>\s | \#!                               # prompts
    | \+\s*\d*\s | @@ | -{3} | \+{3} | diff\s--git          # patches
    | \[[^\]]*\]\s*$ | \[[\w-]+[:.][\w:.-]*\]               # marks of harnesses, sources of log lines
    | [{}()\[]\s*$ | \{["\s] | [─-╿⠀-⣿│▀-▟✔✗✓✖↑↓]           # JSON, drawings of terminals
    | at\s\S.*:\d+\)?\s*$ | File\s"                        # stack traces
    | (?:(?:fatal|uncaught|internal|syntax|build|npm)\s)*\w*(?:error|exception|warning)\b[^.!?]{0,40}:\s
    | Traceback\b | npm\sERR | (?-i:ERROR|WARN|WARNING|INFO|DEBUG|FATAL)\b
    | \d{4}-\d\d-\d\d[T\s] | \d\d:\d\d:\d\d
    | (?:const|let|var|def|function|func|class)\s\w+\s?[=({:<]
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_CODE_END: Final = re.compile(r"(?:[{}]|=>|[\w`)\]}\"'][)\]\"'}];)$")
_LONGEST_CODE_END: Final = 3


def unfenced(text: str) -> Iterator[str]:
    """Yield the lines of a text, "" for fenced code; an unclosed fence extends to the end."""
    if not any(map(text.__contains__, _FENCES)):
        yield from map(str.rstrip, text.split("\n"))
        return
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            yield ""
        elif mark:
            fence = mark[1]
            yield ""
        else:
            yield line.rstrip()


def prose_lines(text: str) -> list[str]:
    """Return the lines of a user's message, "" for those that are not the user's own prose.

    Not prose are fenced code, headings, tables, quotations, text that a harness inserted between tags, and
    lines that look like code, patches, logs, stack traces or terminal drawings.
    """
    lines = unfenced(outside_tags(text))
    return ["" if _NOT_PROSE.match(line) or _ends_like_code(line) else line for line in lines]


def _ends_like_code(line: str) -> bool:
    """Return True if a line without trailing white space ends like a line of code."""
    return _CODE_END.search(line, max(0, len(line) - _LONGEST_CODE_END)) is not None


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Return the sentences in lines of text, with white space collapsed and list marks removed.

    Each list item begins a sentence. A line continues on the next if it is long enough to have been wrapped,
    or if the next is indented as part of a list item.
    """
    for paragraph in _paragraphs(lines):
        yield from _split(paragraph)


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    parts: list[str] = []
    goes_on, is_item = False, False
    for line in lines:
        bullet = _BULLET.match(line)
        if parts and (bullet or not line or not (goes_on or (is_item and _INDENTED.match(line)))):
            yield " ".join(parts)
            parts = []
        if not parts:
            is_item = bullet is not None
        content = " ".join(line[bullet.end() if bullet else 0 :].split())
        if content:
            parts.append(content)
        goes_on = len(line) in _WRAPPED and not line.endswith(":")
    if parts:
        yield " ".join(parts)


def _split(paragraph: str) -> Iterator[str]:
    """Split a paragraph into sentences, ignoring ends within code spans and after abbreviations."""
    # Keep the length, so that positions stay the same.
    plain = _CODE.sub(lambda code: "x" * len(code[0]), paragraph)
    start = 0
    for end in _END.finditer(plain):
        if _ends(plain, start, end):
            yield paragraph[start : end.end()].strip()
            start = end.end()
    if rest := paragraph[start:].strip():
        yield rest


def _ends(plain: str, start: int, end: re.Match[str]) -> bool:
    aside = plain[max(start, end.end() - _LONGEST_ASIDE) : end.end()]
    before = aside[-_LONGEST_ABBREVIATION:]
    if _NO_END.search(before) or aside.count("(") > aside.count(")"):
        return False
    return not (_SOMETIMES_END.search(before) and plain[end.end() : end.end() + 2].strip().islower())
