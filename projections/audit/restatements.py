"""Find sentences again in other texts, verbatim or in other words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from projections.mentions.wording import VERBS

if TYPE_CHECKING:
    import Stemmer

_WORD: Final = re.compile(r"[\w$#][\w$@#./:\\'+-]*")
_AROUND: Final = "./:\\'+-"
_NAME: Final = re.compile(r"[\d_./:\\$@#]")
"""Characters that tell a path or a symbol from a word."""
_TURN: Final = r"(?=(?:but|however|without|unless|except|instead of|rather than)\b)"
"""Precedes a word that begins a clause."""
_CLAUSE_END: Final = re.compile(
    r"(?<![,;:!?()\[\]|…—–\"“”])[,;:!?()\[\]|…—–\"“”]++(?=\s|$)|\.(?=\s|$)|\s[-–—(]+"  # noqa: RUF001  dashes
    rf"|\b{_TURN}"
    r"|\b(?:and|or)\s+(?=(?:do not|don't|never|no|not|must not|avoid)\b)"
)
_NEGATES: Final = re.compile(
    r"\b(?:\w+n't|dont|not|never|no|none|nothing|nobody|neither|nor|cannot|avoid\w*|forbid\w*|prohibit\w*|ban|banned"
    r"|disallow\w*|refrain\w*|refus\w*|stop|without|unless|except|instead of|rather than|off-limits"
    r"|untouched|unchanged|as (?:is|they are)|alone)\b"
)
_DIVIDES: Final = re.compile(rf"\b(?:but|however)\b|{_NEGATES.pattern}")
"""A negation, or a word at which a clause begins even inside another word with hyphens."""
_DIVIDES_WORDS: Final = re.compile(
    rf"\b(?:{_TURN}"
    r"|(?:and|or)\s+(?=(?:do not|don't|never|no|must not|avoid)\b))"
)
"""The ends of clauses that may be inside a word with hyphens."""
_REMINDS: Final = re.compile(r"\b(?:do not|don't|never) forget(?: to)?\b")
_BEFORE_NOT: Final = re.compile(r"\b(\w+)\s+(?=not\b)")
_AUXILIARIES: Final = frozenset(
    "am and are be been but can could did do does had has have if is may might must need or ought please"
    " shall should to was were will would".split()
)
"""Words before a "not" that negates a verb; others start a contrast: `tabs not spaces`."""
_STOP_WORDS: Final = frozenset(
    "a about all also always am an and any are as at be been but by can could did do does doing done ever for"
    " from had has have he her here him his how however i if in instead into is it its just let let's lets"
    " make may me might must my need needs nor not now of ok on only or our out please rather really shall she"
    " should so some sure than that the their them then there these they this those to too unless until up us"
    " very want wants wanted around btw reference user prefer prefers preferred was we were what when"
    " where which while who will with without would you your".split()
)
"""Words that carry no meaning of their own, and negations."""
_ACTS_ALIKE: Final = (
    "chang alter edit leav modifi rewrit touch",
    "delet drop eras remov",
    "keep maintain preserv retain",
    "execut run",
    "approv agre confirm consent permiss ask",
)
_THINGS_ALIKE: Final = (
    "depend librari packag",
    "doc document docstr",
    "repo repositori",
    "e2e end-to-end",
    "config configur",
)
_SAME: Final = {same: words.split()[0] for words in (*_ACTS_ALIKE, *_THINGS_ALIKE) for same in words.split()}
"""Stems that count as the first of their line."""
_ACTS: Final = frozenset(words.split()[0] for words in _ACTS_ALIKE)
_MARKS: Final = re.compile(r"[*`]+|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_ENDS: Final = " .!;:,…\"'“”()"
_PIECE: Final = 40
"""Words of a long line compared at a time, so that a page is not like everything."""
_REMEMBERED: Final = 1 << 12
"""Sentences whose words to cache: instructions are read again at every compaction."""

_REMEMBERED_WORDS: Final = 1 << 14
"""Words whose stems to cache: a few make up most of what is said."""


class LineMatch(NamedTuple):
    """A line that resembles a sentence.

    `similarity` is the share of the sentence's content words that the line has, `shared` their number. `is_note`
    means that it is a summary's note of the sentence, in few words.
    """

    text: str
    similarity: float
    is_verbatim: bool = False
    shared: int = 0
    is_note: bool = False


@lru_cache(maxsize=_REMEMBERED)
def content_words(sentence: str) -> frozenset[str]:
    """Return the stems of a sentence's content words, as `not STEM` in a negated clause.

    Paths and symbols are kept as they are. Case is ignored.
    """
    return frozenset(_content(sentence))


@lru_cache(maxsize=_REMEMBERED)
def words_of(text: str) -> frozenset[str]:
    """Return the stems of a text's content words, negated or not.

    These are the words of `content_words` without their marks, found without dividing the text into clauses.
    """
    pieces = _DIVIDES_WORDS.split(_without_reminders(text))
    return frozenset(filter(None, map(_content_word, _WORD.findall("\n".join(pieces)))))


def _without_reminders(text: str) -> str:
    plain = text.casefold().replace("’", "'")  # noqa: RUF001  an apostrophe
    return _REMINDS.sub("", plain) if "forget" in plain else plain


def _content(sentence: str) -> Iterator[str]:
    text = _without_reminders(sentence)
    if not _DIVIDES.search(text):
        # Most texts negate nothing, so it does not matter where their clauses end.
        yield from filter(None, map(_content_word, _WORD.findall(text)))
        return
    for clause in _CLAUSE_END.split(_BEFORE_NOT.sub(_contrast, text)):
        mark = "not " if _NEGATES.search(clause) else ""
        yield from (mark + word for word in map(_content_word, _WORD.findall(clause)) if word)


@lru_cache(maxsize=_REMEMBERED_WORDS)
def _content_word(found: str) -> str:
    """Return the stem of a word, "" if it is none that carries content."""
    word = found.strip(_AROUND)
    is_content = word and word not in _STOP_WORDS and not _NEGATES.fullmatch(word)
    return _stem(word) if is_content else ""


@lru_cache(maxsize=1)
def _verbs() -> frozenset[str]:
    return frozenset(map(_stem, VERBS)) | _ACTS


def is_verb(stem: str) -> bool:
    """Return True for a verb's stem, which says little without an object: "change nothing"."""
    return stem in _verbs()


def _contrast(before_not: re.Match[str]) -> str:
    return before_not[0] if before_not[1] in _AUXILIARIES else f"{before_not[1]}, "


def _stem(word: str) -> str:
    """Return the stem that stands for a word and those that mean the same; names are their own."""
    if _NAME.search(word):
        return word
    stem = str(_stemmer().stemWord(word))
    return _SAME.get(stem, stem)


@lru_cache(maxsize=1)
def _stemmer() -> Stemmer.Stemmer:
    import Stemmer  # noqa: PLC0415  heavy

    return Stemmer.Stemmer("english")


@lru_cache(maxsize=_REMEMBERED)
def normalize(text: str) -> str:
    """Return a text for comparison: lower case, no Markdown marks, single spaces."""
    return " ".join(_MARKS.sub("", text.casefold().replace("’", "'")).split()).strip(_ENDS)  # noqa: RUF001


class LineIndex:
    """An index of lines to search for sentences, verbatim or in other words."""

    def __init__(self, lines: Iterable[str], vocabulary: AbstractSet[str]) -> None:
        """Index lines by those of their content words that are in `vocabulary`.

        Long lines are indexed in overlapping pieces of 40 words.
        """
        self._lines = list(dict.fromkeys(lines))
        self._pieces: list[str] = []
        self._having: dict[str, list[int]] = defaultdict(list)
        others = set[str]()
        for line in self._lines if vocabulary else ():
            for piece in _pieces(line):
                words = content_words(piece)
                others |= words
                for word in words & vocabulary:
                    self._having[word].append(len(self._pieces))
                self._pieces.append(piece)
        self._index_misspelled(vocabulary - self._having.keys(), others)

    def _index_misspelled(self, missing: AbstractSet[str], others: AbstractSet[str]) -> None:
        """Index words that no line has by those that differ from them in a typing error."""
        meant = {word: each for word in missing if (each := _respelled(word, others)) is not None}
        for place, piece in enumerate(self._pieces if meant else ()):
            words = content_words(piece)
            for word, each in meant.items():
                if each in words:
                    self._having[word].append(place)

    def verbatim(self, sentence: str) -> LineMatch | None:
        """Return the first line with all words of a sentence in order and equal negation, or None."""
        searched, words = normalize(sentence), content_words(sentence)
        text, starts = self._text
        at = text.find(searched) if searched else -1
        while at >= 0:
            place = bisect_right(starts, at) - 1
            if _is_whole(text, at, at + len(searched)):
                if words <= content_words(self._lines[place]):
                    return LineMatch(self._lines[place], 1.0, is_verbatim=True)
                at = starts[place + 1] - 1
            at = text.find(searched, at + 1)
        return None

    def nearest(self, words: AbstractSet[str]) -> LineMatch:
        """Return the first line with the most of the given content words; "" if none has any."""
        counts = Counter(place for word in words for place in self._having.get(word, ()))
        if not counts:
            return LineMatch("", 0.0)
        place = min(counts, key=lambda each: (-counts[each], each))
        return LineMatch(self._pieces[place], counts[place] / len(words), shared=counts[place])

    @cached_property
    def _text(self) -> tuple[str, list[int]]:
        """All lines, normalized and joined, and the offset of each."""
        plain = [normalize(line) for line in self._lines]
        starts = list(accumulate((len(line) + 1 for line in plain), initial=0))
        return "\n".join(plain), starts


def shared_words(words: AbstractSet[str], others: AbstractSet[str]) -> frozenset[str]:
    """Return the words that others have too, in spite of typing errors."""
    return frozenset(word for word in words if word in others or _respelled(word, others) is not None)


_SHORTEST_RESPELLED: Final = 5
"""Letters of a word in which one wrong letter is an error rather than another word."""


def _respelled(word: str, others: AbstractSet[str]) -> str | None:
    """Return one of the others that differs from a word in one letter, None if there is none."""
    if len(word.removeprefix("not ")) < _SHORTEST_RESPELLED or _NAME.search(word):
        return None
    from rapidfuzz import process  # noqa: PLC0415  heavy
    from rapidfuzz.distance import OSA  # noqa: PLC0415  heavy

    near = [each for each in others if each[:5] == word[:5] or sorted(each) == sorted(word)]
    found = process.extractOne(word, near, scorer=OSA.distance, score_cutoff=1)
    return found[0] if found else None


def _is_whole(text: str, start: int, stop: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[stop : stop + 1].isalnum())


def _pieces(line: str) -> Iterator[str]:
    words = line.split()
    if len(words) <= _PIECE:
        yield line
        return
    for start in range(0, len(words) - _PIECE // 2, _PIECE // 2):
        yield " ".join(words[start : start + _PIECE])
