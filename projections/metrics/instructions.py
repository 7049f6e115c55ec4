"""What became of the sentences by which the user orders, forbids or prefers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from eventstore.estimates import fragments
from eventstore.formats import view_of_message
from projections.context import Part
from projections.extraction.instructions import instructions_in
from projections.extraction.prose import sentences
from projections.metrics.likeness import Lines, content
from projections.metrics.shapes import Shape, share_of
from projections.replacement import Replacement

CLOSE: Final = 0.6
"""The likeness from which an instruction counts as still there in other words: two words of three, three of five."""
_LONGEST_LINE: Final = 300
"""Characters of the nearest line that are given."""
_MARKS: Final = re.compile(r"[*`]+|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_ENDS: Final = " .!;:,…\"'“”()"


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


class _Given(msgspec.Struct, frozen=True):
    """An instruction, the message that gave it first, its text as it is compared and its content words."""

    sentence: str
    part: Part
    plain: str
    words: frozenset[str]


def instructions(replacement: Replacement) -> Instructions:
    """What became of the instructions that the user's messages in H give, each by the first one that gives it.

    Kept is one that stands in a sentence of C′ as it is, but for case, white space and Markdown; close one of
    whose content words a line has 60 % or more; gone any other. A word that is negated in one and not in the
    other counts for neither: an order and its prohibition are not alike.
    """
    given = list(_given(replacement.removed))
    lines = list(dict.fromkeys(_lines(replacement.after.parts))) if given else []
    vocabulary = frozenset[str]().union(*(each.words for each in given))
    index = Lines(lines, vocabulary)
    fates = [_fate(each, index) for each in given]
    kept, close, gone = (sum(each.fate == fate for each in fates) for fate in ("kept", "close", "gone"))
    share = share_of(kept + close, len(fates))
    return Instructions(
        total=len(fates), kept=kept, close=close, gone=gone, share=share.share, sentences=fates
    )
