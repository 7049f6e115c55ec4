"""Find URLs and identifiers."""

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
