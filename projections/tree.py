"""The tree of a session's entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from eventstore.as_of import as_of_event
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.log import EventLog, Snapshot
from eventstore.paths import LazyEvent, events_of_kinds, parents_first
from eventstore.paths import event as event_at
from projections.context.cursor import Leaf, resolve_cursor
from projections.rules import rules_of_format

_ATTACHED: Final = frozenset({"custom", "custom_message"})
"""Kinds of entries that a harness adds to a tool's result."""
_LANDMARKS: Final = frozenset({"label", "rewrite", "session_info", "undone"})
"""Kinds of entries that are sent to no model, and that the tree shows all the same."""
_MOVES: Final = frozenset({"branch_summary", "leaf_moved"})
"""Kinds of entries whose parent is where the session moved to."""


def apply_label(labels: dict[str, str], event: Event | LazyEvent) -> None:
    """Apply the next event to labels by target id.

    Follows pi: log order counts, on whatever branch; a missing or empty label removes the label; setting it
    again moves it to the end; the target need not exist.
    """
    label = node_of(event).label if event.kind == "label" else None
    if label and label.label:
        labels[label.target] = label.label
    elif label:
        labels.pop(label.target, None)


def labels_of(snapshot: Snapshot, session: str, *, last: int | None = None) -> dict[str, str]:
    """Return a session's labels by target id, as of event `last`."""
    labels: dict[str, str] = {}
    for event in events_of_kinds(snapshot, session, {"label"}, last=last):
        apply_label(labels, event)
    return labels


class TreeNode(msgspec.Struct, frozen=True, kw_only=True):
    """An entry in its tree. `depth` is 0 at a root; `children` are ids in order of time.

    `beside`: a record of a message, or a result of its calls, that stands beside the path which goes on from that
    message. It is no branch, and nothing below it is one.
    """

    id: str
    kind: str
    parent: str | None
    depth: int
    label: str | None
    children: list[str]
    beside: bool = False

    @property
    def ends_branch(self) -> bool:
        """True for the last entry of a branch."""
        return not self.children and not self.beside


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A session's entries, parents before children; `leaf` is None in an empty session.

    Entries that are sent to no model are left out, and what is below them hangs on the nearest entry above, except the
    leaf, labels and what they name, titles, rewrites, undos, targets of moves, and the settings in force at an entry
    that is sent or at the leaf.
    """

    leaf: str | None
    roots: list[str]
    nodes: list[TreeNode]

    @property
    def ends(self) -> int:
        """The number of branches: that of their last entries."""
        return sum(node.ends_branch for node in self.nodes)

    def branches(self) -> dict[str, int]:
        """Return the number of branches that go on from each entry, by its id; 0 at the end of one."""
        found = dict.fromkeys((node.id for node in self.nodes), 0)
        for node in self.nodes:
            if node.parent is not None and not node.beside:
                found[node.parent] += 1
        return found


class _Entry(NamedTuple):
    """An entry as it was appended; `parent` is its parent's number, 0 for a root."""

    id: str
    kind: str
    parent: int
    time: int | None


class TreeFold:
    """The tree after the events applied so far, in order of their numbers."""

    def __init__(self) -> None:
        self._labels: dict[str, str] = {}
        self._entries: dict[int, _Entry] = {}
        self._shown: set[int] = set()
        self._leaf, self._settings = 0, (0, 0)
        self._groups: dict[int, str] = {}
        self._joined: set[int] = set()

    def apply(self, event: Event | LazyEvent) -> None:
        """Apply the next event."""
        if not event.is_entry:
            return
        apply_label(self._labels, event)
        seq, parent = event.seq, event.parent_seq
        self._entries[seq] = _Entry(event.id, event.kind, parent, event.time)
        self.set_leaf(event)
        if event.role:
            self._shown.update((seq, *self._settings))
        elif event.kind in _LANDMARKS:
            self._shown.add(seq)
        if event.kind in _MOVES:
            self._shown.add(parent)
        if rules_of_format(event.format).arranges:
            self._join(event)

    def set_leaf(self, entry: Event | LazyEvent | None) -> None:
        """Make an entry the leaf, None for the root; the next one that is applied becomes the leaf."""
        self._leaf = entry.seq if entry else 0
        self._settings = (entry.model_seq, entry.thinking_seq) if entry else (0, 0)

    def _join(self, event: Event | LazyEvent) -> None:
        """Remember the message that an entry is a record of, or answers."""
        above = self._groups.get(event.parent_seq, "")
        if event.role == "assistant":
            group = node_of(event).group
            is_joined = bool(group) and group == above
        elif event.role == "toolResult" or (event.kind in _ATTACHED and event.parent_seq in self._joined):
            group, is_joined = above, bool(above)
        elif not event.role:
            group, is_joined = above, False
        else:
            return
        self._groups[event.seq] = group
        if is_joined:
            self._joined.add(event.seq)

    def _beside(self, parents: Mapping[int, int], children: Mapping[int, Sequence[int]]) -> set[int]:
        """Return the entries beside a path that goes on from their message."""
        if not self._joined:
            return set()
        only_joined = set[int]()
        for seq in reversed(parents):
            if seq in self._joined and only_joined.issuperset(children[seq]):
                only_joined.add(seq)
        to_leaf, at = set[int](), self._leaf
        while at:
            to_leaf.add(at)
            at = parents[at]
        found = set[int]()
        for seq, parent in parents.items():
            siblings = children[parent]
            if parent in found:
                found.add(seq)
            elif seq in only_joined and len(siblings) > 1:
                goes_on = max(siblings, key=lambda each: (each not in only_joined, each in to_leaf))
                if goes_on != seq:
                    found.add(seq)
        return found

    def _shown_parents(self) -> dict[int, int]:
        """Return the entries to show with their nearest shown ancestors, parents first."""
        shown = self._shown.union((self._leaf, *self._settings))
        nearest, found = {0: 0}, dict[int, int]()
        for seq, entry in self._entries.items():
            above = nearest[entry.parent]
            if seq in shown or entry.id in self._labels:
                nearest[seq] = seq
                found[seq] = above
            else:
                nearest[seq] = above
        return found

    def view(self) -> Tree:
        """Return the current tree.

        Children are in order of time, as in pi; those without a time keep their place.
        """
        nodes: list[TreeNode] = []
        entries, parents = self._entries, self._shown_parents()
        children: dict[int, list[int]] = {0: [], **{seq: [] for seq in parents}}
        for seq, parent in parents.items():
            children[parent].append(seq)
        beside = self._beside(parents, children)
        pending = [(root, 0) for root in reversed(children[0])]
        while pending:
            seq, depth = pending.pop()
            entry = entries[seq]
            below = self._in_order(children[seq])
            nodes.append(
                TreeNode(
                    id=entry.id,
                    kind=entry.kind,
                    parent=entries[parents[seq]].id if parents[seq] else None,
                    depth=depth,
                    label=self._labels.get(entry.id),
                    children=[entries[child].id for child in below],
                    beside=seq in beside,
                )
            )
            pending += [(child, depth + 1) for child in reversed(below)]
        leaf = entries[self._leaf].id if self._leaf else None
        return Tree(leaf=leaf, roots=[entries[root].id for root in children[0]], nodes=nodes)

    def _in_order(self, seqs: list[int]) -> list[int]:
        if len(seqs) < 2:  # noqa: PLR2004  an order needs two
            return seqs
        times = [self._entries[seq].time for seq in seqs]
        if None in times:
            return seqs
        return sorted(seqs, key=lambda seq: self._entries[seq].time or 0)


def tree(log: EventLog | Snapshot, session: str, *, leaf: Leaf = None, as_of: int | None = None) -> Tree:
    """Return the tree of a session at a leaf, as of an event. Raises NotFoundError."""
    with log.snapshot() as newest:
        snapshot = as_of_event(newest, session, as_of)
        cursor = resolve_cursor(snapshot, session, leaf=leaf, as_of=as_of)
        fold = TreeFold()
        for event in parents_first(snapshot, session, last=cursor.as_of):
            fold.apply(event)
        fold.set_leaf(event_at(snapshot, session, cursor.leaf) if cursor.leaf else None)
        return fold.view()
