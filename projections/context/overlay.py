"""What rewrites show in place of messages: one fold for contexts that are, and for those that would be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple, TypeVar

from eventstore.records import Shown
from projections.context.parts import Part
from projections.rules import rules_named
from projections.rules.base import HarnessRules

Item = TypeVar("Item")


class Span(NamedTuple):
    """A text that stands for several messages, and what later rewrites show of it."""

    shown: Shown
    changes: list[Shown]

    def message(self, harness: HarnessRules, time: int | None) -> bytes:
        """The message that stands for the several; `time` in epoch milliseconds."""
        message = harness.placeholder(self.shown.shown, time)
        return harness.rewrite(message, self.changes) if self.changes else message


class Rewrites:
    """Rewrites in effect, by the ids of the entries that they are about.

    `changes` are those of single messages, oldest first. Of spans with the same target, the newest counts.
    """

    def __init__(self, targets: Iterable[Shown] = ()) -> None:
        """`targets` are those of all rewrites, oldest first."""
        self.changes: dict[str, list[Shown]] = {}
        self._spans: dict[str, Span] = {}
        for shown in targets:
            if shown.through:
                self._spans[shown.target] = Span(shown, [])
                continue
            self.changes.setdefault(shown.target, []).append(shown)
            if shown.target in self._spans:
                self._spans[shown.target].changes.append(shown)

    def visible(
        self, items: Iterable[Item], id_of: Callable[[Item], str]
    ) -> Iterable[tuple[Item, Span | None]]:
        """What of these entries or messages is not hidden, each with the span that stands in its place.

        A span that does not end at its target or behind it, or begins inside another, is without effect.
        """
        return self._around_spans(list(items), id_of) if self._spans else zip(items, repeat(None))

    def _around_spans(
        self, items: Sequence[Item], id_of: Callable[[Item], str]
    ) -> Iterator[tuple[Item, Span | None]]:
        ids = list(map(id_of, items))
        places = {name: place for place, name in enumerate(ids)}
        visible = 0
        for place, (item, name) in enumerate(zip(items, ids, strict=True)):
            if place < visible:
                continue
            span = self._spans.get(name)
            end = places.get(span.shown.through, -1) if span else -1
            if end >= place:
                visible = end + 1
            yield item, span if end >= place else None


NO_REWRITES = Rewrites()


def overlaid(parts: Sequence[Part], targets: Iterable[Shown], *, rules: str = "pi") -> tuple[Part, ...]:
    """The messages of a context with those targets shown otherwise, as the context after such a rewrite has them.

    A message that stands for several has no time here: it is not known which entry's it gets.
    """
    return tuple(_overlaid(parts, Rewrites(targets), rules_named(rules)))


def _overlaid(parts: Sequence[Part], rewrites: Rewrites, harness: HarnessRules) -> Iterator[Part]:
    for part, span in rewrites.visible(parts, attrgetter("id")):
        if span:
            yield part.shown_otherwise(span.message(harness, None))
        elif part.id in rewrites.changes:
            yield part.shown_otherwise(harness.rewrite(part.raw, rewrites.changes[part.id]))
        else:
            yield part
