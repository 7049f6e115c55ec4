"""Search the messages of a context for the things that they mention."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from projections.mentions import MentionKind
from projections.mentions.message_facts import MessageFacts
from projections.mentions.message_index import WORD_PATTERN, MessageIndex
from projections.mentions.path_names import PathIndex, PathNames, join_names, shorter_forms, split_path


class _Joiners(NamedTuple):
    """Characters that join the text before and after them into one word."""

    before: str
    behind: str


_JOINERS: Final = {
    MentionKind.PATH: _Joiners("-.", "-."),
    MentionKind.SYMBOL: _Joiners("-", "-"),
    MentionKind.IDENTIFIER: _Joiners("-", "-"),
    MentionKind.ERROR: _Joiners("", ""),
    MentionKind.URL: _Joiners("", "/.-?#&=%:~+@"),
    MentionKind.QUANTITY: _Joiners(".,", ""),
    MentionKind.COMMAND: _Joiners("-./", "-./:="),
}
"""Characters that continue a word, by kind.

So `src/a.ts.map` does not mention `src/a.ts`, but `agent.run` does mention `run`.
"""
_WITHOUT_FOLDERS: Final = _Joiners("-./", "-.")
"""A form of several paths is not part of a longer one."""

_SPACELESS: Final = "\u2e80"
_REMEMBERED: Final = 1 << 13
"""Phrases to cache: the same things are searched in many contexts."""
_ERROR_MESSAGE: Final = re.compile(
    r"(?i)(?:error|exception|fatal|panic\w*|failed|failure)\b[^:]{0,40}:\s+(.{12,})$"
)


class MentionIndex:
    """An index of what the messages of a context mention.

    A thing is mentioned if its value occurs as whole words in a text of a message, with white space
    collapsed; an error also if its message occurs without the error prefix. A path is also mentioned by any
    longer form and by any shorter one, unless `paths` has several that the form can mean. Case matters.
    """

    def __init__(
        self, facts: Iterable[MessageFacts], paths: PathIndex, index: MessageIndex | None = None
    ) -> None:
        """Index the messages; `index` is the session's, shared between its contexts."""
        self._paths = paths
        self._index = MessageIndex() if index is None else index
        self._places: dict[int, int] = {}
        for place, message in enumerate(facts):
            self._places.setdefault(self._index.add(message), place)
        self._numbers = frozenset(self._places)

    def contains(self, kind: MentionKind, value: str) -> bool:
        """Return True if a message mentions a thing."""
        if self._has_any(self._index.with_mention(kind, value)):
            return True
        numbers = self._index.with_words(_needed_words(kind, value), self._numbers)
        if not numbers:
            return False
        wanted = self._query(kind, value)
        return self._has_any(self._index.with_paths(wanted.forms)) or any(
            wanted.occurs_in(self._index.messages[number]) for number in numbers
        )

    def messages_with_words(self, text: str) -> Iterator[MessageFacts]:
        """Yield the messages that have all words of a text."""
        numbers = self._index.with_words(WORD_PATTERN.findall(text), self._numbers)
        return (self._index.messages[number] for number in numbers)

    def first_message(self, kind: MentionKind, value: str, *, last: float = math.inf) -> MessageFacts | None:
        """Return the first message that mentions a thing, or None.

        `last` limits the search to messages up to this event number, in an index of one path's messages.
        """
        wanted = self._query(kind, value)
        named = {*self._index.with_mention(kind, value), *self._index.with_paths(wanted.forms)}
        named &= self._numbers
        numbers = named | self._index.with_words(_needed_words(kind, value), self._numbers)
        for number in sorted(numbers, key=self._places.__getitem__):
            message = self._index.messages[number]
            if message.seq > last:
                return None
            if number in named or wanted.occurs_in(message):
                return message
        return None

    def _has_any(self, numbers: Iterable[int]) -> bool:
        return not self._numbers.isdisjoint(numbers)

    def _query(self, kind: MentionKind, value: str) -> _Query:
        if kind is MentionKind.PATH:
            return _path_query(value, self._paths)
        phrases = [_phrase(value, _JOINERS[kind])]
        if kind is MentionKind.ERROR and (message := _ERROR_MESSAGE.search(value)):
            phrases.append(_phrase(message[1], _JOINERS[kind]))
        return _Query((), tuple(phrases))


@lru_cache(maxsize=_REMEMBERED)
def _needed_words(kind: MentionKind, value: str) -> frozenset[str]:
    """Return the words that a text must have to mention a thing.

    For a path these are the words of its last name, because every form ends in it; for an error those of its
    message, which may occur without its prefix.
    """
    text = value
    if kind is MentionKind.PATH:
        text = "".join(split_path(value)[-1:])
    elif kind is MentionKind.ERROR and (message := _ERROR_MESSAGE.search(value)):
        text = message[1]
    return frozenset(WORD_PATTERN.findall(text))


class _Phrase(NamedTuple):
    """A text to find as whole words with white space collapsed."""

    text: str
    joiners: _Joiners

    def is_in(self, text: str) -> bool:
        """Return True if a text has the phrase."""
        at = text.find(self.text) if self.text else -1
        while at >= 0:
            if _is_whole(text, at, at + len(self.text), self.joiners):
                return True
            at = text.find(self.text, at + 1)
        return False


@lru_cache(maxsize=_REMEMBERED)
def _phrase(value: str, joiners: _Joiners) -> _Phrase:
    return _Phrase(" ".join(value.split()), joiners)


class _Query(NamedTuple):
    """A thing to search, in every form that it may take."""

    forms: tuple[PathNames, ...]
    phrases: tuple[_Phrase, ...]

    def occurs_in(self, message: MessageFacts) -> bool:
        """Return True if a text of a message has one of the phrases."""
        return any(
            phrase.is_in(_collapsed(text) if " " in phrase.text else text)
            for phrase in self.phrases
            for text in message.texts
        )


@lru_cache(maxsize=1 << 7)
def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _path_query(path: str, paths: PathIndex) -> _Query:
    names = split_path(path)
    if not names:
        return _Query((), ())
    file = names[-1]
    is_bare, is_alone = len(names) == 1, paths.is_unambiguous(names)
    shorter = (form for form in shorter_forms(names) if paths.is_unambiguous(names, form))
    forms = (names, *shorter, *([(file,)] if is_alone else []))
    joiners = _JOINERS[MentionKind.PATH] if paths.is_unambiguous(names, names) else _WITHOUT_FOLDERS
    phrases = [_phrase(value, joiners) for value in dict.fromkeys((path, join_names(names)))]
    # A name without an extension may well be an ordinary word.
    if is_alone and not is_bare and "." in file:
        phrases.append(_phrase(file, _WITHOUT_FOLDERS))
    return _Query(forms, tuple(phrases))


def _is_whole(text: str, start: int, stop: int, joiners: _Joiners) -> bool:
    """Return True if a span of a text starts and ends at word boundaries."""
    before, behind = text[max(start - 2, 0) : start], text[stop : stop + 2]
    return not _continues(before[::-1], joiners.before) and not _continues(behind, joiners.behind)


def _continues(beyond: str, joiners: str) -> bool:
    """Return True if a word continues with the next two characters, the nearer one first."""
    return _is_word_character(beyond[:1]) or (beyond[:1] in joiners and _is_word_character(beyond[1:]))


def _is_word_character(character: str) -> bool:
    return (character.isalnum() or character == "_") and character < _SPACELESS
