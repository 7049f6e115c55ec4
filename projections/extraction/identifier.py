"""Identifiers: UUIDs, hashes, digests, ids with a prefix, numbers of issues and tickets."""

from __future__ import annotations

import re
from typing import Final

from projections.extraction.found import Found
from projections.extraction.words import words

_UUID: Final = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![\w-])"
_DIGEST: Final = r"(?:sha(?:1|256|384|512)|md5):[0-9a-f]{7,128}+(?!\w)"
_HASH: Final = (
    # A digit and a letter: a date is no hash, and neither is a word. Not a number with an exponent.
    r"(?=[a-fA-F]*+\d)(?=\d*+[a-fA-F])(?!\d++[eE]\d++\b)(?:[0-9a-f]{7,64}+|[0-9A-F]{7,64}+)(?!\w|[.-]\w)"
)
_PREFIXED: Final = (
    r"(?:toolu|srvtoolu|call|fc|msg|req|resp|rs|ses|prt|evt|run|thread|chatcmpl|gh[opsur]|github_pat|sk|pk)[_-]"
    # A digit within: `call_with_retry` is a function.
    r"(?=[A-Za-z_-]*+\d)[0-9A-Za-z_-]{12,256}+"
)
_NUMBER: Final = r"(?:GH-|\#)[1-9]\d{0,4}+(?![\w-])"
_TICKET: Final = r"[A-Z][A-Z0-9]{1,9}+-\d{1,6}+(?![\w-]|[.]\d)"

PATTERN: Final = rf"(?<![\w&/#-])(?<![^.\n]\.)(?:{_UUID}|{_DIGEST}|{_PREFIXED}|{_HASH}|{_NUMBER}|{_TICKET})"
"""Not within a word, a file's name, an entity of HTML; the second hash of `1a2b3c4..5d6e7f8` counts."""

STANDARDS: Final = words(
    "UTF UCS SHA MD CRC AES RSA DES HMAC ISO IEC RFC IEEE ANSI ECMA ES PEP CP KOI LATIN HTTP TLS SSL IPV USB GPT"
    " GLM COVID VT XT TOP CVE WINDOWS BASE MP UTC GMT"
)
"""What a number behind a hyphen belongs to the name of: `UTF-8` is no ticket."""

_NUMBERED: Final = re.compile(
    r"(?:issues?|bugs?|tickets?|tasks?|PRs?|MRs?|pull(?: request)?s?|#\d+,?(?: and)?) ?[(\[]?\Z",
    re.IGNORECASE,
)
_FIXES: Final = re.compile(
    r"\b(?:fix(?:es|ed)?|clos(?:es?|ed)|resolv(?:es?|ed)|refs?|see)[: ]+\Z", re.IGNORECASE
)
_BEFORE: Final = 16


def find(text: str, start: int, stop: int) -> Found:
    """The identifier, unless it is the name of a standard, a colour, or a mere ordinal such as `#1`."""
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
