"""Names in code, told by their shape."""

from __future__ import annotations

import re
from typing import Final

from projections.extraction.found import Found
from projections.extraction.symbol_words import BRANDS, HOSTS, KEYWORDS, LITERALS, NO_LEFT, NO_RIGHT

_OPTION: Final = r"(?<![\w!-])--[A-Za-z][\w-]++"
_PACKAGE: Final = r"(?<![\w@])@[a-z][\w.-]*+/[a-z][\w.-]*+"
_LINK: Final = r"(?:::|\??\.)"
_NAME: Final = r"[A-Za-z_][\w$]*+"
_CHAIN: Final = rf"(?<![\w@]){_NAME}(?:{_LINK}\#?[A-Za-z_$][\w$]*+)*+(?:\(\)?|`)?+"

PATTERN: Final = rf"(?:{_OPTION}|{_PACKAGE}|{_CHAIN})"

_SHAPE: Final = re.compile(
    r"_*(?:"
    r"[a-zA-Z0-9$]+(?:_+[a-zA-Z0-9$]+)+_?"  # snake_case, SCREAMING_SNAKE
    r"|[a-z][a-z0-9$]*[A-Z][\w$]*"  # camelCase
    r"|[A-Z][a-z0-9]+[A-Z][\w$]*"  # PascalCase
    r"|[A-Z]{2,}[a-z]{2,}[\w$]*"  # HTTPServer
    r")"
)
_DUNDER: Final = re.compile(r"__[a-z0-9_]+__")
_PERSON: Final = re.compile(r"Ma?c[A-Z][a-z]+|(?:[A-Z]{2,}|[a-z]?[A-Z]+)s|[A-Z]{2,}(?:ed|ing)")
"""People (`McAdams`), and what prose makes of abbreviations (`URLs`, `APIs`)."""
_SENTENCE: Final = re.compile(r" [a-z]")
_SHORT_OPTION: Final = re.compile(r"[^\w\n]-$")
_ESCAPES: Final = "bnrt"
_LONGEST: Final = 80
"""Longer ones are encoded data."""


def find(text: str, start: int, stop: int) -> Found:
    """The name without a call's brackets; none for a word of prose, a product, a host."""
    raw = text[start:stop]
    if raw[0] in "-@":
        raw = raw.rstrip("-.")
        return (
            None if raw == "--git" and text.startswith("diff ", start - 5) else (start, start + len(raw), raw)
        )
    before = text[start - 1 : start] if start else ""
    if before == "\\" and raw[0] in _ESCAPES:
        # `\\bfooBar` of a regex, `"\\nfooBar"` of a text in a text; `space\\name` of PHP could be either.
        if text[start - 2 : start - 1].isalnum():
            return None
        start, raw = start + 1, raw[1:]
    name = raw.rstrip("()`")
    if (
        not name
        or len(name) > _LONGEST
        or (before == "-" and _SHORT_OPTION.search(text[max(0, start - 2) : start]))
    ):
        return None
    stop = start + len(name)
    is_named = (
        _is_chain(text, stop, name, raw, before)
        if "." in name or "::" in name
        else _is_name(name, raw, before)
    )
    return (start, stop, name.replace("?", "")) if is_named else None


def _is_name(name: str, raw: str, before: str) -> bool:
    if raw[-1] == "`" and before in ("`", "$") and name not in LITERALS:
        return True
    if raw[-1] == ")" and before != "-" and name not in KEYWORDS:
        return True
    if name in BRANDS or name.rstrip("s0123456789") in BRANDS:
        return raw[-1] == "("
    return (_SHAPE.fullmatch(name) is not None and not _PERSON.fullmatch(name)) or _DUNDER.fullmatch(
        name
    ) is not None


def _is_chain(text: str, stop: int, name: str, raw: str, before: str) -> bool:
    if "::" in name or raw[-1] in "()" or raw[-1] == before == "`":
        return True
    parts = name.replace("?", "").split(".")
    first, last = parts[0], parts[-1]
    if any(_SHAPE.fullmatch(part) and part not in BRANDS for part in parts):
        return last not in NO_RIGHT
    if all(len(part) == 1 for part in parts) or text[stop : stop + 1] in ("-", "@"):
        return False
    if first.lower() in NO_LEFT or last.lower() in NO_RIGHT or last in HOSTS:
        return False
    return not (len(parts) == 2 and last[0].isupper() and _SENTENCE.match(text, stop))  # noqa: PLR2004  "done.Next we"
