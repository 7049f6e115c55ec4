"""Files and folders, as sessions write them."""

from __future__ import annotations

import re
from typing import Final

from projections.extraction.found import Found
from projections.extraction.path_words import (
    BRANDS,
    DOTFILES,
    EXTENSIONS,
    FOLDERS,
    HOSTS,
    MEMBERS,
    NAMES,
    OWNERS,
    ROOTS,
    TOP_ROOTS,
    WEAK_FOLDERS,
)

_PART: Final = r"[\w.@+~%-]"
_WINDOWS: Final = rf"[A-Za-z]:[\\/]++{_PART}++(?:[\\/]++{_PART}++)*+"
_BACKSLASHED: Final = rf"\.{{1,2}}(?:\\{_PART}++)++"
_SLASHED: Final = rf"{_PART}*+(?:/++{_PART}*+)++"
_BARE: Final = r"@?+\.?+[\w+-]++(?:\.[\w+-]++)++(?!\((?!\d)|/)|\.[a-z][\w-]++"
_NAMED: Final = rf"(?:{'|'.join(NAMES)})(?![\w.-])"

PATTERN: Final = rf"(?<![\w$@<-])(?:{_WINDOWS}|{_BACKSLASHED}|(?=[\w@+~%-]*+[./])(?:{_SLASHED}|{_BARE})|{_NAMED})"
"""Not within a word, not behind a variable's `$`, not a closing tag."""

_EXTENSION: Final = re.compile(r"\w\.([A-Za-z][A-Za-z0-9]{0,9})$")
_HOST: Final = re.compile(rf"(?:[a-z0-9-]++\.)+(?:{'|'.join(HOSTS)})|localhost")
_VERSION: Final = re.compile(r"v?\d+(?:\.\d+)*")
_DIFF: Final = re.compile(r"(?:diff --git |--- |\+\+\+ )(?:a/\S+ )?$")
_FLAGS: Final = frozenset("gimsuydp")
_LINE_BEFORE: Final = 300
_PLACEHOLDER: Final = "{[<$*\u2026"


def find(text: str, start: int, stop: int) -> Found:
    """The path without punctuation around it; none in prose with a slash, hosts, members of objects, patterns."""
    after = text[stop : stop + 1]
    while stop > start and text[stop - 1] in ".,-~+%@":
        stop -= 1
    while start < stop and text[start] in "+-%":
        start += 1
    if text[start - 1 : start] == "\\" and text[start : start + 1] in tuple("nrt"):
        # `\n` of a text in a text.
        start += 1
    raw = text[start:stop]
    if "/" not in raw and "\\" not in raw:
        bare = raw.removeprefix("@")
        return (stop - len(bare), stop, bare) if _is_file_name(bare) else None
    if not any(map(str.isalnum, raw)):
        return None
    if after and after in _PLACEHOLDER and not (after == "*" and text[start - 1 : start] == "*"):
        return start, stop, ""
    if raw.startswith(("a/", "b/")) and _DIFF.fullmatch(text, *_line_before(text, start)):
        start, raw = start + 2, raw[2:]
        return start, stop, raw
    return _slashed(text, start, stop, raw)


def _line_before(text: str, at: int) -> tuple[int, int]:
    return text.rfind("\n", max(0, at - _LINE_BEFORE), at) + 1, at


def _is_file_name(raw: str) -> bool:
    if raw in DOTFILES or raw in NAMES:
        return True
    first, dot, extension = raw.rpartition(".")
    if not dot or not first or raw in BRANDS or not _is_extension(extension, first):
        return False
    if first[0] == ".":
        return len(first) > len(".d") and first in DOTFILES or extension in ("json", "yml", "yaml", "toml", "cjs")
    return extension not in MEMBERS or not (len(first) == 1 or first.partition(".")[0] in OWNERS)


def _is_extension(extension: str, stem: str) -> bool:
    return extension in EXTENSIONS or (stem.isupper() and extension.lower() in EXTENSIONS)


def _slashed(text: str, start: int, stop: int, raw: str) -> Found:
    if raw.startswith("//") or "..." in raw:
        return None
    if raw[1:2] == ":" or raw.startswith(("./", "../", "~/", ".\\", "..\\")):
        return start, stop, raw.removeprefix("./").rstrip("/\\") or raw
    if raw.startswith("@"):
        return _attached(text, start, stop, raw)
    parts = [part for part in raw.split("/") if part]
    if not raw.startswith("/") and _HOST.fullmatch(parts[0]):
        return start, stop, ""
    is_path = _is_rooted(parts, text[start - 1 : start]) if raw.startswith("/") else _is_relative(text, start, stop, parts)
    return (start, stop, raw.rstrip("/")) if is_path else None


def _attached(text: str, start: int, stop: int, raw: str) -> Found:
    """`@src/a.ts` hands a file to an agent; `@scope/name` is a package."""
    parts = raw[1:].split("/")
    is_file = parts[0] in FOLDERS and _has_extension(raw)
    return (start + 1, stop, raw[1:].rstrip("/")) if is_file else None


def _is_rooted(parts: list[str], before: str) -> bool:
    if before and before in ")]}*":
        return False
    if len(parts) == 1:
        return parts[0] in TOP_ROOTS or _has_extension(parts[0])
    is_regex = len(parts) == 2 and len(parts[1]) <= 2 and set(parts[1]) <= _FLAGS  # noqa: PLR2004  /pattern/flags
    return not is_regex and (parts[0] in ROOTS or parts[0][0] == "." or _has_extension(parts[-1]))


def _is_relative(text: str, start: int, stop: int, parts: list[str]) -> bool:
    first = parts[0]
    if len(first) == 1 and first in "sym" and len(parts) > 1 and text[stop - 1] in "/g":
        return False
    if first in FOLDERS or (first[0] == "." and len(first) > 1) or _has_extension(parts[-1]):
        return True
    is_folder = text[stop - 1] == "/" and text[stop : stop + 1] not in (">", "*") and not _VERSION.fullmatch(first)
    if len(parts) == 1:
        return is_folder and len(first) > 2 and text[stop : stop + 1] in ("`", "\n", '"', "'", ")", "")  # noqa: PLR2004
    is_quoted = text[start - 1 : start] in ("`", '"', "'") and text[stop : stop + 1] in ("`", '"', "'")
    return is_folder or (first in WEAK_FOLDERS and (is_quoted or len(parts) > 2))  # noqa: PLR2004


def _has_extension(raw: str) -> bool:
    found = _EXTENSION.search(raw)
    return found is not None and raw not in BRANDS and _is_extension(found[1], raw[: found.start() + 1])
