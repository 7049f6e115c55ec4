"""Compute the contexts along a path, each from the one above it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain

from eventstore.event import Event
from eventstore.formats import rewrites_of
from eventstore.imports import observed_rewrites
from eventstore.log import Snapshot
from eventstore.paths import event
from eventstore.records import TextReplacement
from projections.context.build import context_at, parts_of
from projections.context.cursor import Cursor
from projections.context.overlay import apply_rewrites, resolve_targets
from projections.context.parts import Context, Part, has_message
from projections.rules import rules_at
from projections.settings import settings_at
from projections.tokens import Counter

_FOLDED_ANEW = frozenset({"compaction", "undone"})
_CHANGES = _FOLDED_ANEW | {"rewrite"}
"""Kinds of entries whose context is not simply the one above plus their own messages."""


class IncrementalContexts:
    """The contexts at the entries of a path.

    When contexts are requested in order, each is derived from the one above it, so all of them together cost
    little more than the longest. A compaction, an undo, and a rewrite that replaces several messages by one
    start over. Requests that go backwards, and harnesses whose rules arrange parts, build every context from
    scratch.
    """

    def __init__(self, snapshot: Snapshot, cursor: Cursor, entries: Sequence[Event]) -> None:
        """Start at the root; `entries` are those of the path from the root to the cursor."""
        self._snapshot, self._at, self._entries = snapshot, cursor, entries
        self._observed = (
            observed_rewrites(snapshot, cursor.session, as_of=cursor.as_of) if cursor.has_observed else {}
        )
        self._seqs = frozenset(entry.seq for entry in entries)
        self._rules = rules_at(
            snapshot, event(snapshot, cursor.session, cursor.leaf) if cursor.leaf else None
        )
        self.is_incremental = not self._rules.arranges and not self._has_prefix()
        self._places: dict[str, int] = {}
        self._not_yet: set[str] = set()
        self._parts: list[Part] = []
        self._next = 0

    def _has_prefix(self) -> bool:
        """Return True if the path continues from an entry of another session."""
        if not self._entries:
            return False
        root = event(self._snapshot, self._at.session, self._entries[0].seq)
        return self._rules.select(self._snapshot, root).prefix is not None

    def context_at(self, seq: int) -> Context:
        """Return the context at an entry of the session, given by its number; 0 is the root."""
        if (
            not self.is_incremental
            or seq not in self._seqs
            or (self._next and seq < self._entries[self._next - 1].seq)
        ):
            return context_at(self._snapshot, self._at.at_leaf(seq))
        while not self._next or self._entries[self._next - 1].seq < seq:
            self._add(self._entries[self._next])
            self._next += 1
        entry = self._entries[self._next - 1]
        return Context(
            session=entry.session,
            leaf=entry.id,
            as_of=self._at.as_of,
            rules=self._rules.name,
            parts=tuple(self._parts),
            settings=settings_at(self._snapshot, entry.session, entry.seq),
        )

    def own_parts(self, entry: Event) -> list[Part]:
        """Return the parts of an entry after its harness's changes, ignoring all other entries."""
        return parts_of(entry, changed=self._observed.get(entry.seq, ()))

    def _add(self, entry: Event) -> None:
        if entry.kind in _FOLDED_ANEW:
            self._fold(entry)
        elif entry.kind == "rewrite":
            self._rewrite(entry)
        elif has_message(entry):
            parts = self.own_parts(entry)
            if entry.id in self._not_yet:
                self._fold(entry)
            elif parts:
                self._places[entry.id] = len(self._parts)
                self._parts += parts

    def _fold(self, entry: Event) -> None:
        self._parts = list(context_at(self._snapshot, self._at.at_leaf(entry.seq)).parts)
        # A rewrite never changes a summary.
        places = reversed(list(enumerate(self._parts)))
        self._places = {part.id: place for place, part in places if part.kind != "compaction"}

    def _rewrite(self, entry: Event) -> None:
        targets = resolve_targets(rewrites_of(entry), self._entries)
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
        for place, changed in changes.items():
            after = apply_rewrites(self._parts[place : place + 1], changed)
            if len(after) != 1 or self._parts[place].id in {
                part.id for part in self._parts[place + 1 : place + 2]
            }:
                self._fold(entry)
                return
            self._parts[place] = after[0]


class IncrementalSizes:
    """The context at each entry of a path in turn, and its size.

    `parts` is the context; `sizes[n]` is the number of tokens in its first n messages. While the context only
    grows, the same two lists grow in place, so the whole walk costs no more than its last step.
    """

    def __init__(self, snapshot: Snapshot, cursor: Cursor, entries: Sequence[Event], tokens: Counter) -> None:
        """Start at the root; `entries` are those of the path from the root to the cursor."""
        self._along, self._tokens = IncrementalContexts(snapshot, cursor, entries), tokens
        self.parts: list[Part] = []
        self.sizes = [0]
        self._own: dict[int, list[tuple[Part, int]]] = {}
        if self._along.is_incremental:
            own = [part for entry in entries if has_message(entry) for part in self._along.own_parts(entry)]
            # Count all at once: the counter caches its counts in the log.
            for part, size in zip(own, tokens.count(own), strict=True):
                self._own.setdefault(part.seq, []).append((part, size))

    def add(self, entry: Event) -> None:
        """Advance to the next entry of the path."""
        if not self._along.is_incremental or entry.kind in _CHANGES:
            self.parts = list(self._along.context_at(entry.seq).parts)
            self.sizes = list(accumulate(self._tokens.count(self.parts), initial=0))
            return
        for part, size in self._own.get(entry.seq, ()):
            self.parts.append(part)
            self.sizes.append(self.sizes[-1] + size)
