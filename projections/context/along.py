"""The contexts at the entries of one path, each made of the one above it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from eventstore.event import Event
from eventstore.files.sources import observed_rewrites
from eventstore.log import Snapshot
from eventstore.records import Rewrite, Shown, record_of
from projections.audit.coverage import bears_message
from projections.context.build import context_at, part_of
from projections.context.cursor import Standpoint
from projections.context.parts import Context, Part
from projections.rules import rules_named
from projections.settings import settings_at

_FOLDED_ANEW = frozenset({"compaction", "undone"})


class ContextsAlong:
    """The contexts at the entries of a path, by pi's rules.

    Asked for in order, each is what stands above with what its entry adds or shows otherwise, so that all of them
    together cost little more than the longest. A compaction and an undo begin anew, and so does a rewrite that has
    one message stand for several; what is not ahead on the path is folded by itself.
    """

    def __init__(self, snapshot: Snapshot, at: Standpoint, entries: Sequence[Event]) -> None:
        """`entries` are those of the path to where one stands, from the root on."""
        self._snapshot, self._at, self._entries = snapshot, at, entries
        self._observed = observed_rewrites(snapshot, at.session, as_of=at.as_of) if at.has_observed else {}
        self._seqs = frozenset(entry.seq for entry in entries)
        self._places: dict[str, int] = {}
        self._not_yet: set[str] = set()
        self._parts: list[Part] = []
        self._next = 0

    def at(self, seq: int) -> Context:
        """The context at an entry of the session, by its number; 0 is the root."""
        if seq not in self._seqs or (self._next and seq < self._entries[self._next - 1].seq):
            return context_at(self._snapshot, self._at.at(seq))
        while not self._next or self._entries[self._next - 1].seq < seq:
            self._add(self._entries[self._next])
            self._next += 1
        entry = self._entries[self._next - 1]
        return Context(
            session=entry.session,
            leaf=entry.id,
            as_of=self._at.as_of,
            rules="pi",
            parts=tuple(self._parts),
            settings=settings_at(self._snapshot, entry.session, entry.seq),
        )

    def _add(self, entry: Event) -> None:
        if entry.kind in _FOLDED_ANEW:
            self._fold(entry)
        elif entry.kind == "rewrite":
            self._rewrite(entry)
        elif bears_message(entry):
            frame = self._snapshot.frame(entry.session, entry.seq)
            part = part_of(frame, changed=self._observed.get(entry.seq, ()))
            if entry.id in self._not_yet:
                self._fold(entry)
            elif part is not None:
                self._places[part.id] = len(self._parts)
                self._parts.append(part)

    def _fold(self, entry: Event) -> None:
        self._parts = list(context_at(self._snapshot, self._at.at(entry.seq)).parts)
        # No rewrite shows a summary otherwise.
        self._places = {part.id: place for place, part in enumerate(self._parts) if part.kind != "compaction"}

    def _rewrite(self, entry: Event) -> None:
        record = record_of("rewrite", entry.body)
        assert isinstance(record, Rewrite)  # noqa: S101  the kind says so
        if any(shown.through for shown in record.targets):
            self._fold(entry)
            ends = chain.from_iterable((shown.target, shown.through) for shown in record.targets)
            self._not_yet.update(end for end in ends if end and end not in self._places)
            return
        changes: dict[int, list[Shown]] = {}
        for shown in record.targets:
            if shown.target in self._places:
                changes.setdefault(self._places[shown.target], []).append(shown)
            else:
                self._not_yet.add(shown.target)
        for place, changed in changes.items():
            part = self._parts[place]
            self._parts[place] = part.shown_otherwise(rules_named("pi").rewrite(part.raw, changed))
