"""Divide texts and queries into words, for the index and for showing matches.

A word is a run of letters, digits and marks in any script, without regard to case and Latin accents. Each Chinese
or Japanese character is a word of its own, because such texts put no spaces between words. `findModel` is one word,
and also the words `find` and `model`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate, islice
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final

import msgspec

from eventstore.errors import BadInputError
from eventstore.node import Node
from eventstore.views import Message, Text, Thinking, ToolCall

_WORD: Final = r"0-9A-Za-z\x80-\U0010ffff"
"""The characters of words after `normalized`: those of FTS5's tokenizer `ascii`."""
_HUMP: Final = "(?<=[a-z])(?=[A-Z])"
"""The place between two words in `findModel`."""
_HUMPS: Final = re.compile(_HUMP)
_WITH_HUMPS: Final = re.compile(r"(?<![A-Za-z])[A-Z]*+[a-z]++[A-Z][A-Za-z]*+")
_LONGEST_NAME: Final = 64
"""Characters of the longest name that is divided at its capitals; encoded data is longer."""
_BEGINS: Final = f"(?:(?<![{_WORD}])|{_HUMP})"
_ENDS: Final = f"(?:(?![{_WORD}])|{_HUMP})"
_BETWEEN: Final = f"(?:[^{_WORD}]+|{_HUMP})"
_WORDS: Final = re.compile(f"[{_WORD}]+")
_TERM: Final = re.compile(r'"([^"]*)("?)(\*?)|([^\s"]+)')
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]+")
_SPACE: Final = re.compile(r"\s+")
_ACCENTS: Final = range(0x300, 0x370)
_IDEOGRAPHIC: Final = (range(0x2E80, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x40000))
_MARKED: Final = 1_000
"""Maximum places of one term that are looked at in a text."""


class _Table(dict[int, str]):
    """The replacements of characters, each worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code))
        bare = "".join(each for each in parts if ord(each) not in _ACCENTS)
        folded = unicodedata.normalize("NFC", bare).casefold()
        kept = "".join(each if _is_in_words(each) else " " for each in folded)
        self[code] = found = f" {kept} " if any(code in each for each in _IDEOGRAPHIC) else kept
        return found


def _is_in_words(character: str) -> bool:
    return character.isascii() or character.isalnum() or unicodedata.category(character)[0] == "M"


_TABLE: Final = _Table()


def normalized(text: str) -> str:
    """Fold a text so that everything outside ASCII belongs to a word; keep the case of ASCII."""
    # Most characters are ASCII even in other texts: only the rest is worth a look at the table.
    return text if text.isascii() else _FOREIGN.sub(_translated, text)


def _translated(found: re.Match[str]) -> str:
    return found[0].translate(_TABLE)


def divided_names(normal: str) -> str:
    """Return a normalized text's names with inner capitals, each once, divided at these."""
    names = dict.fromkeys(_WITH_HUMPS.findall(normal))
    return " ".join(_HUMPS.sub(" ", name) for name in names if len(name) <= _LONGEST_NAME)


class Excerpt(msgspec.Struct, frozen=True):
    """A part of a text on one line; `marks` are the (start, stop) ranges that match."""

    text: str
    marks: tuple[tuple[int, int], ...]


class _Term(msgspec.Struct, frozen=True):
    """Words that follow each other; of the last, a beginning is enough if `is_prefix`."""

    words: tuple[str, ...]
    is_prefix: bool

    @property
    def expression(self) -> str:
        """The term in FTS5's query language. The words hold nothing that it would read otherwise."""
        return f'"{" ".join(self.words)}"{" *" * self.is_prefix}'

    @property
    def pattern(self) -> re.Pattern[str]:
        """A pattern that finds the term in a normalized text."""
        words = _BETWEEN.join(f"(?i:{re.escape(word)})" for word in self.words)
        return re.compile(f"{_BEGINS}{words}{'' if self.is_prefix else _ENDS}")


class Query:
    """A parsed query: terms that a text must contain, in any order.

    A term is a word, or a phrase in double quotes; one with punctuation inside, such as `src/a.py`, is a phrase as
    well. A `*` at its end makes it a prefix. Raises BadInputError if a quote is not closed, or if there is no word.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._terms = list(dict.fromkeys(self._parsed(text)))
        if not self._terms:
            raise BadInputError(self._name, "has no letter or digit", "give a word to search for")

    @property
    def _name(self) -> str:
        return f"query {self._text!r}"

    def _parsed(self, text: str) -> Iterator[_Term]:
        for phrase, closing, star, word in _TERM.findall(text):
            if not word and not closing:
                raise BadInputError(
                    self._name, "has a quote that is not closed", 'write a phrase as "two words"'
                )
            words = tuple(_WORDS.findall(normalized(phrase or word).translate(_LOWER)))
            if words:
                yield _Term(words, bool(star) or word.endswith("*"))

    @property
    def expression(self) -> str:
        """The query in FTS5's query language."""
        return " AND ".join(term.expression for term in self._terms)

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [term.pattern for term in self._terms]

    def matches(self, text: str) -> bool:
        """Return True if a text contains all terms."""
        normal = normalized(text)
        return self._may_match(normal) and all(pattern.search(normal) for pattern in self._patterns)

    def _may_match(self, normal: str) -> bool:
        """Return False for a text without a word of the query: faster than patterns."""
        lowered = normal.lower()
        return all(word in lowered for term in self._terms for word in term.words if word.isascii())

    def excerpt(self, text: str, width: int) -> Excerpt | None:
        """Return about `width` characters around the terms of a text, None if it lacks one."""
        normal = normalized(text)
        if not self._may_match(normal):
            return None
        found = [
            [match.span() for match in islice(pattern.finditer(normal), _MARKED)]
            for pattern in self._patterns
        ]
        if not all(found):
            return None
        spans = sorted((*span, term) for term, spans in enumerate(found) for span in spans)
        begin = _richest(spans, width)
        marks = _in_original(
            text, [(start, stop) for start, stop, _ in spans if begin <= start < begin + width]
        )
        return _cut(text, marks, width)


def _richest(spans: list[tuple[int, int, int]], width: int) -> int:
    """Return the start of the first match with the most terms within `width`."""
    counts = dict[int, int]()
    best, most, last = 0, 0, 0
    for start, _, term in spans:
        while last < len(spans) and spans[last][0] < start + width:
            counts[spans[last][2]] = counts.get(spans[last][2], 0) + 1
            last += 1
        if len(counts) > most:
            best, most = start, len(counts)
        counts[term] -= 1
        if not counts[term]:
            del counts[term]
    return best


def _in_original(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges of a text for those of the normalized one."""
    if text.isascii():
        return spans
    ends = list(accumulate(len(_TABLE[ord(each)]) for each in text))
    return [(bisect_right(ends, start), bisect_left(ends, stop) + 1) for start, stop in spans]


def _cut(text: str, marks: list[tuple[int, int]], width: int) -> Excerpt:
    """Cut a text around its marks, between words if possible, and put it on one line."""
    room = max(width - (marks[-1][1] - marks[0][0]), 0)
    start = _between_words(text, max(marks[0][0] - room // 3, 0), marks[0][0])
    stop = min(max(start + width, marks[0][1]), len(text))
    if stop < len(text):
        stop = max(text.rfind(" ", 0, stop), marks[0][1])
    line, ranges, at = "…" if start else "", list[tuple[int, int]](), start
    for begin, end in marks:
        if begin < at or end > stop:
            continue
        line = _appended(line, text[at:begin])
        marked = _appended(line, text[begin:end])
        ranges.append((len(line), len(marked)))
        line, at = marked, end
    line = _appended(line, text[at:stop]).rstrip()
    return Excerpt(line + "…" if stop < len(text) else line, tuple(ranges))


def _between_words(text: str, start: int, stop: int) -> int:
    """Return the first place after a space in `start` to `stop`, `start` for none."""
    found = _SPACE.search(text, start, stop) if start else None
    return found.end() if found else start


def _appended(line: str, text: str) -> str:
    text = _SPACE.sub(" ", text)
    return line + (text.lstrip(" ") if not line or line[-1] in " …" else text)


def text_of_node(view: Node) -> str:
    """Return a record's text: messages, calls, summaries, titles, labels, extensions' data."""
    texts = [text_of_message(message) for message in view.messages]
    if view.summary is not None and not view.messages:
        texts.append(view.summary.summary)
    if view.title is not None:
        texts.append(view.title.text)
    if view.label is not None:
        texts.append(view.label.label)
    if view.extension is not None:
        texts += [view.extension.type, *_texts_in(view.extension.data)]
    return "\n".join(texts if any(texts) else [view.line])


def text_of_message(message: Message) -> str:
    """Return all text of a message: text, thinking, calls with arguments, results, commands."""
    texts = [message.tool_name] if message.tool_name else []
    for block in message.blocks:
        if isinstance(block, Text | Thinking):
            texts.append(block.text)
        elif isinstance(block, ToolCall):
            texts += [block.name, *_texts_in(block.decoded)]
    if message.shell is not None:
        texts += [message.shell.command, message.shell.output]
    if message.extension is not None:
        texts += [message.extension.type, *_texts_in(message.extension.data)]
    return "\n".join(texts)


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value, in order."""
    pending: list[Iterable[Any]] = [iter((value,))]
    while pending:
        for each in pending[-1]:
            if isinstance(each, str):
                yield each
            elif isinstance(each, dict | list):
                pending.append(iter(each.values() if isinstance(each, dict) else each))
                break
            elif isinstance(each, int | float) and not isinstance(each, bool):
                yield str(each)
        else:
            pending.pop()
