"""Files and folders, as sessions write them."""

from __future__ import annotations

import re
from typing import Final

from projections.extraction.found import Found
from projections.extraction.path_shapes import has_extension, is_absolute, is_file_name, is_relative
from projections.extraction.path_words import EXTENSIONS, FOLDERS, HOMES, HOSTS, NAMES, ROOTS

_PART: Final = r"[\w.@+~%-]"
_SPACED: Final = r"[^\"'\n<>|*? ]{1,300}+ [^\"'\n<>|*?]{1,300}+"
_QUOTED: Final = rf"(?<=[\"'])(?:/(?:{'|'.join(sorted(HOMES))})/|~/|[A-Z]:\\){_SPACED}(?=[\"'])"
_WINDOWS: Final = rf"[A-Za-z]:[\\/]++{_PART}++(?>(?:[\\/]++{_PART}++)*)"
_BACKSLASHED: Final = rf"(?<![^\s\"'`(])\.{{1,2}}(?>(?:\\{_PART}++)+)"
_SLASHED: Final = rf"{_PART}*+(?>(?:/++{_PART}*+)+)"
# A call's bracket behind a dotted name makes a method of it; `a.ts(12,5)` is a place in a file.
_BARE: Final = r"@?+\.?+[\w+-]++(?>(?:\.[\w+-]++)+)(?!\((?!\d)|/)|\.[a-z][\w-]++"
_NAMED: Final = rf"(?:{'|'.join(sorted(NAMES))})(?![\w.-])"

PATTERN: Final = (
    rf"{_QUOTED}|(?<![\w.$@%+~</-])(?<!node:)"
    rf"(?:{_WINDOWS}|{_BACKSLASHED}|(?=[\w@+~%-]*+[./])(?:{_SLASHED}|{_BARE})|{_NAMED})"
)
"""Not within a word, not behind a variable (`$HOME/x`), not a closing tag, not of Node itself (`node:fs/promises`)."""

_AROUND: Final = "+-%,"
_BEHIND: Final = ".,-~+%@"
_ESCAPES: Final = ("n", "r", "t")
_QUOTES: Final = ("`", '"', "'")
_PLACEHOLDER: Final = ("{", "[", "<", "$", "*", "\u2026")
_HOST: Final = re.compile(rf"(?:[a-z0-9-]++\.)+(?:{'|'.join(sorted(HOSTS))})/|localhost/")
_CONTEXT: Final = re.compile(r"(?<=\.)([a-z]{1,5})-\d{1,6}(?:-.*)?$", re.IGNORECASE)
_DIFF: Final = re.compile(r"(?:^|\n|\\n)(?:diff --git |--- |\+\+\+ )(?:a/\S+ )?$")
_LOOKBACK: Final = 200


def find(text: str, start: int, stop: int) -> Found:
    """The path without what surrounds it; none in prose with a slash, in hosts, in members of objects."""
    whole = text[start:stop]
    if " " in whole:
        return (start, stop, whole) if has_extension(whole) and " -" not in whole else None
    if _is_part_of_more(text, start, stop):
        return start, stop, ""
    start += len(whole) - len(whole.lstrip(_AROUND)) + (text[start - 1 : start] == "\\")
    raw = _without_context(text[start:stop].rstrip(_BEHIND))
    stop = start + len(raw)
    if "/" in raw or "\\" in raw:
        return _with_folders(text, start, stop, raw)
    name = raw.removeprefix("@")
    return (stop - len(name), stop, name) if is_file_name(name) else None


def _is_part_of_more(text: str, start: int, stop: int) -> bool:
    r"""Whether this is a piece of something that names no one file: a pattern, an address without its scheme.

    Such are `src/*.ts`, `packages/[name]`, `./...`, `example.com/a.js`, and the end of `\\server\a.txt`;
    behind a single backslash only the `n` of a line break may stand.
    """
    whole, before, after = text[start:stop], text[start - 1 : start] if start else "", text[stop : stop + 1]
    if before == "\\" and text[start] not in _ESCAPES:
        return True
    is_emphasized = before == after == "*"
    is_glob = before == "*" and not is_emphasized and text[start - 2 : start] != "**"
    if "/" not in whole and "\\" not in whole:
        return is_glob and is_file_name(whole)
    is_open = after in _PLACEHOLDER and not is_emphasized
    return is_glob or is_open or "/..." in whole or _HOST.match(whole) is not None


def _without_context(raw: str) -> str:
    """A path without the number that `grep -C` puts behind it: `a.go-12-`."""
    found = _CONTEXT.search(raw)
    return raw[: found.end(1)] if found and found[1].lower() in EXTENSIONS else raw


def _with_folders(text: str, start: int, stop: int, raw: str) -> Found:
    before = text[start - 1 : start] if start else ""
    if raw.startswith(("a/", "b/")) and _DIFF.search(text[max(0, start - _LOOKBACK) : start]):
        start, raw, is_path = start + 2, raw[2:], True
    elif raw.startswith("@"):
        # `@src/a.ts` hands a file to an agent; `@scope/name` is a package.
        start, raw = start + 1, raw[1:]
        is_path = before not in _QUOTES and raw.partition("/")[0] in FOLDERS
    else:
        is_path = any(map(str.isalnum, raw)) and _is_path(text, start, stop, raw)
    return (start, stop, raw.removeprefix("./").rstrip("/\\")) if is_path else None


def _is_path(text: str, start: int, stop: int, raw: str) -> bool:
    if raw.startswith((".\\", "..\\")):
        return has_extension(raw)
    if raw.startswith(("./", "../", "~/")) or raw[1:2] == ":":
        return True
    parts = [part for part in raw.split("/") if part]
    if raw[0] == "/":
        before = text[start - 1 : start] if start else ""
        is_rest = before in (")", "]", "}", "*") or (before == ">" and parts[0] not in ROOTS)
        return raw[1] != "/" and not is_rest and is_absolute(parts)
    return is_relative(parts, text[max(0, start - _LOOKBACK) : start], text[stop - 2 : stop + 1])
