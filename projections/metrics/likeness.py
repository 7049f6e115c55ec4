"""How alike two sentences are: by the words that carry them, and by what they negate."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"[\w$#][\w$@#./:\\'+-]*")
_AROUND: Final = "./:\\'+-"
_NAME: Final = re.compile(r"[\d_./:\\$@#]")
"""What tells a path or a symbol from a word."""
_CLAUSE_END: Final = re.compile(
    r"(?<![,;:!?()\[\]|…—–\"“”])[,;:!?()\[\]|…—–\"“”]++(?=\s|$)|\.(?=\s|$)|\s[-–—(]+"  # noqa: RUF001  dashes
    r"|\b(?=(?:but|however|without|unless|except|instead of|rather than)\b)"
    r"|\b(?:and|or)\s+(?=(?:do not|don't|never|no|not|must not|avoid)\b)"
)
_NEGATES: Final = re.compile(
    r"\b(?:\w+n't|dont|not|never|no|none|nothing|nobody|neither|nor|cannot|avoid\w*|forbid\w*|prohibit\w*|ban|banned"
    r"|disallow\w*|refrain\w*|refus\w*|stop|without|unless|except|instead of|rather than|off-limits)\b"
)
_REMINDS: Final = re.compile(r"\b(?:do not|don't|never) forget(?: to)?\b")
_BEFORE_NOT: Final = re.compile(r"\b(\w+)\s+(?=not\b)")
_AUXILIARIES: Final = frozenset(
    "am and are be been but can could did do does had has have if is may might must need or ought please"
    " shall should to was were will would".split()
)
"""Words before a "not" that goes with a verb; behind others it begins a contrast, as in `tabs not spaces`."""
_STOP_WORDS: Final = frozenset(
    "a about all also always am an and any are as at be been but by can could did do does doing done ever for"
    " from had has have he her here him his how however i if in instead into is it its just let let's lets"
    " make may me might must my need needs nor not now of ok on only or our out please rather really shall she"
    " should so some sure than that the their them then there these they this those to too unless until up us"
    " very want was we were what when where which while who will with without would you your".split()
)
"""Words that say nothing of what is meant, and those that negate."""
_ENDINGS: Final = re.compile(r"(?:ing|ed|es|s)$")
_SHORTEST_STEM: Final = 3
_VOWELS: Final = frozenset("aeiouy")
_MARKS: Final = re.compile(r"[*`]+|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_ENDS: Final = " .!;:,…\"'“”()"
_PIECE: Final = 40
"""Words of a long line that are compared at a time, so that a page of output is not like everything."""


class Found(NamedTuple):
    """A text like a sentence: `likeness` is the share of the sentence's content words that it has."""

    text: str
    likeness: float
    is_verbatim: bool = False


def content(sentence: str) -> frozenset[str]:
    """The words of a sentence that carry it, by their stems; `not STEM` where its clause negates them.

    Paths and symbols are words as they stand. Case does not count.
    """
    return frozenset(_content(sentence))


def _content(sentence: str) -> Iterator[str]:
    text = _REMINDS.sub("", sentence.casefold().replace("’", "'"))  # noqa: RUF001  an apostrophe
    for clause in _CLAUSE_END.split(_BEFORE_NOT.sub(_contrast, text)):
        mark = "not " if _NEGATES.search(clause) else ""
        for found in _WORD.findall(clause):
            word = found.strip(_AROUND)
            if word and word not in _STOP_WORDS and not _NEGATES.fullmatch(word):
                yield mark + _stem(word)


def _contrast(before_not: re.Match[str]) -> str:
    return before_not[0] if before_not[1] in _AUXILIARIES else f"{before_not[1]}, "


def _stem(word: str) -> str:
    """A word without the ending of a plural, `-ing` or `-ed`, and what these do to a stem: an `e`, a double letter."""
    if _NAME.search(word):
        return word
    if word.endswith(("ies", "ied")) and len(word) > _SHORTEST_STEM + 1:
        return word[:-3] + "y"
    bare = _ENDINGS.sub("", word) if not word.endswith("ss") else word
    stem = bare if len(bare) >= _SHORTEST_STEM - 1 and not _VOWELS.isdisjoint(bare) else word
    stem = stem.removesuffix("e") if len(stem) > _SHORTEST_STEM - 1 else stem
    return stem[:-1] if len(stem) > _SHORTEST_STEM - 1 and stem[-1:] == stem[-2:-1] else stem


def collapsed(text: str) -> str:
    """A text as it is compared word for word: in lower case, without Markdown's marks, with single spaces."""
    return " ".join(_MARKS.sub("", text.casefold().replace("’", "'")).split()).strip(_ENDS)  # noqa: RUF001


class Lines:
    """Lines in which to find sentences, as they are or in other words."""

    def __init__(self, lines: Iterable[str], vocabulary: AbstractSet[str]) -> None:
        """Index lines by those of their content words that are in `vocabulary`.

        Long ones are compared by pieces of 40 words, each of which begins in the middle of the one before.
        """
        self._lines = list(dict.fromkeys(lines))
        self._pieces: list[str] = []
        self._having: dict[str, list[int]] = defaultdict(list)
        for line in self._lines:
            for piece in _pieces(line):
                for word in content(piece) & vocabulary:
                    self._having[word].append(len(self._pieces))
                self._pieces.append(piece)

    def verbatim(self, sentence: str) -> Found | None:
        """The first line that has a sentence as whole words, and negates what it negates; None if none does."""
        searched, words = collapsed(sentence), content(sentence)
        text, starts = self._text
        at = text.find(searched) if searched else -1
        while at >= 0:
            place = bisect_right(starts, at) - 1
            if _is_whole(text, at, at + len(searched)):
                if words <= content(self._lines[place]):
                    return Found(self._lines[place], 1.0, is_verbatim=True)
                at = starts[place + 1] - 1
            at = text.find(searched, at + 1)
        return None

    def nearest(self, words: AbstractSet[str]) -> Found:
        """What has most of some content words, the first of several; "" where nothing has any."""
        counts = Counter(place for word in words for place in self._having.get(word, ()))
        if not counts:
            return Found("", 0.0)
        place = min(counts, key=lambda each: (-counts[each], each))
        return Found(self._pieces[place], counts[place] / len(words))

    @cached_property
    def _text(self) -> tuple[str, list[int]]:
        """All lines, collapsed, and where each begins, and where the next one would."""
        plain = [collapsed(line) for line in self._lines]
        starts = list(accumulate((len(line) + 1 for line in plain), initial=0))
        return "\n".join(plain), starts


def _is_whole(text: str, start: int, stop: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[stop : stop + 1].isalnum())


def _pieces(line: str) -> Iterator[str]:
    words = line.split()
    if len(words) <= _PIECE:
        yield line
        return
    for start in range(0, len(words) - _PIECE // 2, _PIECE // 2):
        yield " ".join(words[start : start + _PIECE])
