"""Files and folders, as sessions write them."""

from __future__ import annotations

import re
from typing import Final

from projections.extraction.found import Found
from projections.extraction.path_words import (
    BRANDS,
    CONFIG_EXTENSIONS,
    DOTFILES,
    EXTENSIONS,
    FOLDERS,
    HOSTS,
    MEMBERS,
    NAMES,
    NO_FOLDERS,
    OWNERS,
    QUOTED_ROOTS,
    ROOTS,
    TOP_ROOTS,
    WEAK_FOLDERS,
)

_PART: Final = r"[\w.@+~%-]"
_QUOTED: Final = rf"(?<=[\"'])(?:/(?:{'|'.join(QUOTED_ROOTS)})/|~/|[A-Z]:\\)[^\"'\n<>|*? ]{{1,300}}+ [^\"'\n<>|*?]{{1,300}}+(?=[\"'])"
_WINDOWS: Final = rf"[A-Za-z]:[\\/]++{_PART}++(?:[\\/]++{_PART}++)*+"
_BACKSLASHED: Final = rf"(?<![^\s\"'`(])\.{{1,2}}(?:\\{_PART}++)++"
_SLASHED: Final = rf"{_PART}*+(?:/++{_PART}*+)++"
_BARE: Final = r"@?+\.?+[\w+-]++(?:\.[\w+-]++)++(?!\((?!\d)|/)|\.[a-z][\w-]++"
_NAMED: Final = rf"(?:{'|'.join(NAMES)})(?![\w.-])"

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
_CONTEXT: Final = re.compile(r"(?<=\.)([a-z]{1,5})-\d{1,6}(?:-.*)?$", re.IGNORECASE)
_EXTENSION: Final = re.compile(r"\w\.([A-Za-z][A-Za-z0-9]{0,9})$")
_HOST: Final = re.compile(rf"(?:[a-z0-9-]++\.)+(?:{'|'.join(HOSTS)})|localhost")
_DIFF: Final = re.compile(r"(?:^|\n|\\n)(?:diff --git |--- |\+\+\+ )(?:a/\S+ )?$")
_TREE: Final = re.compile(r"(?:^|\n)[ \t\u2502\u251c\u2514\u2500|*+-]*$")
_LOOKBACK: Final = 200
_FLAGS: Final = frozenset("gimsuydp")
_FEW: Final = 2


def find(text: str, start: int, stop: int) -> Found:
    """The path without what surrounds it; none in prose with a slash, hosts, members of objects.

    Patterns (`src/*.ts`, `packages/[name]`, `./...`) name no one file; nothing is looked for in them.
    """
    before, after, whole = text[start - 1 : start] if start else "", text[stop : stop + 1], text[start:stop]
    if " " in whole:
        return (start, stop, whole) if _has_extension(whole) and " -" not in whole else None
    is_slashed = "/" in whole or "\\" in whole
    is_emphasized = before == after == "*"
    is_glob = before == "*" and not is_emphasized and text[start - 2 : start] != "**"
    if "/..." in whole or (is_slashed and not is_emphasized and (is_glob or after in _PLACEHOLDER)):
        return start, stop, ""
    start += len(whole) - len(whole.lstrip(_AROUND))
    if before == "\\":
        if text[start : start + 1] not in _ESCAPES:
            return start, stop, ""
        start += 1
    raw = _without_context(text[start:stop].rstrip(_BEHIND))
    stop = start + len(raw)
    if not is_slashed:
        bare = raw.removeprefix("@")
        return (stop - len(bare), stop, "" if is_glob else bare) if _is_file_name(bare) else None
    if not any(map(str.isalnum, raw)):
        return None
    if raw.startswith(("a/", "b/")) and _DIFF.search(text[max(0, start - _LOOKBACK) : start]):
        return start + 2, stop, raw[2:]
    if raw.startswith((".\\", "..\\")):
        return (start, stop, raw) if _has_extension(raw) else None
    if raw[1:2] == ":" or raw.startswith(("./", "../", "~/")):
        return start, stop, raw.removeprefix("./").rstrip("/\\") or raw
    if raw.startswith("@"):
        # `@src/a.ts` hands a file to an agent; `@scope/name` is a package.
        is_file = before not in _QUOTES and raw[1:].partition("/")[0] in FOLDERS
        return (start + 1, stop, raw[1:].rstrip("/")) if is_file else None
    return _slashed(text, start, stop, raw)


def _without_context(raw: str) -> str:
    """A path without the number that `grep -C` puts behind it: `a.go-12-`."""
    found = _CONTEXT.search(raw)
    return raw[: found.end(1)] if found and found[1].lower() in EXTENSIONS else raw


def _is_file_name(raw: str) -> bool:
    if raw in DOTFILES or raw in NAMES:
        return True
    first, dot, extension = raw.rpartition(".")
    if not dot or not first or raw in BRANDS or not _is_extension(extension, first):
        return False
    if first[0] == ".":
        return first in DOTFILES or (extension in CONFIG_EXTENSIONS and "." not in first[1:])
    owner = first.partition(".")[0]
    return extension not in MEMBERS or not (len(owner) == 1 or owner in OWNERS)


def _is_extension(extension: str, stem: str) -> bool:
    return extension in EXTENSIONS or (stem.isupper() and extension.lower() in EXTENSIONS)


def _has_extension(raw: str) -> bool:
    found = _EXTENSION.search(raw)
    return found is not None and raw not in BRANDS and _is_extension(found[1], raw[: found.start() + 1])


def _slashed(text: str, start: int, stop: int, raw: str) -> Found:
    parts = [part for part in raw.split("/") if part]
    if raw.startswith("//"):
        return None
    if raw.startswith("/"):
        is_path = text[start - 1 : start] not in (")", "]", "}", "*") and _is_absolute(parts)
    elif _HOST.fullmatch(parts[0]):
        return start, stop, ""
    else:
        is_path = _is_relative(text, start, stop, parts)
    return (start, stop, raw.rstrip("/")) if is_path else None


def _is_absolute(parts: list[str]) -> bool:
    if len(parts) == 1:
        return parts[0] in TOP_ROOTS or _has_extension(parts[0])
    is_regex = len(parts) == _FEW and len(parts[1]) <= _FEW and _FLAGS.issuperset(parts[1])
    return not is_regex and (parts[0] in ROOTS or parts[0][0] == "." or _has_extension(parts[-1]))


def _is_relative(text: str, start: int, stop: int, parts: list[str]) -> bool:
    first, is_folder = parts[0], text[stop - 1] == "/" and text[stop - _FEW : stop] != "//"
    if first in NO_FOLDERS:
        return False
    if first in FOLDERS or (first[0] == "." and len(first) > 1) or _has_extension(parts[-1]):
        return True
    around = text[start - 1 : start] if start else "", text[stop : stop + 1]
    is_quoted = around[0] == around[1] and around[0] in _QUOTES
    if is_folder and not first[0].isdigit():
        is_listed = len(first) > _FEW and _TREE.search(text[max(0, start - _LOOKBACK) : start]) is not None
        return around[1] not in (">", "*") and (
            len(parts) > 1 or is_quoted or around == ("(", ")") or is_listed
        )
    return first in WEAK_FOLDERS and len(parts) > 1 and (is_quoted or len(parts) > _FEW)
