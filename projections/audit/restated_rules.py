"""Recognize the user's rules in the messages of a context, verbatim or in other words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from eventstore.estimates import fragments
from eventstore.formats import view_of_message
from projections.audit.restatements import (
    LineIndex,
    LineMatch,
    content_words,
    is_verb,
    shared_words,
)
from projections.context.parts import Part
from projections.mentions.instructions import mend
from projections.mentions.prose import sentences
from projections.mentions.standing_rules import core_of

CLOSE_SIMILARITY: Final = 0.6
"""The minimum similarity of a restated rule: two words of three, three of five."""
_FEW: Final = 2
"""Shared words that any line may have by chance; such a line must say that it is a rule."""
_SAYS_RULE: Final = re.compile(
    r"\b(?:never|not|no|n't|don't|dont|always|only|must|should|shall|has to|have to|needs? to|prefers?"
    r"|wants?|rules?|keep|avoid|without|before|after each|every|each|asked for|requires?|required"
    r"|forbid\w*|prohibit\w*|off[ -]limits|instead of|use|untouched|rather)\b|n't\b",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"\s*#{1,6}\s")
_NOTE_END: Final = re.compile(r"[;,:()\[\]]+(?=\s|$)|\s[(\[]|\.(?=\s|$)|\s[-–—]\s")  # noqa: RUF001  dashes
"""Ends of the notes in a terse summary."""
_OF_USER: Final = re.compile(
    r"(?i)\b(?:user|person|he|she|they|rules?|constraints?|prefer\w*|never|always|must|wants?|likes?|insists?)\b"
)
"""Words of a line about what the user demands."""
SUMMARIES: Final = frozenset({"compactionSummary", "branchSummary"})
_SPOKEN: Final = SUMMARIES | {"user", "assistant", "custom"}
"""Roles of messages in prose; results of tools resemble any rule in some line."""
_EXPLAINED: Final = re.compile(r"(?::|;|,? because|,? so that|\s[-–—])\s")  # noqa: RUF001  dashes
_ENOUGH: Final = 3
"""Content words that identify an instruction without its explanation."""
_LINE_END: Final = re.compile(r"\n|\\n")
"""A line end, also in its JSON-escaped form in a call's arguments."""
CACHED_MESSAGES: Final = 1 << 11
"""Messages whose sentences to cache: rewrites in a row have nearly the same contexts."""


class Restatements:
    """The lines of some messages: all for sentences verbatim, those in prose for other words."""

    def __init__(self, parts: Iterable[Part], words: Iterable[frozenset[str]]) -> None:
        parts = list(parts)
        self._all = LineIndex(_sentences(parts), frozenset())
        spoken = (line for line in _spoken(parts) if not _HEADING.match(line))
        self._spoken = LineIndex(spoken, frozenset().union(*words))
        summaries = _spoken(part for part in parts if part.role in SUMMARIES)
        self._notes = [
            _Note(note.strip(), noted, is_of_user=_OF_USER.search(line) is not None)
            for line in summaries
            if not line.endswith("?")
            for note in _NOTE_END.split(line)
            if (noted := content_words(note))
        ]

    def find(self, text: str, words: frozenset[str]) -> LineMatch:
        """Return the line most like a sentence of these content words."""
        found = self._all.verbatim(text) or self._spoken.nearest(words)
        return found if is_restated(found) else self._note(text) or found

    def _note(self, text: str) -> LineMatch | None:
        """Return the note by which a summary restates a sentence: "NO mock" for "i dont like mocks"."""
        words, core = content_words(mend(text.casefold())), content_words(core_of(text))
        for note in self._notes:
            # A typing error may be in one word.
            if len(note.words - words) > 1 or note.words != shared_words(note.words, words):
                continue
            if note.forbids or (note.is_rule and note.words & core):
                return LineMatch(
                    note.text, len(note.words) / len(words), is_note=True, shared=len(note.words)
                )
        return None


class _Note(NamedTuple):
    """A few words of a summary, and their content words.

    `is_of_user`: its line speaks of the user or of rules.
    """

    text: str
    words: frozenset[str]
    is_of_user: bool

    @property
    def forbids(self) -> bool:
        """True if it rules something out; a single word does so only in a line about the user."""
        names_object = any(each.startswith("not ") and not is_verb(each[4:]) for each in self.words)
        return names_object and (self.is_of_user or len(self.words) > 1)

    @property
    def is_rule(self) -> bool:
        """True if it has enough words, or words of a rule's form."""
        return len(self.words) > _FEW or (
            len(self.words) == _FEW and _SAYS_RULE.search(self.text) is not None
        )


def is_restated(found: LineMatch) -> bool:
    """Return True if a line says the same, rather than sharing a word or two by chance."""
    if found.is_verbatim or found.is_note:
        return True
    is_said = found.shared > _FEW or _SAYS_RULE.search(found.text) is not None
    return found.similarity >= CLOSE_SIMILARITY and is_said


_REQUEST: Final = re.compile(r", (?:can|could|would|will) (?:you|we) [^,?]*\?\W*$")
"""A request after a rule, no part of it: "do nothing, can we add some tests?"."""


@lru_cache(maxsize=1 << 12)
def core_words(rule: str) -> frozenset[str]:
    """Return the content words of a rule's clauses, without explanations if enough remain."""
    whole = content_words(mend(_REQUEST.sub("", rule.casefold())))
    core = content_words(core_of(rule))
    instruction, *explained = _EXPLAINED.split(rule, maxsplit=1)
    short = content_words(mend(instruction.casefold()))
    for words, least in (core, _FEW), (short if explained else core, _ENOUGH):
        if len(words) >= least:
            return words
    return whole


def _sentences(parts: Iterable[Part]) -> Iterator[str]:
    """Return all sentences that a model reads in messages, including code and output."""
    return chain.from_iterable(_sentences_in(part.raw, part.format) for part in parts)


@lru_cache(maxsize=CACHED_MESSAGES)
def _sentences_in(message: bytes, form: str) -> tuple[str, ...]:
    view = view_of_message(message, form)
    texts = () if view.shell and view.shell.excluded else fragments(view)
    return tuple(each for text in texts for each in sentences(_LINE_END.split(text)))


def _spoken(parts: Iterable[Part]) -> Iterator[str]:
    """Return the sentences that are neither output nor arguments of calls."""
    return chain.from_iterable(_spoken_in(part.raw, part.format) for part in parts if part.role in _SPOKEN)


@lru_cache(maxsize=CACHED_MESSAGES)
def _spoken_in(message: bytes, form: str) -> tuple[str, ...]:
    return tuple(sentences(view_of_message(message, form).text.split("\n")))
