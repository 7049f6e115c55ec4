"""Find URLs, identifiers and quantities."""

from __future__ import annotations

import re
from typing import Final

from projections.mentions.mention import Match, word_set

URL: Final = r"(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}+://[^\s<>\"'`\\|^{}\u2026\u3001\u3002\uff0c\uff09]++"
"""Ends at white space, quotes, angle brackets, braces, backslashes, bars, wide punctuation."""

_SENTENCE: Final = ".,;:!?*"
_PLACEHOLDER: Final = ("{", "<", "$")
_BRACKET: Final = re.compile(r"[()\[\]]")


def find_url(text: str, start: int, stop: int) -> Match:
    """Return the URL, up to a bracket that it did not open and without trailing punctuation.

    A URL that continues in a placeholder (`https://host/{owner}`) names nothing yet.
    """
    if text[stop : stop + 1] in _PLACEHOLDER:
        return start, stop, ""
    depth = 0
    for bracket in _BRACKET.finditer(text, start, stop):
        depth += 1 if bracket[0] in "([" else -1
        if depth < 0:
            stop = bracket.start()
            break
    value = text[start:stop].rstrip(_SENTENCE)
    is_whole = any(map(str.isalnum, value.partition("://")[2]))
    return (start, start + len(value), value) if is_whole else None


_UUID: Final = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![\w-])"
_DIGEST: Final = r"(?:sha(?:1|256|384|512)|md5):[0-9a-f]{7,128}+(?!\w)"
_HASH: Final = (
    # A digit and a letter: neither a date nor a word is a hash. Not a number with an exponent.
    r"(?=[a-fA-F]*+\d)(?=\d*+[a-fA-F])(?!\d++[eE]\d++\b)(?:[0-9a-f]{7,64}+|[0-9A-F]{7,64}+)(?!\w|[.-]\w)"
)
_PREFIXED: Final = (
    r"(?:toolu|srvtoolu|call|fc|msg|req|resp|rs|ses|prt|evt|run|thread|chatcmpl|gh[opsur]|github_pat|sk|pk)[_-]"
    # A digit inside: `call_with_retry` is a function.
    r"(?=[A-Za-z_-]*+\d)[0-9A-Za-z_-]{12,256}+"
)
_NUMBER: Final = r"(?:GH-|\#)[1-9]\d{0,4}+(?![\w-])"
_TICKET: Final = r"[A-Z][A-Z0-9]{1,9}+-\d{1,6}+(?![\w-]|[.]\d)"

IDENTIFIER: Final = (
    rf"(?<![\w&/#-])(?<![^.\n]\.)(?:{_UUID}|{_DIGEST}|{_PREFIXED}|{_HASH}|{_NUMBER}|{_TICKET})"
)
"""Not inside a word, file name or HTML entity; `1a2b3c4..5d6e7f8` gives both hashes."""

STANDARDS: Final = word_set(
    "UTF UCS SHA MD CRC AES RSA DES HMAC ISO IEC RFC IEEE ANSI ECMA ES PEP CP KOI LATIN HTTP TLS SSL IPV USB GPT"
    " GLM COVID VT XT TOP CVE WINDOWS BASE MP UTC GMT"
)
"""Standards whose names include a number after a hyphen: `UTF-8` is not a ticket."""

_NUMBERED: Final = re.compile(
    r"(?:issues?|bugs?|tickets?|tasks?|PRs?|MRs?|pull(?: request)?s?|#\d+,?(?: and)?) ?[(\[]?\Z",
    re.IGNORECASE,
)
_FIXES: Final = re.compile(
    r"\b(?:fix(?:es|ed)?|clos(?:es?|ed)|resolv(?:es?|ed)|refs?|see)[: ]+\Z", re.IGNORECASE
)
_BEFORE: Final = 16


def find_identifier(text: str, start: int, stop: int) -> Match:
    """Return the identifier; nothing for a standard, a colour or a mere ordinal such as `#1`."""
    value = text[start:stop]
    if value[0] == "#":
        return (start, stop, value) if _is_issue(text, start, stop) else None
    if "-" in value and value.partition("-")[0] in STANDARDS:
        return None
    return start, stop, value


def _is_issue(text: str, start: int, stop: int) -> bool:
    digits = stop - start - 1
    before, after = text[max(0, start - _BEFORE) : start], text[stop : stop + 1]
    if _NUMBERED.search(before) or _FIXES.search(before):
        return True
    if digits == len("fff") and (before[-1:] in ("'", '"', "`") or after == ";"):
        return False
    return digits > 1 or (before[-1:], after) in (("(", ")"), ("[", "]"))


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
"""Each unit in its normalized form, and its spellings."""

_CLOSE: Final = word_set("m h d % rem em vh vw pt")
"""Units that directly follow their number: `5 m` and `10 % 3` are something else."""

_CANONICAL: Final = {spelling: unit for unit, spellings in UNITS.items() for spelling in spellings.split()}
_SPELLINGS: Final = "|".join(sorted(map(re.escape, _CANONICAL), key=len, reverse=True))
_ONE: Final = r"(?:\d{1,3}(?>(?:,\d{3})+)|\d{1,15}+)(?>(?:\.\d{1,15}+)?)(?>(?:[kKM](?=[ +-]))?)"
_AMOUNT: Final = rf"(?:{_ONE}(?>(?:[-\u2013]{_ONE})?)\+?+|\.\d{{1,4}}+)"
_HOURS: Final = r"\d{1,4}+h(?>(?:\d{1,2}+m)?)(?>(?:\d{1,2}+(?>(?:\.\d{1,9}+)?)s)?)"
_MINUTES: Final = r"\d{1,4}+m\d{1,2}+(?>(?:\.\d{1,9}+)?)s"

QUANTITY: Final = (
    rf"(?<![\w.,:/#%\u2013-])(?:(?:{_HOURS}|{_MINUTES})(?!\w)|{_AMOUNT}[ -]?(?:{_SPELLINGS})(?![\w-]))"
)
"""Not inside a word, a version, a date, a time, a fraction or a `printf` format."""

_PARTS: Final = re.compile(rf"({_AMOUNT})([ -]?)({_SPELLINGS})")
_ORDINAL: Final = re.compile(
    r"\b(?:case|chapter|item|level|line|node|option|page|part|phase|php|python|round|section|stage|step|task"
    r"|version) $",
    re.IGNORECASE,
)
"""Words after which a number is a name, not a count: `phase 2 tests`."""
_LOOKBACK: Final = 10
_LEAST_BYTES: Final = 3
"""Minimum digits of a number directly before `B`: `7B` is the size of a model."""


def find_quantity(text: str, start: int, stop: int) -> Match:
    """Return the quantity as number, space and unit, without thousands separators."""
    parts = _PARTS.fullmatch(text, start, stop)
    if parts is None:
        return start, stop, text[start:stop]
    number, between, unit = parts.groups()
    if between and (
        unit in _CLOSE or (between == " " and _ORDINAL.search(text, max(0, start - _LOOKBACK), start))
    ):
        return None
    if unit == "m" and text[start - 1 : start] in ("[", ";"):
        # `\x1b[0;31m` is a colour.
        return None
    if unit == "B" and not between and len(number) < _LEAST_BYTES:
        return None
    return start, stop, f"{number.replace(',', '')} {_CANONICAL[unit]}"
