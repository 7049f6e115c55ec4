"""The tree of a session's entries."""

from __future__ import annotations

import msgspec

from eventstore.event import Event
from eventstore.formats import view_of
from eventstore.log import EventLog, Snapshot
from eventstore.paths import events
from projections.context.cursor import resolve_cursor


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
    """An entry in its tree. `depth` is 0 at a root; `children` are ids in order of time."""

    id: str
    kind: str
    parent: str | None
    depth: int
    label: str | None
    children: list[str]


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A session's entries, parents before children; `leaf` is None in an empty session."""

    leaf: str | None
    roots: list[str]
    nodes: list[Node]


class TreeFold:
    """The tree after the events applied so far, in order of their numbers."""

    def __init__(self) -> None:
        self._labels = LabelFold()
        self._events: dict[str, tuple[str, str | None, int | None]] = {}
        self._children: dict[str | None, list[str]] = {None: []}
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

    def view(self) -> Tree:
        """Return the current tree.

        Children are in order of time, as in pi; those without a time keep their place.
        """
        nodes: list[Node] = []
        pending = [(root, 0) for root in reversed(self._children[None])]
        while pending:
            node_id, depth = pending.pop()
            kind, parent, _ = self._events[node_id]
            children = self._in_order(self._children[node_id])
            label = self._labels.labels.get(node_id)
            nodes.append(
                Node(id=node_id, kind=kind, parent=parent, depth=depth, label=label, children=children)
            )
            pending += [(child, depth + 1) for child in reversed(children)]
        return Tree(leaf=self._leaf, roots=list(self._children[None]), nodes=nodes)

    def _in_order(self, ids: list[str]) -> list[str]:
        times = [self._events[node_id][2] for node_id in ids]
        if None in times:
            return list(ids)
        return sorted(ids, key=lambda node_id: self._events[node_id][2] or 0)


def tree(log: EventLog | Snapshot, session: str, *, as_of: int | None = None) -> Tree:
    """Return the tree of a session, as of an event. Raises NotFoundError."""
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session, as_of=as_of)
        fold = TreeFold()
        for event in events(snapshot, session, last=cursor.as_of):
            fold.apply(event.decode())
        return fold.view()
