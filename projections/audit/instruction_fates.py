"""Track the user's orders, prohibitions and preferences through a replacement."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from typing import Final, NamedTuple

from eventstore.estimates import fragments
from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.paths import SnapshotCache
from projections.audit.measure import EventRef, MetricStruct, share_of
from projections.context.parts import Part, is_by_person, view_of_part
from projections.mentions.instructions import instructions_in, is_instruction
from projections.mentions.prose import sentences
from projections.mentions.standing_rules import InstructionKind, kind_of
from projections.replacement import Replacement

_WORD: Final = re.compile(r"[\w$#][\w$@#./:\\'+-]*")
_AROUND: Final = "./:\\'+-"
_NAME: Final = re.compile(r"[\d_./:\\$@#]")
"""Characters that tell a path or a symbol from a word."""
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
"""Words before a "not" that negates a verb; others start a contrast: `tabs not spaces`."""
_STOP_WORDS: Final = frozenset(
    "a about all also always am an and any are as at be been but by can could did do does doing done ever for"
    " from had has have he her here him his how however i if in instead into is it its just let let's lets"
    " make may me might must my need needs nor not now of ok on only or our out please rather really shall she"
    " should so some sure than that the their them then there these they this those to too unless until up us"
    " very want was we were what when where which while who will with without would you your".split()
)
"""Words that carry no meaning of their own, and negations."""
_ENDINGS: Final = re.compile(r"(?:ing|ed|es|s)$")
_SHORTEST_STEM: Final = 3
_VOWELS: Final = frozenset("aeiouy")
_MARKS: Final = re.compile(r"[*`]+|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_ENDS: Final = " .!;:,…\"'“”()"
_PIECE: Final = 40
"""Words of a long line compared at a time, so that a page is not like everything."""
_REMEMBERED: Final = 1 << 12
"""Sentences whose words to cache: summaries are read twice, and instructions at every compaction."""


class LineMatch(NamedTuple):
    """A line that resembles a sentence.

    `similarity` is the share of the sentence's content words that the line has.
    """

    text: str
    similarity: float
    is_verbatim: bool = False


@lru_cache(maxsize=_REMEMBERED)
def content_words(sentence: str) -> frozenset[str]:
    """Return the stems of a sentence's content words, as `not STEM` in a negated clause.

    Paths and symbols are kept as they are. Case is ignored.
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
    """Strip a plural, `-ing` or `-ed` ending from a word.

    Also undo what the ending does to the stem: a dropped `e`, a doubled letter.
    """
    if _NAME.search(word):
        return word
    if word.endswith(("ies", "ied")) and len(word) > _SHORTEST_STEM + 1:
        return word[:-3] + "y"
    bare = _ENDINGS.sub("", word) if not word.endswith("ss") else word
    stem = bare if len(bare) >= _SHORTEST_STEM - 1 and not _VOWELS.isdisjoint(bare) else word
    stem = stem.removesuffix("e") if len(stem) > _SHORTEST_STEM - 1 else stem
    return stem[:-1] if len(stem) > _SHORTEST_STEM - 1 and stem[-1:] == stem[-2:-1] else stem


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
        for line in self._lines:
            for piece in _pieces(line):
                for word in content_words(piece) & vocabulary:
                    self._having[word].append(len(self._pieces))
                self._pieces.append(piece)

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
        return LineMatch(self._pieces[place], counts[place] / len(words))

    @cached_property
    def _text(self) -> tuple[str, list[int]]:
        """All lines, normalized and joined, and the offset of each."""
        plain = [normalize(line) for line in self._lines]
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


CLOSE_SIMILARITY: Final = 0.6
"""The minimum similarity of a restated instruction: two words of three, three of five."""
_LONGEST_LINE: Final = 300
"""Characters of the nearest line to report."""
_SUMMARIES: Final = frozenset({"compactionSummary", "branchSummary"})
_EXPLAINED: Final = re.compile(r"(?::|;|,? because|,? so that|\s[-–—])\s")  # noqa: RUF001  dashes
_ENOUGH: Final = 3
"""Content words that identify an instruction without its explanation."""
_LINE_END: Final = re.compile(r"\n|\\n")
"""A line end, also in its JSON-escaped form in a call's arguments."""


class Rule(MetricStruct, frozen=True):
    """A standing rule of the user's; `event` is the first message that gives it.

    `state` is "tail" if such a message is still in C′, "kept" if another message of C′ says it in any words,
    else "gone". `nearest` is the most similar line of C′, and `similarity` its score from 0 to 1.
    `broken_by` are later events in which the model acted against the rule, and `repeated_by` later messages
    in which the user gives it again, both in order.
    """

    text: str
    event: str
    seq: int
    state: str
    similarity: float
    nearest: str
    broken_by: list[EventRef]
    repeated_by: list[EventRef]


class Task(MetricStruct, frozen=True):
    """Something that the user asked for once. `state` is "done", "unfinished" or "dropped"."""

    text: str
    event: str
    seq: int
    state: str


class Instructions(MetricStruct, frozen=True):
    """The rules and tasks in C, and those that a summary in C carried.

    `total` counts the rules that left with H: those kept or gone. `share` is kept / total, None if there were
    none. Rules in the tail count in `tail` only.
    """

    total: int
    kept: int
    gone: int
    tail: int
    share: float | None
    rules: list[Rule]
    tasks: list[Task]


def instructions(replacement: Replacement) -> Instructions:
    """Return the state of each rule and task in C, attributed to the first user message that gives it.

    Includes those from before C that a summary in H still carried, because a summary of a summary may lose
    them.
    """
    given = {**_carried_by_summaries(replacement), **_first_given(_user_messages(replacement.before.parts))}
    kept = {normalize(each) for message in _user_messages(replacement.kept) for each in message.instructions}
    words = {sentence: _core_words(sentence) for sentence in given}
    lines = LineIndex(
        _sentences(replacement.after.parts) if given else (), frozenset().union(*words.values())
    )
    rules, tasks = [], []
    for sentence, message in given.items():
        found = lines.verbatim(sentence) or lines.nearest(words[sentence])
        if kind_of(sentence) is InstructionKind.TASK:
            tasks.append(Task(text=sentence, event=message.id, seq=message.seq, state="done"))
            continue
        stays = found.is_verbatim or found.similarity >= CLOSE_SIMILARITY
        rules.append(
            Rule(
                text=sentence,
                event=message.id,
                seq=message.seq,
                state="tail" if normalize(sentence) in kept else "kept" if stays else "gone",
                similarity=found.similarity,
                nearest=found.text[:_LONGEST_LINE],
                broken_by=[],
                repeated_by=[],
            )
        )
    states = Counter(each.state for each in rules)
    left = states["kept"] + states["gone"]
    return Instructions(
        total=left,
        kept=states["kept"],
        gone=states["gone"],
        tail=states["tail"],
        share=share_of(states["kept"], left).share,
        rules=rules,
        tasks=tasks,
    )


class _UserMessage(NamedTuple):
    """A user message and the instructions in it."""

    id: str
    seq: int
    instructions: tuple[str, ...]


_INSTRUCTIONS: Final = SnapshotCache[tuple[str, ...]](1 << 16)
"""The instructions in events that the user wrote, because every later compaction asks for them again."""


def _user_messages(parts: Iterable[Part]) -> Iterator[_UserMessage]:
    for part in parts:
        if part.by_person:
            yield _UserMessage(part.id, part.seq, tuple(instructions_in(view_of_part(part).text)))


def _earlier_user_messages(replacement: Replacement) -> Iterator[_UserMessage]:
    """Yield the user's messages above the replacement that C does not show."""
    shown = {each for part in replacement.before.parts for each in part.events}
    for event in replacement.earlier:
        if (event.session, event.seq) not in shown:
            given = _INSTRUCTIONS.get(event.digest, partial(_instructions_of, event))
            if given:
                yield _UserMessage(event.id, event.seq, given)


def _instructions_of(event: Event) -> tuple[str, ...]:
    """Return the instructions in an event, none if the user did not write it."""
    view = view_of_event(event) if is_by_person(event) else None
    return tuple(instructions_in(view.text)) if view else ()


def _first_given(messages: Iterable[_UserMessage]) -> dict[str, _UserMessage]:
    """Return the instructions in user messages, each with the first message that gives it."""
    first: dict[str, tuple[str, _UserMessage]] = {}
    for message in messages:
        for sentence in message.instructions:
            first.setdefault(normalize(sentence), (sentence, message))
    return dict(first.values())


def _carried_by_summaries(replacement: Replacement) -> dict[str, _UserMessage]:
    """Return the instructions from before C that a summary in H restates."""
    summaries = [part for part in replacement.removed if part.role in _SUMMARIES]
    given = _first_given(_earlier_user_messages(replacement)) if summaries else {}
    words = {sentence: _core_words(sentence) for sentence in given}
    lines = LineIndex(_sentences(summaries) if given else (), frozenset().union(*words.values()))
    return {
        sentence: message
        for sentence, message in given.items()
        if lines.verbatim(sentence) or lines.nearest(words[sentence]).similarity >= CLOSE_SIMILARITY
    }


def _core_words(sentence: str) -> frozenset[str]:
    """Return the content words of an instruction, without its explanation if enough remain."""
    instruction, *explained = _EXPLAINED.split(sentence, maxsplit=1)
    words = content_words(instruction)
    return (
        words
        if explained and len(words) >= _ENOUGH and is_instruction(instruction)
        else content_words(sentence)
    )


def _sentences(parts: Iterable[Part]) -> Iterator[str]:
    """Yield all sentences that a model reads in messages, including code and output."""
    for part in parts:
        view = view_of_part(part)
        for text in () if view.shell and view.shell.excluded else fragments(view):
            yield from sentences(_LINE_END.split(text))
