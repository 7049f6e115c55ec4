"""Future-use recall: what of the removed was needed later, and was still there."""

from __future__ import annotations

from projections.metrics.shapes import Shape


class Loss(Shape, frozen=True):
    """A thing that C′ does not name, though it was needed.

    `had` is the first message of H that named it, `needed` the first later message of the model that used
    it; `regained` the message that named it in between, None for none.
    """

    kind: str
    value: str
    had: str
    had_seq: int
    needed: str
    needed_seq: int
    regained: str | None
    regained_seq: int | None


class KindUse(Shape, frozen=True):
    """Future-use recall of one kind."""

    kind: str
    total: int
    found: int
    share: float | None


class FutureUse(Shape, frozen=True):
    """Of what later calls and messages of the model use and H had (`total`), what C′ names (`found`).

    `messages` counts the later messages that were looked at; `losses` are in order of need.
    """

    messages: int
    total: int
    found: int
    share: float | None
    kinds: list[KindUse]
    losses: list[Loss]
