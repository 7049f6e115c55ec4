"""Find what texts mention: paths, identifiers, errors, URLs, commands.

To add a kind: its pattern and finder in a module here, a line in `MentionKind`, a line in `_RANKED`, labelled
examples, docs.
"""

from __future__ import annotations

import re
from operator import attrgetter
from typing import Final

from projections.mentions.commands import commands
from projections.mentions.errors import find_errors
from projections.mentions.mention import Mention, MentionKind
from projections.mentions.paths import PATH, find_path
from projections.mentions.values import IDENTIFIER, URL, find_identifier, find_url

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
