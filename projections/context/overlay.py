"""Apply rewrites to messages: one fold for contexts that are, and for those that would be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, groupby, repeat
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

import msgspec

from eventstore.event import Event
from eventstore.formats import view_of
from eventstore.formats.base import ResultReplacement
from eventstore.paths import LazyEvent, Memo
from eventstore.records import TextReplacement
from projections.context.parts import Part
from projections.rules import rules_of_format
from projections.rules.base import Rules

Item = TypeVar("Item")


class Span(NamedTuple):
    """A text that stands for several messages, and what later rewrites show of it."""

    replacement: TextReplacement
    changes: list[TextReplacement]

    def messages(self, rules: Rules, time: int | None) -> Sequence[bytes]:
        """Return what stands for the several; `time` in epoch milliseconds."""
        messages = (rules.placeholder(self.replacement.text, time),)
        return rules.rewrite(messages, self.changes) if self.changes else messages


class Rewrites:
    """Rewrites in effect, by the ids of the entries that they are about.

    `changes` are those of single messages, oldest first. Of spans with the same target, the newest counts.
    """

    def __init__(self, targets: Iterable[TextReplacement] = ()) -> None:
        """`targets` are those of all rewrites, oldest first."""
        self.changes: dict[str, list[TextReplacement]] = {}
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
        """Yield the entries or messages that are not hidden, each with the span that stands in its place.

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
            end = places.get(span.replacement.through, -1) if span else -1
            if end >= place:
                visible = end + 1
            yield item, span if end >= place else None


NO_REWRITES = Rewrites()


def resolve_targets(
    targets: Sequence[TextReplacement], entries: Iterable[Event | LazyEvent]
) -> Sequence[TextReplacement]:
    """Return targets by the entries that they are about: of a call, those of these entries that hold its result."""
    if not any(isinstance(shown, ResultReplacement) for shown in targets):
        return targets
    holders: dict[str, list[str]] = {}
    for entry in entries:
        if entry.kind == "message":
            for call in _answered(entry):
                holders.setdefault(call, []).append(entry.id)
    return [
        msgspec.structs.replace(shown, target=holder) if isinstance(shown, ResultReplacement) else shown
        for shown in targets
        for holder in (
            holders.get(shown.call, ()) if isinstance(shown, ResultReplacement) else (shown.target,)
        )
    ]


def _answered(entry: Event | LazyEvent) -> tuple[str, ...]:
    """Return the ids of the calls whose results an entry holds."""
    # Contexts of one session ask for the same ones again and again.
    return _ANSWERED.get(
        entry.digest,
        lambda: tuple(each.tool_call_id for each in view_of(entry).messages if each.tool_call_id),
    )


_ANSWERED: Final = Memo[tuple[str, ...]]()


def apply_rewrites(parts: Sequence[Part], targets: Iterable[TextReplacement]) -> tuple[Part, ...]:
    """Return the messages of a context with those targets shown otherwise, as they are after such a rewrite.

    A message that stands for several has no time here: it is not known which entry's it gets.
    """
    return tuple(_overlaid(parts, Rewrites(targets)))


def _overlaid(parts: Sequence[Part], rewrites: Rewrites) -> Iterator[Part]:
    by_entry = [list(entry) for _, entry in groupby(parts, key=attrgetter("id"))]
    for entry, span in rewrites.visible(by_entry, lambda entry: entry[0].id):
        first, rules = entry[0], rules_of_format(entry[0].format)
        if span:
            yield from (first.rewritten_as(raw, rules.format) for raw in span.messages(rules, None))
        elif first.id in rewrites.changes:
            messages = rules.rewrite([part.raw for part in entry], rewrites.changes[first.id])
            yield from (part.rewritten_as(raw) for part, raw in zip(cycle(entry), messages, strict=False))
        else:
            yield from entry
