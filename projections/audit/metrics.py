"""Measure a replacement: its size, what followed, and its cost.

An error in one costs none of the others. To add a metric: write its struct and its function in this package, add a
line to `Metrics` and to `measure`, and document it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from eventstore.errors import RefoldError
from eventstore.event import Event
from eventstore.harnesses import node_of
from projections.audit.cache import CacheEffect, cache_effect
from projections.audit.calls import ModelCall
from projections.audit.cost import Cost, cost
from projections.audit.measure import EventRef, MetricStruct, Size, size
from projections.audit.prices import Prices
from projections.audit.rework import Rework, rework
from projections.person_text import person_text
from projections.replacement import Replacement, entries_in_effect
from projections.tokens import Counter


class NextMessage(EventRef, frozen=True):
    """A message that a person wrote; `refuses`: it refuses a call, with or without words."""

    refuses: bool


class PersonNext(MetricStruct, frozen=True):
    """The person's messages up to the next compaction, undo or the leaf, in order."""

    messages: list[NextMessage]

    @property
    def refusals(self) -> list[NextMessage]:
        """The messages that refuse a call."""
        return [each for each in self.messages if each.refuses]


def person_next(replacement: Replacement) -> PersonNext:
    """Return the messages that a person wrote after a replacement."""
    messages = list[NextMessage]()
    for entry in entries_in_effect(replacement):
        view = node_of(entry).message if entry.role == "toolResult" else None
        refuses = view is not None and view.is_refused
        if refuses or person_text(entry):
            messages.append(NextMessage(event=entry.id, seq=entry.seq, refuses=refuses))
    return PersonNext(messages=messages)


T = TypeVar("T")


class NotComputed(MetricStruct, frozen=True):
    """A part of an audit that could not be computed, because of a bug in refold.

    `event` and `seq` are the replacement's that it is about, None and 0 if it is about the session.
    """

    what: str
    event: str | None
    seq: int
    error: str
    traceback: str


class Isolation:
    """Computes parts; `failed` are those that could not be computed, in order."""

    def __init__(self) -> None:
        self.failed: list[NotComputed] = []

    def compute(self, what: str, make: Callable[[], T], event: Event | None = None) -> T | None:
        """Return the result of `make`, None if it fails. Raises RefoldError: it concerns all."""
        try:
            return make()
        except RefoldError:
            raise
        except Exception as error:  # noqa: BLE001  a bug may raise anything
            self.failed.append(
                NotComputed(
                    what=what,
                    event=event.id if event else None,
                    seq=event.seq if event else 0,
                    error=f"{type(error).__name__}: {error}",
                    traceback="".join(traceback.format_exception(error)),
                )
            )
            return None


class Metrics(MetricStruct, frozen=True):
    """All metrics of one replacement; None for one that could not be computed.

    The size is the measure of all others, so that without it there is no replacement to show.
    """

    size: Size
    rework: Rework | None
    next: PersonNext | None
    cache: CacheEffect | None
    cost: Cost | None


def measure(
    replacement: Replacement,
    *,
    sent: Replacement,
    tokens: Counter,
    prices: Prices,
    calls: Sequence[ModelCall],
    isolation: Isolation,
) -> Metrics:
    """Return all metrics of a replacement.

    `sent` is the replacement in what was sent; in `replacement`, messages stand for a history that only its provider
    can read. `calls` are the model calls on its path.
    """
    compute = partial(isolation.compute, event=replacement.event)
    return Metrics(
        size=size(sent, tokens),
        rework=compute("done again", lambda: rework(replacement, tokens)),
        next=compute("said next", lambda: person_next(replacement)),
        cache=compute("prompt cache", lambda: cache_effect(sent, tokens, calls)),
        cost=compute("cost", lambda: cost(sent, tokens, prices, calls)),
    )
