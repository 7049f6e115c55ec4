"""What became of the sentences by which the user orders, forbids or prefers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from eventstore.estimates import fragments
from eventstore.formats import view_of_message
from projections.context import Part
from projections.extraction.instructions import instructions_in, is_instruction
from projections.extraction.prose import sentences
from projections.metrics.likeness import Lines, collapsed, content
from projections.metrics.shapes import Shape, share_of
from projections.replacement import Replacement

CLOSE: Final = 0.6
"""The likeness from which an instruction counts as still there in other words: two words of three, three of five."""
_LONGEST_LINE: Final = 300
"""Characters of the nearest line that are given."""
_EXPLAINED: Final = re.compile(r"(?::|;|,? because|,? so that|\s[-–—])\s")  # noqa: RUF001  dashes
_ENOUGH: Final = 3
"""Content words by which an instruction can be told without what explains it."""
_LINE_END: Final = re.compile(r"\n|\\n")
"""Also as it is written in the JSON of a call's arguments."""


class InstructionFate(Shape, frozen=True):
    """A sentence of the user's in H: `fate` is kept, close or gone.

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
    """What became of the instructions in H, each by the first of the user's messages that gives it.

    One is kept that stands in a sentence of C′ as it is, but for case, white space and Markdown; close if its
    likeness to a sentence of C′ is `CLOSE` or more; else gone.
    """
    given = _given(replacement.removed)
    words = {sentence: _compared(sentence) for sentence in given}
    lines = Lines(_sentences(replacement.after.parts) if given else (), frozenset().union(*words.values()))
    fates = []
    for sentence, part in given.items():
        found = lines.verbatim(sentence) or lines.nearest(words[sentence])
        fates.append(
            InstructionFate(
                sentence=sentence,
                event=part.id,
                seq=part.seq,
                fate="kept" if found.is_verbatim else "close" if found.likeness >= CLOSE else "gone",
                likeness=found.likeness,
                nearest=found.text[:_LONGEST_LINE],
            )
        )
    kept, close, gone = (sum(each.fate == fate for each in fates) for fate in ("kept", "close", "gone"))
    share = share_of(kept + close, len(fates)).share
    return Instructions(total=len(fates), kept=kept, close=close, gone=gone, share=share, sentences=fates)


def _given(parts: Iterable[Part]) -> dict[str, Part]:
    """The instructions in the user's messages, each with the first message that gives it."""
    first: dict[str, tuple[str, Part]] = {}
    for part in parts:
        if part.role == "user":
            for sentence in instructions_in(view_of_message(part.raw).text):
                first.setdefault(collapsed(sentence), (sentence, part))
    return dict(first.values())


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
