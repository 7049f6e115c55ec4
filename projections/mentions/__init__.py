"""Find what texts mention: paths, identifiers, errors, URLs, commands.

To add a kind: its pattern and finder here or in a module, a line in `MentionKind`, a line in `_RANKED`, labelled
examples, docs.
"""

from __future__ import annotations

import re
from operator import attrgetter
from typing import Final

from projections.mentions.commands import commands
from projections.mentions.errors import find_errors
from projections.mentions.mention import Match, Mention, MentionKind, word_set
from projections.mentions.paths import PATH, find_path

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


_RANKED: Final = (
    (MentionKind.URL, URL, find_url),
    (MentionKind.PATH, PATH, find_path),
    (MentionKind.IDENTIFIER, IDENTIFIER, find_identifier),
)
"""Kinds by rank: if a text could be of two kinds, the earlier one wins."""

# Atomic groups, not possessive ones: before Python 3.11.5 a possessive group keeps a failed match.
_PROSE: Final = (
    # Skip what cannot start a mention: blanks and signs, words of prose, line numbers, isolated signs.
    # A capital word that ends in "file" may be a Makefile.
    r"(?>(?:[^\w./~@#-]++|(?:[a-z]++|[A-Z][a-z]*+(?<!file))(?![\w\\/(`$@~+%-]|[.:?]\S)|\d++(?=[\t\n\u2192)\]])"
    r"|[./~@#-](?![\w./\\-])|//++(?![\w.@+~%\\-]))*)"
)
_REST: Final = r"\w++|[.@+~%-]++|[^\w]|\Z"
"""Text that starts no mention. Without it, prose is retried at every character."""


def _scanner(rank: int) -> re.Pattern[str]:
    kinds = "|".join(f"(?P<{kind.value}>{pattern})" for kind, pattern, _ in _RANKED[rank:])
    return re.compile(f"{_PROSE}(?:{kinds}|{_REST})")


_SCANNERS: Final = [_scanner(rank) for rank in range(len(_RANKED))]
_RULES: Final = {kind.value: (kind, find, rank + 1) for rank, (kind, _, find) in enumerate(_RANKED)}


def scan(text: str) -> list[Mention]:
    """Return the mentions in a text, in order, without nesting."""
    found: list[Mention] = []
    _scan(text, 0, len(text), 0, found)
    return found


def _scan(text: str, start: int, stop: int, rank: int, found: list[Mention]) -> None:
    """Add mentions of the kinds from `rank` on.

    Text that a finder rejects is tried for the kinds after it.
    """
    for match in _SCANNERS[rank].finditer(text, start):
        name = match.lastgroup
        if name is None:
            if match.end() >= stop:
                return
            continue
        first, last = match.span(name)
        if first >= stop:
            return
        # Skip a part of what a later kind found in text that an earlier one rejected.
        if not found or first >= found[-1].stop:
            kind, find, behind = _RULES[name]
            named = find(text, first, last)
            if named is None:
                if behind < len(_RANKED):
                    _scan(text, first, last, behind, found)
            elif named[2]:
                found.append(Mention(kind, named[2], named[0], named[1]))
        if last >= stop:
            return


__all__ = ["Mention", "MentionKind", "commands", "mentions"]


def mentions(text: str) -> list[Mention]:
    """Return a text's mentions, except commands, in order; only error lines may enclose others."""
    found = scan(text)
    errors = [Mention(MentionKind.ERROR, value, start, stop) for start, stop, value in find_errors(text)]
    return sorted(errors + found, key=attrgetter("start")) if errors else found
