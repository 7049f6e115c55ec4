"""The vocabulary of nodes, and the walk that makes a context of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec


class Block(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A piece of a message: where it lies in record `seq`, and what can be asked of it without reading it.

    `kind` is text, thinking, call, result, image or other; `id` that of the call that it makes or answers.
    """

    kind: str
    seq: int
    start: int
    stop: int
    id: str = ""


class Compaction(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The nodes that a context shows in place of everything above, in the order in which they are sent.

    `kept` may name the compaction itself, in its place. With None, it is the run from node `first` on, behind the
    compaction. A run takes along what joins it (`is_run`), and is without what is `removed`.
    """

    kept: tuple[int, ...] | None = None
    first: int = 0
    keeps_before: bool = False
    is_run: bool = False
    removed: tuple[int, ...] = ()


class Change(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A text that contexts show instead: of a node by its id, of a call's result, or of a run up to `through`."""

    text: str
    target: str = ""
    call: str = ""
    through: str = ""


class Node(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The meaning of a record, or of a part of one.

    `seq` is its record. `parent` is the node above, 0 for none; of session `of`, "" for its own. `replaces` is the node
    whose newer meaning it is: it stands in that one's place. `off`: in no path; a compaction may keep it. `span` is
    where its content lies in the record; `blocks` may lie in several. `missing` names a session that is not there.
    `model`, a provider and a name, and `thinking` are settings from here on. Records of one `group` form one message;
    a node `joins` the one that it was in memory with, though a path may not contain it, or only `follows` it there.
    `answers` are the calls whose results it has, `changes` what contexts show in place of earlier nodes. `named` is the
    parent as written, `is_orphan` that it is not there. `version` is that of the process, which `ends` with it.
    """

    seq: int
    id: str
    kind: str
    parent: int = 0
    of: str = ""
    replaces: int = 0
    off: bool = False
    role: str = ""
    is_person: bool = False
    span: tuple[int, int] = (0, 0)
    blocks: tuple[Block, ...] = ()
    compaction: Compaction | None = None
    changes: tuple[Change, ...] = ()
    group: str = ""
    answers: tuple[str, ...] = ()
    joins: int = 0
    follows: int = 0
    named: str = ""
    is_orphan: bool = False
    is_progress: bool = False
    version: tuple[int, ...] = ()
    ends: bool = False
    model: tuple[Any, Any] | None = None
    thinking: Any = None
    missing: str = ""


class Place(NamedTuple):
    """A node's place: its session and number."""

    session: str
    number: int


class Nodes:
    """A session's nodes, numbered from 1, beside its records; `others` are the sessions that its roots may continue."""

    def __init__(
        self, name: str, records: Sequence[bytes], others: Mapping[str, Nodes] | None = None
    ) -> None:
        self.name, self.records, self.others = name, records, others or {}
        self.made: list[Node] = []
        self.leaf = 0
        self.ids: dict[str, int] = {}
        self._versions: dict[int, list[int]] = {}

    def __getitem__(self, number: int) -> Node:
        return self.made[number - 1]

    def add(self, node: Node) -> int:
        """Append a node and return its number."""
        self.made.append(node)
        number = len(self.made)
        if node.replaces:
            self._versions.setdefault(node.replaces, []).append(number)
        else:
            self.ids.setdefault(node.id, number)
        return number

    def newest(self, number: int, as_of: int | None = None) -> int:
        """Return the newest node in a node's place, as of a record."""
        versions = self._versions.get(number, [])
        at = len(versions) if as_of is None else bisect_right(versions, as_of, key=lambda n: self[n].seq)
        return versions[at - 1] if at else number

    def session(self, name: str) -> Nodes:
        """Return the nodes of a session, this one's by "" or its own name."""
        return self if name in ("", self.name) else self.others[name]


def walk(nodes: Nodes, leaf: int, as_of: int | None = None) -> list[Place]:
    """Return the places of a path, from the root on, through all sessions that it lies in."""
    found: list[Place] = []
    while leaf:
        number = nodes.newest(leaf, as_of)
        found.append(Place(nodes.name, number))
        above = nodes[leaf]
        leaf = above.parent
        if above.of:
            # Later records of the other session do not count: the path goes on at the parent.
            nodes, as_of = nodes.session(above.of), None
    return found[::-1]


def shown(nodes: Nodes, leaf: int, as_of: int | None = None) -> list[Place]:
    """Return the places that a context shows, in the order in which they are sent."""
    path = walk(nodes, leaf, as_of)

    def at(place: Place) -> Node:
        return nodes.session(place.session)[place.number]

    newest = next((n for n in range(len(path) - 1, -1, -1) if at(path[n]).compaction), None)
    if newest is None:
        return path
    place = path[newest]
    compaction = at(place).compaction
    assert compaction is not None
    if compaction.kept is not None:
        # A node that was kept and is on the path behind, too, is sent once.
        kept = [Place(place.session, nodes.session(place.session).newest(n, as_of)) for n in compaction.kept]
        return kept + [each for each in path[newest + 1 :] if each not in kept]
    first = next((n for n, each in enumerate(path) if each == Place(place.session, compaction.first)), newest)
    return [place, *path[first:newest], *path[newest + 1 :]]
