"""The tree of a session's entries."""

from __future__ import annotations

from typing import Final

import msgspec

from eventstore.event import Event
from eventstore.formats import view_of
from eventstore.imports import recorded_id, replaced_by_copies
from eventstore.log import EventLog, Snapshot
from eventstore.paths import events
from projections.context.cursor import Cursor, resolve_cursor
from projections.rules import rules_of_format

_ATTACHED: Final = frozenset({"custom", "custom_message"})
"""Kinds of entries that a harness adds to a tool's result."""


class LabelFold:
    """The labels after the events applied so far, by target id.

    Follows pi: log order counts, on whatever branch; a missing or empty label removes the label; setting it
    again moves it to the end; the target need not exist.
    """

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        if event.kind != "label":
            return
        label = view_of(event).label
        if label and label.label:
            self.labels[label.target] = label.label
        elif label:
            self.labels.pop(label.target, None)


class Node(msgspec.Struct, frozen=True, kw_only=True):
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
    """A session's entries, parents before children; `leaf` is None in an empty session."""

    leaf: str | None
    roots: list[str]
    nodes: list[Node]

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


class TreeFold:
    """The tree after the events applied so far, in order of their numbers."""

    def __init__(self) -> None:
        self._labels = LabelFold()
        self._events: dict[str, tuple[str, str | None, int | None]] = {}
        self._children: dict[str | None, list[str]] = {None: []}
        self._groups: dict[str, str] = {}
        self._joined: set[str] = set()
        self._leaf: str | None = None

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        if not event.is_entry:
            return
        self._labels.apply(event)
        self._events[event.id] = (event.kind, event.parent, event.time)
        self._children.setdefault(event.parent, []).append(event.id)
        self._children[event.id] = []
        self._leaf = event.id
        if rules_of_format(event.format).arranges:
            self._join(event)

    def _join(self, event: Event) -> None:
        """Remember the message that an entry is a record of, or answers."""
        above = self._groups.get(event.parent or "", "")
        if event.role == "assistant":
            group = view_of(event).group
            is_joined = bool(group) and group == above
        elif event.role == "toolResult" or (event.kind in _ATTACHED and event.parent in self._joined):
            group, is_joined = above, bool(above)
        else:
            return
        self._groups[event.id] = group
        if is_joined:
            self._joined.add(event.id)

    def _beside(self) -> set[str]:
        """Return the entries beside a path that goes on from their message."""
        if not self._joined:
            return set()
        only_joined = set[str]()
        for node_id in reversed(self._events):
            if node_id in self._joined and only_joined.issuperset(self._children[node_id]):
                only_joined.add(node_id)
        to_leaf, at = set[str](), self._leaf
        while at is not None:
            to_leaf.add(at)
            at = self._events[at][1]
        found = set[str]()
        for node_id, (_, parent, _) in self._events.items():
            siblings = self._children[parent]
            if parent in found:
                found.add(node_id)
            elif node_id in only_joined and len(siblings) > 1:
                goes_on = max(siblings, key=lambda each: (each not in only_joined, each in to_leaf))
                if goes_on != node_id:
                    found.add(node_id)
        return found

    def view(self) -> Tree:
        """Return the current tree.

        Children are in order of time, as in pi; those without a time keep their place.
        """
        nodes: list[Node] = []
        beside = self._beside()
        pending = [(root, 0) for root in reversed(self._children[None])]
        while pending:
            node_id, depth = pending.pop()
            kind, parent, _ = self._events[node_id]
            children = self._in_order(self._children[node_id])
            labels = self._labels.labels
            label = labels.get(node_id) or labels.get(recorded_id(node_id))
            nodes.append(
                Node(
                    id=node_id,
                    kind=kind,
                    parent=parent,
                    depth=depth,
                    label=label,
                    children=children,
                    beside=node_id in beside,
                )
            )
            pending += [(child, depth + 1) for child in reversed(children)]
        return Tree(leaf=self._leaf, roots=list(self._children[None]), nodes=nodes)

    def _in_order(self, ids: list[str]) -> list[str]:
        times = [self._events[node_id][2] for node_id in ids]
        if None in times:
            return list(ids)
        return sorted(ids, key=lambda node_id: self._events[node_id][2] or 0)


def tree(log: EventLog | Snapshot, session: str, *, as_of: int | None = None) -> Tree:
    """Return the tree of a session, as of an event. Raises NotFoundError.

    A record that was copied shows only once, unless others than its copies' originals are below it.
    """
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session, as_of=as_of)
        hidden = _hidden(snapshot, cursor)
        fold = TreeFold()
        for event in events(snapshot, session, last=cursor.as_of):
            if event.seq not in hidden:
                fold.apply(event.decode())
        return fold.view()


def _hidden(snapshot: Snapshot, cursor: Cursor) -> set[int]:
    """Return the numbers of the events that have copies in their place, and that nothing else needs."""
    replaced = replaced_by_copies(snapshot, cursor.session, as_of=cursor.as_of)
    if not replaced:
        return set()
    needed, hidden = {cursor.leaf}, set[int]()
    for each in events(snapshot, cursor.session, last=cursor.as_of, backward=True):
        if each.seq in replaced and each.seq not in needed:
            hidden.add(each.seq)
        elif each.is_entry:
            needed.add(each.parent_seq)
    return hidden
