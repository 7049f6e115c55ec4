"""Apply rewrites to messages, both those recorded and those only planned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, groupby, repeat
from operator import attrgetter
from typing import Final, TypeVar

import msgspec

from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.paths import LazyEvent, SnapshotCache
from eventstore.records import TextReplacement
from projections.context.parts import Part
from projections.rules import rules_of_format
from projections.rules.base import Rules

Item = TypeVar("Item")


class Span(msgspec.Struct, frozen=True):
    """A text that replaces several messages, and the later rewrites of that text."""

    replacement: TextReplacement
    changes: list[TextReplacement]

    def messages(self, rules: Rules, time: int | None) -> Sequence[bytes]:
        """Return the replacement messages; `time` is in epoch milliseconds."""
        messages = (rules.placeholder(self.replacement.text, time),)
        return rules.rewrite(messages, self.changes) if self.changes else messages


class Rewrites:
    """The rewrites in effect, by the id of the entry that each targets.

    `changes` holds the rewrites of single messages, oldest first. If spans share a target, the newest wins.
    """

    def __init__(self, targets: Iterable[TextReplacement] = ()) -> None:
        """Index `targets`, which come from all rewrites, oldest first."""
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
        """Yield the items that are not hidden, each with the span that replaces it, or None.

        A span has no effect if it ends before its target or starts inside another span.
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
    """Resolve targets that name a tool call to the entries that hold the call's result."""
    holders: dict[str, list[str]] = {}
    has_calls = not all(shown.target for shown in targets)
    for entry in entries:
        if has_calls and entry.kind == "message":
            for call in answered_calls(entry):
                holders.setdefault(call, []).append(entry.id)
    if not has_calls:
        return targets
    return [
        msgspec.structs.replace(shown, target=target)
        for shown in targets
        for target in ((shown.target,) if shown.target else holders.get(shown.call, ()))
    ]


def answered_calls(entry: Event | LazyEvent) -> tuple[str, ...]:
    """Return the ids of the calls whose results an entry holds."""
    # Contexts of one session ask for the same entries repeatedly.
    return _ANSWERED.get(
        entry.digest,
        lambda: tuple(each.tool_call_id for each in node_of(entry).messages if each.tool_call_id),
    )


_ANSWERED: Final = SnapshotCache[tuple[str, ...]]()


def apply_rewrites(parts: Sequence[Part], targets: Iterable[TextReplacement]) -> tuple[Part, ...]:
    """Return the parts of a context as they would be after a rewrite with these targets.

    A message that replaces several has no time here, because its entry does not exist yet.
    """
    return tuple(_overlaid(parts, Rewrites(targets)))


def _overlaid(parts: Sequence[Part], rewrites: Rewrites) -> Iterator[Part]:
    by_entry = [list(entry) for _, entry in groupby(parts, key=attrgetter("id"))]
    for entry, span in rewrites.visible(by_entry, lambda entry: entry[0].id):
        first, rules = entry[0], rules_of_format(entry[0].format)
        if span:
            nobodys = msgspec.structs.replace(first, by_person=False)
            yield from (nobodys.rewritten_as(raw, rules.format) for raw in span.messages(rules, None))
        elif first.id in rewrites.changes:
            messages = rules.rewrite([part.raw for part in entry], rewrites.changes[first.id])
            # Of several messages, one may have changed.
            yield from (
                part if raw == part.raw else part.rewritten_as(raw)
                for part, raw in zip(cycle(entry), messages, strict=False)
            )
        else:
            yield from entry
