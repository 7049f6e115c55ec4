"""Regret: what had to be done again after a replacement."""

from __future__ import annotations

from projections.metrics.shapes import Shape


class Repeat(Shape, frozen=True):
    """A call made again with the same arguments, its target unwritten in between.

    `after_calls` is its place among the calls after the replacement, from 1.
    """

    tool: str
    target: str
    first: str
    first_seq: int
    again: str
    again_seq: int
    after_calls: int


class SameError(Shape, frozen=True):
    """An error met in H and again later."""

    error: str
    first: str
    first_seq: int
    again: str
    again_seq: int


class Rereads(Shape, frozen=True):
    """Reads of files that H had read and nothing wrote since, within the next 3, 10 and all calls."""

    next3: int
    next10: int
    all: int


class Regret(Shape, frozen=True):
    """Calls after the replacement (`calls`), how many of them repeat one whose result was removed, re-reads, errors.

    `rounds_to_new_action` counts the model's messages up to the first call that is not a repeat, None where none came.
    """

    calls: int
    repeated: int
    rereads: Rereads
    rounds_to_new_action: int | None
    repeats: list[Repeat]
    errors: list[SameError]
