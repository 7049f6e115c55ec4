"""What became of the sentences by which the user orders, forbids or prefers."""

from __future__ import annotations

from projections.metrics.shapes import Shape
from projections.replacement import Replacement


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
    """What became of the instructions in H."""
    del replacement
    return Instructions(total=0, kept=0, close=0, gone=0, share=None, sentences=[])
