"""Search contexts for the things that they name."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from projections.mentions import Kind
from projections.mentions.message_facts import WORDS, Block, Blocks, Holding
from projections.mentions.path_names import Names, Paths, names_of, shorter_forms, written


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
"""Characters across which a word goes on, by kind: `src/a.ts` does in `src/a.ts.map`, `run` does not in `agent.run`."""
_BARE_NAME: Final = _Joiners("-./", "-.")

_SPACELESS: Final = "\u2e80"
_REMEMBERED: Final = 1 << 13
"""Phrases that are remembered: the same things are looked for in many contexts."""
_ERROR_MESSAGE: Final = re.compile(
    r"(?i)(?:error|exception|fatal|panic\w*|failed|failure)\b[^:]{0,40}:\s+(.{12,})$"
)


class Presence:
    """An index of what the messages of a context name.

    A thing is named where its value stands as whole words in a text of a message, white space collapsed; an
    error also where its message does, without what marks it as an error. A path is also named by any longer
    form, by a shorter one that has a folder left, and by its bare file name if that belongs to no other path
    of `paths`. Case counts.
    """

    def __init__(self, holdings: Iterable[Holding], paths: Paths, blocks: Blocks | None = None) -> None:
        """`blocks` are those of the session, for what other contexts of it share."""
        self._paths = paths
        self._blocks = (blocks or Blocks()).of(list(holdings))

    def names(self, kind: Kind, value: str) -> bool:
        """Return True if a message names a thing."""
        if any(value in block.named[kind] for block in self._blocks):
            return True
        needed = _needed_words(kind, value)
        blocks = [block for block in self._blocks if needed <= block.words]
        if not blocks:
            return False
        wanted = self._wanted(kind, value)
        return any(next(wanted.places(block), None) is not None for block in blocks)

    def first(self, kind: Kind, value: str) -> Holding | None:
        """The first message that names a thing, None where none does."""
        wanted = self._wanted(kind, value)
        for block in self._blocks:
            place = min(wanted.places(block), default=None)
            if place is not None:
                return block.holdings[place]
        return None

    def _wanted(self, kind: Kind, value: str) -> _Wanted:
        if kind is Kind.PATH:
            return _wanted_path(value, self._paths)
        phrases = [_phrase(value, _JOINERS[kind])]
        if kind is Kind.ERROR and (message := _ERROR_MESSAGE.search(value)):
            phrases.append(_phrase(message[1], _JOINERS[kind]))
        return _Wanted(kind, value, (), tuple(phrases))


@lru_cache(maxsize=_REMEMBERED)
def _needed_words(kind: Kind, value: str) -> frozenset[str]:
    """The words without which no text names a thing: of a path those of its last name, for every form ends in it."""
    if kind is Kind.ERROR:
        return frozenset()
    said = "".join(names_of(value)[-1:]) if kind is Kind.PATH else value
    return frozenset(WORDS.findall(said))


class _Phrase(NamedTuple):
    """A text to be found as whole words, its white space collapsed, and those words."""

    text: str
    words: tuple[str, ...]
    joiners: _Joiners

    def places(self, block: Block) -> Iterator[int]:
        """The first message that has it in one of its texts."""
        if not block.words.issuperset(self.words):
            return
        text, starts = block.text
        at = text.find(self.text) if self.text else -1
        while at >= 0:
            if _is_whole(text, at, at + len(self.text), self.joiners):
                yield bisect_right(starts, at) - 1
                return
            at = text.find(self.text, at + 1)


@lru_cache(maxsize=_REMEMBERED)
def _phrase(value: str, joiners: _Joiners) -> _Phrase:
    return _Phrase(" ".join(value.split()), tuple(WORDS.findall(value)), joiners)


class _Wanted(NamedTuple):
    """A thing in every form in which it may stand."""

    kind: Kind
    value: str
    forms: tuple[Names, ...]
    phrases: tuple[_Phrase, ...]

    def places(self, block: Block) -> Iterator[int]:
        """The first message of a block for each form in which a thing is named, what is cheap to find first."""
        place = block.named[self.kind].get(self.value)
        if place is not None:
            yield place
        yield from (block.paths[form] for form in self.forms if form in block.paths)
        for phrase in self.phrases:
            yield from phrase.places(block)


def _wanted_path(path: str, paths: Paths) -> _Wanted:
    names = names_of(path)
    if not names:
        return _Wanted(Kind.PATH, path, (), ())
    file = names[-1]
    is_bare, is_alone = len(names) == 1, paths.alone(names)
    forms = (names, *shorter_forms(names), *([(file,)] if is_alone else []))
    joiners = _BARE_NAME if is_bare and not is_alone else _JOINERS[Kind.PATH]
    phrases = [_phrase(value, joiners) for value in dict.fromkeys((path, written(names)))]
    # A name with no extension is as like as not an ordinary word.
    if is_alone and not is_bare and "." in file:
        phrases.append(_phrase(file, _BARE_NAME))
    return _Wanted(Kind.PATH, path, forms, tuple(phrases))


def _is_whole(text: str, start: int, stop: int, joiners: _Joiners) -> bool:
    """Return True if the word at either end of a place in a text ends there."""
    before, behind = text[max(start - 2, 0) : start], text[stop : stop + 2]
    return not _goes_on(before[::-1], joiners.before) and not _goes_on(behind, joiners.behind)


def _goes_on(beyond: str, joiners: str) -> bool:
    """Return True if a word goes on with the two characters beyond its end, the nearer one first."""
    return _is_of_word(beyond[:1]) or (beyond[:1] in joiners and _is_of_word(beyond[1:]))


def _is_of_word(character: str) -> bool:
    return (character.isalnum() or character == "_") and character < _SPACELESS
