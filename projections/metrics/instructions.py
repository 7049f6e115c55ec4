"""What became of the sentences by which the user orders, forbids or prefers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from eventstore.estimates import fragments
from eventstore.formats import view_of_event, view_of_message
from projections.context.parts import Part
from projections.mentions.instructions import instructions_in, is_instruction
from projections.mentions.prose import sentences
from projections.metrics.likeness import Lines, collapsed, content
from projections.metrics.shapes import Shape, share_of
from projections.replacement import Replacement

CLOSE: Final = 0.6
"""The likeness from which an instruction counts as still there in other words: two words of three, three of five."""
_LONGEST_LINE: Final = 300
"""Characters of the nearest line that are given."""
_SUMMARIES: Final = frozenset({"compactionSummary", "branchSummary"})
_EXPLAINED: Final = re.compile(r"(?::|;|,? because|,? so that|\s[-–—])\s")  # noqa: RUF001  dashes
_ENOUGH: Final = 3
"""Content words by which an instruction can be told without what explains it."""
_LINE_END: Final = re.compile(r"\n|\\n")
"""Also as it is written in the JSON of a call's arguments."""


class InstructionFate(Shape, frozen=True):
    """A sentence of the user's, given in H or carried by a summary in H: `fate` is kept, close or gone.

    `nearest` is the line of C′ that is most like it, `likeness` how much, from 0 to 1.
    """

    sentence: str
    event: str
    seq: int
    fate: str
    likeness: float
    nearest: str


class Instructions(Shape, frozen=True):
    """The instructions in H, counted by fate; `share` is (kept + close) / total, None where there were none."""

    total: int
    kept: int
    close: int
    gone: int
    share: float | None
    sentences: list[InstructionFate]


def instructions(replacement: Replacement) -> Instructions:
    """What became of the instructions that H gave, each by the first of the user's messages that gives it.

    Those count, too, that were given before C begins, and that a summary in H still told: a summary of a
    summary may lose them. One is kept that stands in a sentence of C′ as it is, but for case, white space and
    Markdown; close if its likeness to a sentence of C′ is `CLOSE` or more; else gone.
    """
    given = {**_carried(replacement), **_given(_said(replacement.removed))}
    words = {sentence: _compared(sentence) for sentence in given}
    lines = Lines(_sentences(replacement.after.parts) if given else (), frozenset().union(*words.values()))
    fates = []
    for sentence, said in given.items():
        found = lines.verbatim(sentence) or lines.nearest(words[sentence])
        fates.append(
            InstructionFate(
                sentence=sentence,
                event=said.id,
                seq=said.seq,
                fate="kept" if found.is_verbatim else "close" if found.likeness >= CLOSE else "gone",
                likeness=found.likeness,
                nearest=found.text[:_LONGEST_LINE],
            )
        )
    kept, close, gone = (sum(each.fate == fate for each in fates) for fate in ("kept", "close", "gone"))
    share = share_of(kept + close, len(fates)).share
    return Instructions(total=len(fates), kept=kept, close=close, gone=gone, share=share, sentences=fates)


class _Said(NamedTuple):
    """A message of the user's."""

    id: str
    seq: int
    text: str


def _said(parts: Iterable[Part]) -> Iterator[_Said]:
    for part in parts:
        if part.role == "user":
            yield _Said(part.id, part.seq, view_of_message(part.raw).text)


def _said_before(replacement: Replacement) -> Iterator[_Said]:
    """The user's messages above the replacement that C does not show."""
    shown = {part.seq for part in replacement.before.parts}
    for event in replacement.earlier:
        if event.role == "user" and event.seq not in shown and (view := view_of_event(event)):
            yield _Said(event.id, event.seq, view.text)


def _given(messages: Iterable[_Said]) -> dict[str, _Said]:
    """The instructions in the user's messages, each with the first message that gives it."""
    first: dict[str, tuple[str, _Said]] = {}
    for said in messages:
        for sentence in instructions_in(said.text):
            first.setdefault(collapsed(sentence), (sentence, said))
    return dict(first.values())


def _carried(replacement: Replacement) -> dict[str, _Said]:
    """The instructions from before C that a summary in H tells, as they are or close to it."""
    summaries = [part for part in replacement.removed if part.role in _SUMMARIES]
    given = _given(_said_before(replacement)) if summaries else {}
    words = {sentence: _compared(sentence) for sentence in given}
    lines = Lines(_sentences(summaries) if given else (), frozenset().union(*words.values()))
    return {
        sentence: said
        for sentence, said in given.items()
        if lines.verbatim(sentence) or lines.nearest(words[sentence]).likeness >= CLOSE
    }


def _compared(sentence: str) -> frozenset[str]:
    """The content words of an instruction, without what explains it if enough of them stand before that."""
    told, *explained = _EXPLAINED.split(sentence, maxsplit=1)
    words = content(told)
    return words if explained and len(words) >= _ENOUGH and is_instruction(told) else content(sentence)


def _sentences(parts: Iterable[Part]) -> Iterator[str]:
    """The sentences of all that a model reads in messages, code and output, too."""
    for part in parts:
        view = view_of_message(part.raw)
        for text in () if view.shell and view.shell.excluded else fragments(view):
            yield from sentences(_LINE_END.split(text))
