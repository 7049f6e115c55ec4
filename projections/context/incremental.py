"""Compute the contexts along a path, each from the one above it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, chain, islice, takewhile
from operator import attrgetter
from typing import NamedTuple

from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.imports import observed_rewrites
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event
from eventstore.paths import path as path_of_events
from eventstore.records import TextReplacement
from projections.context.build import context_at, is_restored, parts_of, unarranged_at
from projections.context.cursor import Cursor, path
from projections.context.overlay import answered_calls, apply_rewrites, resolve_targets
from projections.context.parts import Context, Part, has_message
from projections.rules import rules_at, rules_of_format
from projections.rules.base import Beside
from projections.settings import settings_at
from projections.tokens import Counter

_FOLDED_ANEW = frozenset({"compaction", "undone", "reset_boundary"})
CHANGES = _FOLDED_ANEW | {"rewrite"}
"""Kinds of entries whose context is not simply the one above plus their own messages."""


class ArrangedParts(NamedTuple):
    """The messages at an entry: those that hardly anything can change any more, and the others.

    The first `unchanged` of the settled ones are those that were first at the entry asked for before, too.
    """

    settled: list[Part]
    others: list[Part]
    unchanged: int = 0


def path_of_contexts(snapshot: Snapshot, cursor: Cursor, first: int) -> list[Event]:
    """Return the entries of a path that the contexts from entry `first` on depend on."""
    if first <= 1:
        return path(snapshot, cursor)
    leaf = next(path_of_events(snapshot, cursor.session, cursor.leaf, first=first), None)
    if leaf is None:
        return []
    return path(snapshot, cursor, first=min(rules_at(snapshot, leaf).select(snapshot, leaf).first, first))


class IncrementalContexts:
    """The contexts at the entries of a path.

    When contexts are requested in order, each is derived from the one above it, so all of them together cost
    little more than the longest. A compaction, an undo, and a rewrite that replaces several messages by one
    start over. Requests that go backwards build a context from scratch.
    """

    def __init__(
        self, snapshot: Snapshot, cursor: Cursor, entries: Sequence[Event], *, first: int = 1
    ) -> None:
        """Start at the root, or at entry `first`; `entries` are those of `path_of_contexts`."""
        self._snapshot, self._at, self._entries = snapshot, cursor, entries
        self._observed = (
            observed_rewrites(snapshot, cursor.session, as_of=cursor.as_of) if cursor.has_observed else {}
        )
        self._seqs = frozenset(entry.seq for entry in entries)
        self._rules = rules_at(
            snapshot, event(snapshot, cursor.session, cursor.leaf) if cursor.leaf else None
        )
        self._beside = self._rules.beside(snapshot, cursor.session)
        self._has_prefix = self._begins_elsewhere()
        # What is above entry `first` may not be among the entries, as a compaction whose summary shows.
        self._begins_with_others = self._has_prefix or first > 1
        # Where a parent came late, the path is not in the order of the log.
        self._is_late = snapshot.head(cursor.session).is_late
        self._is_arranged = self._rules.arranges
        may_arrange = self._is_arranged or any(map(self._arranges, entries))
        self.only_grows = not may_arrange and not self._has_prefix and not self._is_late
        """True if messages only come behind others, except at entries of `CHANGES`."""
        self._places: dict[str, int] = {}
        self._not_yet: set[str] = set()
        self._rewritten_calls: set[str] = set()
        self._parts: list[Part] = []
        self._arranged: list[Part] = []
        self._settled = 0
        self._steps: list[tuple[int, int]] = []
        self._unchanged = 0
        self._links = set[Hashable]()
        self._varies_by: Hashable = None
        self._next = self._begin = bisect_left(entries, first, key=attrgetter("seq"))
        self._own: dict[int, list[Part]] = {}

    def _begins_elsewhere(self) -> bool:
        """Return True if the path continues from an entry of another session."""
        if not self._entries:
            return False
        root = event(self._snapshot, self._at.session, self._entries[0].seq)
        return self._rules.select(self._snapshot, root).prefix is not None

    def context_at(self, seq: int) -> Context:
        """Return the context at an entry of the session, given by its number; 0 is the root."""
        if self._is_late or seq not in self._seqs or (self._next and seq < self._entries[self._next - 1].seq):
            return context_at(self._snapshot, self._at.at_leaf(seq))
        settled, others, _ = self.advance(seq)
        entry = self._entries[self._next - 1]
        return Context(
            session=entry.session,
            leaf=entry.id,
            as_of=self._at.as_of,
            rules=self._rules.name,
            parts=(*settled, *others),
            settings=settings_at(self._snapshot, entry.session, entry.seq),
        )

    def advance(self, seq: int) -> ArrangedParts:
        """Return the messages at an entry of the path that is not above one asked for before.

        Those that nothing can change any more are arranged once.
        """
        if self._is_late:
            return ArrangedParts([], [*self.context_at(seq).parts])
        while not self._next or self._entries[self._next - 1].seq < seq:
            self._add(self._entries[self._next])
            self._next += 1
        if not self._is_arranged:
            return ArrangedParts(self._parts, [])
        leaf = event(self._snapshot, self._at.session, seq)
        varies_by = self._rules.varies_by(self._snapshot, leaf)
        if varies_by != self._varies_by:
            self._unsettle()
            self._varies_by = varies_by
        fresh = self._parts[self._settled :]
        settled = self._rules.settled(self._snapshot, fresh)
        if settled:
            self._steps.append((self._settled, len(self._arranged)))
            self._arranged += self._rules.arrange(self._snapshot, leaf, fresh[:settled])
            self._settled += settled
            self._links.update(*map(self._rules.links, fresh[:settled]))
        others = self._rules.arrange(self._snapshot, leaf, fresh[settled:])
        unchanged, self._unchanged = self._unchanged, len(self._arranged)
        return ArrangedParts(self._arranged, [*others], unchanged)

    def own_parts(self, entry: Event) -> list[Part]:
        """Return the parts of an entry after its harness's changes, ignoring all other entries."""
        known = self._own.get(entry.seq)
        if known is None:
            known = self._own[entry.seq] = parts_of(
                entry,
                changed=self._observed.get(entry.seq, ()),
                restored=is_restored(self._snapshot, entry),
            )
        return known

    def _arranges(self, entry: Event) -> bool:
        """Return True if the rules may change the messages above an entry because of it."""
        return entry.kind in self._rules.arranged_by and self._rules.is_arranged_by(self._snapshot, entry)

    def _add(self, entry: Event) -> None:
        self._is_arranged = self._is_arranged or self._arranges(entry)
        if entry.kind == "rewrite":
            self._remember_calls(entry)
        if (
            (self._next == self._begin and self._begins_with_others)
            or entry.kind in _FOLDED_ANEW
            or (self._beside is not None and not self._add_beside(self._beside, entry))
        ):
            self._fold(entry)
        elif entry.kind == "rewrite":
            self._rewrite(entry)
        elif has_message(entry) or entry.kind in rules_of_format(entry.format).kinds:
            parts = self.own_parts(entry)
            if entry.id in self._not_yet or self._answers_rewritten_call(entry):
                self._fold(entry)
            elif parts:
                self._show(entry, parts)

    def _remember_calls(self, rewrite: Event) -> None:
        self._rewritten_calls.update(shown.call for shown in node_of(rewrite).rewrites if not shown.target)

    def _answers_rewritten_call(self, entry: Event | LazyEvent) -> bool:
        """Return True if a rewrite above changes what an entry shows."""
        return bool(self._rewritten_calls) and not self._rewritten_calls.isdisjoint(answered_calls(entry))

    def _show(self, entry: Event, parts: list[Part]) -> None:
        self._places[entry.id] = len(self._parts)
        self._parts += parts
        if self._links and not all(self._links.isdisjoint(self._rules.links(part)) for part in parts):
            self._unsettle()

    def _unsettle(self, place: int = 0) -> None:
        """Arrange the messages from a place on anew."""
        while self._settled > place:
            self._settled, arranged = self._steps.pop()
            del self._arranged[arranged:]
        self._unchanged = min(self._unchanged, len(self._arranged))
        if not self._settled:
            self._links.clear()

    def _add_beside(self, beside: Beside, entry: Event) -> bool:
        """Add the messages off the path shown from an entry on. Return False to require a new fold."""
        found, known = len(beside.found), len(beside.lost)
        if not beside.add(entry):
            return False
        gone = beside.lost[known:]
        if gone and not self._hide(gone):
            return False
        behind = max(0, found - len(gone))
        others = [event(self._snapshot, entry.session, seq).decode() for seq in beside.found[behind:]]
        for other in others:
            if other.kind == "rewrite":
                self._remember_calls(other)
        if any(
            other.kind in CHANGES or other.id in self._not_yet or self._answers_rewritten_call(other)
            for other in others
        ):
            return False
        for other in others:
            if has_message(other) and (parts := self.own_parts(other)):
                self._show(other, parts)
        return True

    def _hide(self, seqs: Sequence[int]) -> bool:
        """Remove the messages of entries that no longer show; return False if others may change."""
        gone = [event(self._snapshot, self._at.session, seq) for seq in seqs]
        if any(entry.kind in CHANGES or self._answers_rewritten_call(entry) for entry in gone):
            return False
        places = [self._places.pop(entry.id) for entry in gone if entry.id in self._places]
        if not places:
            return True
        first, hidden = min(places), {entry.id for entry in gone}
        self._unsettle(first)
        self._parts[first:] = (part for part in self._parts[first:] if part.id not in hidden)
        self._places |= self._places_from(first)
        return True

    def _fold(self, entry: Event) -> None:
        at = self._at.at_leaf(entry.seq)
        self._parts = unarranged_at(self._snapshot, at)
        self._unsettle()
        self._places = self._places_from(0)
        leaf = event(self._snapshot, entry.session, entry.seq)
        first = self._rules.select(self._snapshot, leaf).first
        start = bisect_left(self._entries, first, key=attrgetter("seq"))
        end = bisect_right(self._entries, entry.seq, key=attrgetter("seq"))
        shown = self._entries[start:end]
        self._is_arranged = self._rules.arranges or any(map(self._arranges, shown))
        self._beside = self._rules.beside(self._snapshot, entry.session)
        if self._beside is not None:
            for each in shown:
                self._beside.add(each)

    def _places_from(self, first: int) -> dict[str, int]:
        """Return the index of the first message of each entry that has one at or after an index."""
        places = reversed(range(first, len(self._parts)))
        # A rewrite never changes a summary.
        return {
            part.id: place
            for place, part in ((each, self._parts[each]) for each in places)
            if part.kind != "compaction" and part.session == self._at.session
        }

    def _rewrite(self, entry: Event) -> None:
        targets = resolve_targets(node_of(entry).rewrites, [*self._entries, *self._others()])
        if any(shown.through for shown in targets):
            self._fold(entry)
            ends = chain.from_iterable((shown.target, shown.through) for shown in targets)
            self._not_yet.update(end for end in ends if end and end not in self._places)
            return
        changes: dict[int, list[TextReplacement]] = {}
        for shown in targets:
            if shown.target in self._places:
                changes.setdefault(self._places[shown.target], []).append(shown)
            else:
                self._not_yet.add(shown.target)
        # Others may still hold the messages as they were.
        self._parts = [*self._parts]
        for place, changed in changes.items():
            after = apply_rewrites(self._parts[place : place + 1], changed)
            if len(after) != 1 or self._parts[place].id in {
                part.id for part in self._parts[place + 1 : place + 2]
            }:
                self._fold(entry)
                return
            self._parts[place] = after[0]
            if place < self._settled:
                self._unsettle()

    def _others(self) -> Iterator[LazyEvent]:
        """Yield the entries off the path that show with it."""
        for seq in self._beside.found if self._beside is not None else ():
            yield event(self._snapshot, self._at.session, seq)


class IncrementalSizes:
    """The context at each entry of a path in turn, and its size.

    A context is built only when it is read, and only its messages that can differ from the last one read are
    compared. While the context only grows, the same two lists grow in place, so the whole walk costs little more
    than its last step.
    """

    def __init__(
        self, snapshot: Snapshot, cursor: Cursor, entries: Sequence[Event], tokens: Counter, *, first: int = 1
    ) -> None:
        """Start at the root, or at entry `first`; `entries` are those of `path_of_contexts`."""
        self._along, self._tokens = IncrementalContexts(snapshot, cursor, entries, first=first), tokens
        self._is_first = first > 1
        self._parts: list[Part] = []
        self._sizes = [0]
        self._due: int | None = None
        self._taken = 0
        self._unchanged = 0
        self._own: dict[int, list[tuple[Part, int]]] = {}
        # Count all at once: the counter caches its counts in the log.
        if self._along.only_grows:
            own = [part for entry in entries if has_message(entry) for part in self._along.own_parts(entry)]
            for part, size in zip(own, tokens.count(own), strict=True):
                self._own.setdefault(part.seq, []).append((part, size))
        elif tokens.is_exact:
            tokens.count(context_at(snapshot, cursor).parts)

    @property
    def parts(self) -> list[Part]:
        """The context at the newest entry added."""
        self._build()
        return self._parts

    @property
    def sizes(self) -> list[int]:
        """`sizes[n]` is the number of tokens in the first n messages of the context."""
        self._build()
        return self._sizes

    def unchanged(self) -> int:
        """Return how many leading messages are the same as at the previous call."""
        self._build()
        unchanged, self._unchanged = self._unchanged, len(self._parts)
        return unchanged

    def add(self, entry: Event) -> None:
        """Advance to the next entry of the path."""
        if self._is_first or not self._along.only_grows or entry.kind in CHANGES:
            self._due, self._is_first = entry.seq, False
            return
        self._build()
        for part, size in self._own.get(entry.seq, ()):
            self._parts.append(part)
            self._sizes.append(self._sizes[-1] + size)

    def _build(self) -> None:
        if self._due is None:
            return
        settled, others, unchanged = self._along.advance(self._due)
        self._due = None
        start = min(self._taken, unchanged)
        now = settled[start:] + others
        known = islice(self._parts, start, None)
        same = start + sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(known, now, strict=False))
        )
        self._unchanged = min(self._unchanged, same)
        if same < len(self._parts):
            self._parts, self._sizes = self._parts[:same], self._sizes[: same + 1]
        fresh = now[same - start :]
        self._parts += fresh
        self._sizes += islice(accumulate(self._tokens.count(fresh), initial=self._sizes[-1]), 1, None)
        self._taken = len(settled)
