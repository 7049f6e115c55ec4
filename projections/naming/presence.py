"""Whether a context names a thing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from projections.extraction import Kind
from projections.naming.holdings import Holding
from projections.naming.paths import Names, Paths, names_of, shorter_forms, written


class _Joiners(NamedTuple):
    """Characters that make one word of what stands before and behind them."""

    before: str
    behind: str


_JOINERS: Final = {
    Kind.PATH: _Joiners("-.", "-."),
    Kind.SYMBOL: _Joiners("-", "-"),
    Kind.IDENTIFIER: _Joiners("-", "-"),
    Kind.ERROR: _Joiners("", ""),
    Kind.URL: _Joiners("", "/.-?#&=%:~+@"),
    Kind.QUANTITY: _Joiners(".,", ""),
    Kind.COMMAND: _Joiners("-./", "-./:="),
}
"""Where a word goes on by kind of thing: `src/a.ts` does in `src/a.ts.map`, but `run` does not in `agent.run`."""
_BARE_NAME: Final = _Joiners("-./", "-.")

# Letters from U+2E80 on (Chinese, Japanese, Korean) follow a word with no space between.
_WORDS: Final = re.compile(r"[^\W\u2e80-\U0010ffff]+")
_SPACELESS: Final = "\u2e80"
_ERROR_MESSAGE: Final = re.compile(
    r"(?i)(?:error|exception|fatal|panic\w*|failed|failure)\b[^:]{0,40}:\s+(.{12,})$"
)
_BETWEEN_TEXTS: Final = "\0"


class Presence:
    """What the messages of a context name.

    A thing is named where its value stands as whole words in a text of a message, white space collapsed; an
    error also where its message does, without what marks it as an error. A path is also named by any longer
    form, by a shorter one that has a folder left, and by its bare file name if that belongs to no other path
    of `paths`. Case counts.
    """

    def __init__(self, holdings: Iterable[Holding], paths: Paths) -> None:
        self._holdings = tuple(holdings)
        self._paths = paths
        self._named: dict[Kind, dict[str, int]] = {kind: {} for kind in Kind}
        self._path_names: dict[Names, int] = {}
        for place, holding in enumerate(self._holdings):
            for kind, values in holding.named.items():
                for value in values:
                    self._named[kind].setdefault(value, place)
        for path, place in self._named[Kind.PATH].items():
            self._path_names.setdefault(names_of(path), place)

    def names(self, kind: Kind, value: str) -> bool:
        """Whether a message names a thing."""
        return next(self._places(kind, value), None) is not None

    def first(self, kind: Kind, value: str) -> Holding | None:
        """The first message that names a thing, None where none does."""
        place = min(self._places(kind, value), default=None)
        return None if place is None else self._holdings[place]

    def _places(self, kind: Kind, value: str) -> Iterator[int]:
        """The first message for each form in which a thing is named, what is cheap to find first."""
        place = self._named[kind].get(value)
        if place is not None:
            yield place
        if kind is Kind.PATH:
            yield from self._places_of_path(value)
            return
        yield from self._places_in_texts(value, _JOINERS[kind])
        if kind is Kind.ERROR and (message := _ERROR_MESSAGE.search(value)):
            yield from self._places_in_texts(message[1], _JOINERS[kind])

    def _places_of_path(self, path: str) -> Iterator[int]:
        names = names_of(path)
        if not names:
            return
        file = names[-1]
        is_bare, is_alone = len(names) == 1, self._paths.alone(names)
        forms = [names, *shorter_forms(names), *([(file,)] if is_alone else [])]
        yield from (self._path_names[form] for form in forms if form in self._path_names)
        joiners = _BARE_NAME if is_bare and not is_alone else _JOINERS[Kind.PATH]
        for value in dict.fromkeys((path, written(names))):
            yield from self._places_in_texts(value, joiners)
        # A name with no extension is as like as not an ordinary word.
        if is_alone and not is_bare and "." in file:
            yield from self._places_in_texts(file, _BARE_NAME)

    def _places_in_texts(self, value: str, joiners: _Joiners) -> Iterator[int]:
        """The first message that has a value as whole words in one of its texts."""
        if not self._words.issuperset(_WORDS.findall(value)):
            return
        value = " ".join(value.split())
        text, starts = self._text
        at = text.find(value) if value else -1
        while at >= 0:
            if _is_whole(text, at, at + len(value), joiners):
                yield bisect_right(starts, at) - 1
                return
            at = text.find(value, at + 1)

    @cached_property
    def _text(self) -> tuple[str, list[int]]:
        """All texts with their white space collapsed, and where in there each message begins."""
        starts, parts, length = [], [], 0
        for holding in self._holdings:
            starts.append(length)
            for text in holding.texts:
                parts.append(" ".join(text.split()))
                length += len(parts[-1]) + len(_BETWEEN_TEXTS)
        return _BETWEEN_TEXTS.join(parts), starts

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORDS.findall(self._text[0]))


def _is_whole(text: str, start: int, stop: int, joiners: _Joiners) -> bool:
    """Whether the word at either end of a place in a text ends there."""
    before, behind = text[max(start - 2, 0) : start], text[stop : stop + 2]
    return not _goes_on(before[::-1], joiners.before) and not _goes_on(behind, joiners.behind)


def _goes_on(beyond: str, joiners: str) -> bool:
    """Whether a word goes on with the two characters beyond its end, the nearer one first."""
    return _is_of_word(beyond[:1]) or (beyond[:1] in joiners and _is_of_word(beyond[1:]))


def _is_of_word(character: str) -> bool:
    return (character.isalnum() or character == "_") and character < _SPACELESS
