"""What the lines of texts name, each distinct line looked at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, filterfalse
from typing import Final

from projections.extraction import Kind, Mention, mentions
from projections.extraction.symbol import is_reserved

_MEMBER: Final = re.compile(r"::|\??\.")
_PLAIN: Final = re.compile(r"[a-z]*[0-9]*")
_NOTHING: Final = ""
"""In place of a plain word: nothing is named, but the order of kinds is that of all mentions."""

_Named = Sequence[tuple[Kind, str]]
"""The things that a line names, in order."""


class Lines:
    """The lines of a session's texts. The same ones stand in many: files are read again, searched, changed.

    No rule of extraction looks beyond the ends of a line, so that a text names what its lines do. Memory
    follows the distinct lines.
    """

    def __init__(self) -> None:
        self._named: dict[str, _Named] = {}

    def named(self, texts: Iterable[str]) -> dict[Kind, dict[str, None]]:
        """The distinct things of each kind that texts name, in order of appearance.

        Of a chain of members it is each name in it that is no plain word.
        """
        lines = dict.fromkeys(chain.from_iterable(text.split("\n") for text in texts))
        known = self._named
        self._look_at([*filterfalse(known.__contains__, lines)])
        found: dict[Kind, dict[str, None]] = {}
        for kind, value in chain.from_iterable(map(known.__getitem__, lines)):
            if kind in found:
                found[kind][value] = None
            else:
                found[kind] = {value: None}
        for things in found.values():
            things.pop(_NOTHING, None)
        return {kind: things for kind, things in found.items() if things}

    def _look_at(self, lines: Sequence[str]) -> None:
        """Look at lines, all of them as one text, which is faster than one by one."""
        if not lines:
            return
        self._named.update(dict.fromkeys(lines, ()))
        ends = accumulate(len(line) + 1 for line in lines)
        found = iter(mentions("\n".join(lines)))
        mention = next(found, None)
        for line, end in zip(lines, ends, strict=True):
            if mention is None:
                return
            if mention.start >= end:
                continue
            here: list[tuple[Kind, str]] = []
            while mention is not None and mention.start < end:
                here += _things(mention)
                mention = next(found, None)
            self._named[line] = here


def _things(mention: Mention) -> _Named:
    """What is named by a mention; of a chain of members each name in it that is no plain word, nor a language's own.

    So `this.queue.pushAll` names one thing, and `parts.length` none. Chains are written in many ways, and what
    they begin with is mostly a local variable.
    """
    value = mention.value
    if mention.kind is not Kind.SYMBOL or ("." not in value and "::" not in value):
        return ((mention.kind, value),)
    names = _MEMBER.split(value)
    return [
        (mention.kind, _NOTHING if _PLAIN.fullmatch(name) or is_reserved(name) else name) for name in names
    ]
