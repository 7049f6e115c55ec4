"""Build contexts of Claude Code's transcripts without a store, from their lines alone.

Only the structure is here: places in the tree, what compactions keep, what rewrites change, what was in memory beside
a path. The messages of records come from the functions that read them for the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import msgspec
from msgspec.structs import replace

from eventstore.harnesses.claude_code.api_message import wire_of
from eventstore.harnesses.claude_code.meaning import facts_of, node_of, shown_messages
from eventstore.harnesses.claude_code.record import (
    VERSION,
    Fields,
    fields_of,
    is_boundary,
    kept_by,
    kind_of,
    shown_by,
    version_of,
)
from eventstore.harnesses.names import is_name
from eventstore.records import TextReplacement
from projections.context.overlay import Rewrites
from projections.context.parts import Fate, Part
from projections.rules.claude_code import RULES
from projections.rules.claude_code.turns import attachments_first, lines_ended

_ENDS_LINES: Final = (2, 1, 78)
"""The first version that ends the line of a text before another one."""
_REJOINS: Final = (2, 1, 88)
"""The first version that restores the results of parallel calls when it resumes a session."""
_RESUMED: Final = re.compile(
    rb'<command-name>/(?:exit|quit)|"hookName"\s*:\s*"SessionStart:resume"|"model"\s*:\s*"<synthetic>"'
)
"""Fields of records that show where one process ended and another began."""


class Compaction(msgspec.Struct, frozen=True):
    """The nodes that a context shows in place of everything above, in the order in which they are sent.

    `kept` may name the compaction itself. A run takes along what joins it (`is_run`), and is without what is `removed`.
    """

    kept: tuple[int, ...] = ()
    keeps_before: bool = False
    is_run: bool = False
    removed: tuple[int, ...] = ()


class Change(msgspec.Struct, frozen=True):
    """A text that contexts show instead: of a node by its id, of a call's result, or of a run up to `through`."""

    text: str
    target: str = ""
    call: str = ""
    through: str = ""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning of record `seq`.

    `parent` is the node above, 0 for none. `off`: in no path; a compaction may keep it. Records of one `group` form one
    message; a node `joins` the one that it was in memory with, though a path may not contain it, or only `follows` it
    there. `answers` are the calls whose results it has, `changes` what contexts show in place of earlier nodes. `named`
    is the parent as written, `is_orphan` that it is not there. `version` is that of the process, which `ends` with it.
    """

    seq: int
    id: str
    kind: str
    parent: int = 0
    off: bool = False
    role: str = ""
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


class Nodes:
    """A session's nodes, numbered from 1, beside its records."""

    def __init__(self, records: Sequence[bytes]) -> None:
        self.records = records
        self.made: list[Node] = []
        self.leaf = 0
        self.ids: dict[str, int] = {}

    def __getitem__(self, number: int) -> Node:
        return self.made[number - 1]

    def add(self, node: Node) -> int:
        """Append a node and return its number."""
        self.made.append(node)
        self.ids.setdefault(node.id, len(self.made))
        return len(self.made)

    def path(self, leaf: int) -> list[int]:
        """Return the nodes from the root to a leaf."""
        found = list[int]()
        while leaf:
            found.append(leaf)
            leaf = self[leaf].parent
        return found[::-1]


def nodes_of(lines: Sequence[bytes]) -> Nodes:
    """Make nodes of a file's lines, without those of sidechains beside a main chain."""
    records = [(seq, fields_of(raw)) for seq, raw in enumerate(lines, 1) if raw.startswith(b"{")]
    is_agent = all(fields.isSidechain is True for _, fields in records if fields.is_chained)
    reader = _Reader(Nodes(lines))
    reader.read([each for each in records if is_agent or each[1].isSidechain is not True])
    return reader.nodes


class _Reader:
    """Place records in the tree; one whose parent comes later in the file waits for it.

    `instead` maps a node to the one that its children get as parent.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.last = self.boundary = 0
        self.instead: dict[int, int] = {}
        self.kept: dict[int, int] = {}
        self.to_come: dict[str, int] = {}
        self.waiting: dict[str, list[tuple[int, Fields]]] = {}

    def read(self, records: Sequence[tuple[int, Fields]]) -> None:
        for seq, fields in records:
            if fields.is_chained:
                self.to_come.setdefault(fields.uuid, seq)
        for seq, fields in records:
            named = _named(fields)
            if fields.is_chained and self._is_repeat(seq, fields):
                continue
            if fields.is_chained and self._waits(seq, fields, named):
                self.waiting.setdefault(named, []).append((seq, fields))
            else:
                self._place(seq, fields, named)
        self.nodes.leaf = self.last

    def _waits(self, seq: int, fields: Fields, named: str) -> bool:
        is_there = named in self.nodes.ids or named == fields.uuid
        is_to_come = self.to_come.get(named, 0) > seq
        return not is_there and (is_to_come or any(named == each.uuid for _, each in self._all_waiting()))

    def _all_waiting(self) -> Iterator[tuple[int, Fields]]:
        return chain.from_iterable(self.waiting.values())

    def _is_repeat(self, seq: int, fields: Fields) -> bool:
        first = self.to_come[fields.uuid]
        return first != seq and self.nodes.records[first - 1] == self.nodes.records[seq - 1]

    def _place(self, seq: int, fields: Fields, named: str) -> None:
        nodes, kind = self.nodes, kind_of(fields)
        taken = nodes.ids.get(fields.uuid, 0) if fields.is_chained else 0
        own = f"{fields.uuid}~{seq}" if taken else fields.uuid if fields.is_chained else f"{kind}-{seq}"
        parent, is_guess = self._parent(fields, kind, named)
        node = _node(nodes.records[seq - 1], seq, fields, own, kind)
        joins, follows = self._beside(node, parent)
        number = nodes.add(replace(node, parent=parent, is_orphan=is_guess, joins=joins, follows=follows))
        if taken:
            self.instead[self._current(taken)] = number
        if kind == "note":
            self._move(fields)
            return
        if not fields.is_chained and self.last:
            self.instead[self.last] = number
        if is_boundary(fields):
            self.boundary = number
        elif kind == "compaction" and self.boundary:
            self._keep(number, fields_of(nodes.records[nodes[self.boundary].seq - 1]))
            self.boundary = 0
        self.last = number
        for each in self.waiting.pop(own, ()):
            self._place(*each, _named(each[1]))

    def _parent(self, fields: Fields, kind: str, named: str) -> tuple[int, bool]:
        if not fields.is_chained or (kind == "compaction" and self.boundary):
            return self.boundary if kind == "compaction" else self.last, False
        if not named and not is_boundary(fields):
            return 0, False
        if found := self.nodes.ids.get(named, 0):
            return self._current(self.kept.get(found, found)), False
        return self.last, not is_boundary(fields)

    def _current(self, number: int) -> int:
        seen = set[int]()
        while number in self.instead and number not in seen:
            seen.add(number)
            number = self.instead[number]
        return number

    def _beside(self, node: Node, parent: int) -> tuple[int, int]:
        """Return the node with which one was in memory, though a path may not contain it: joined, or only following."""
        nodes, above = self.nodes, parent
        if node.role not in ("assistant", "toolResult"):
            return 0, above if node.kind in ("custom", "custom_message") else 0
        # While one call runs, its progress comes between the records of parallel calls.
        while above and nodes[above].is_progress:
            above = nodes[above].parent
        at = above
        while node.role == "assistant" and at and nodes[at].role not in ("assistant", "user"):
            at = nodes[at].parent
        is_of_answer = at > 0 and nodes[at].role == "assistant"
        is_joined = is_of_answer and (node.role == "toolResult" or nodes[at].group == node.group != "")
        return above if is_joined else 0, 0

    def _keep(self, number: int, boundary: Fields) -> None:
        """Resolve what a summary keeps: nodes, in the order of the file; those behind continue from the summary."""
        nodes, summary = self.nodes, self.nodes[number]
        kept = kept_by(boundary)
        if kept is None:
            nodes.made[number - 1] = replace(summary, compaction=Compaction(kept=(number,)))
            return
        ids = nodes.ids
        if kept.ids is not None:
            listed = [ids[each] for each in kept.ids if each in ids]
            before = [ids[each] for each in (*kept.ids, kept.last) if each in ids]
        else:
            listed = before = _run(nodes, ids.get(kept.first, 0), ids.get(kept.last, 0))
        removed = tuple(ids[each] for each in kept.removed if each in ids)
        compaction = Compaction(
            kept=tuple(listed), keeps_before=kept.before, is_run=kept.ids is None, removed=removed
        )
        nodes.made[number - 1] = replace(summary, compaction=compaction)
        if not kept.before:
            self.kept |= dict.fromkeys(before, number)

    def _move(self, fields: Fields) -> None:
        """Go to the leaf that a `last-prompt` names, if a message of the newest path is not on its path."""
        named = fields.leafUuid if fields.type == "last-prompt" else None
        if not (isinstance(named, str) and named in self.nodes.ids) or not self.last:
            return
        leaf, at = self._current(self.nodes.ids[named]), self.last
        while at and at != leaf:
            if self.nodes[at].kind == "message":
                self.last = leaf
                return
            at = self.nodes[at].parent
        if at != leaf:
            self.last = leaf


def _named(fields: Fields) -> str:
    named = fields.parentUuid if fields.is_chained else None
    if named is None and is_boundary(fields):
        named = fields.logicalParentUuid
    return named if isinstance(named, str) and is_name(named) else ""


def _node(raw: bytes, seq: int, fields: Fields, name: str, kind: str) -> Node:
    role = facts_of(kind, raw, fields, 0).role
    ends = None if role == "toolResult" else _RESUMED.search(raw)
    messages = node_of("message", fields).messages if kind == "message" else ()
    return Node(
        seq=seq,
        id=name,
        kind=kind,
        off=kind == "note",
        role=role,
        group=_group(fields) if role == "assistant" else "",
        answers=tuple(each.tool_call_id for each in messages if each.tool_call_id),
        changes=tuple(
            Change(text=each.text, target=each.target, through=each.through, call=getattr(each, "call", ""))
            for each in (shown_by(fields) if kind == "rewrite" else ())
        ),
        named=_named(fields),
        version=version_of(fields.version) or (),
        ends=ends is not None and (role != "assistant" or ends[0].startswith(b'"model"')),
        is_progress=kind == "custom" and fields.type == "progress",
    )


def _group(fields: Fields) -> str:
    name = wire_of(fields.raw_message).id
    return name if isinstance(name, str) else ""


def _run(nodes: Nodes, first: int, last: int) -> list[int]:
    """Return the path from one node to a later one; empty if it is broken."""
    found: list[int] = []
    while last and first and last >= first:
        found.append(last)
        if last == first:
            return found[::-1]
        last = nodes[last].parent
    return []


def parts_at(nodes: Nodes, leaf: int) -> Sequence[Part]:
    """Return the parts of a context, as the rules join and arrange them."""
    versions = {node.id: node.version for node in nodes.made}
    joined = RULES.joined(attachments_first([*_changed(nodes, _shown(nodes, leaf))]))
    return lines_ended(joined, lambda part: versions[part.id] >= _ENDS_LINES)


def _shown(nodes: Nodes, leaf: int) -> list[int]:
    """Return what a context selects: nodes in the order in which they are sent."""
    path = nodes.path(leaf)
    at = next((n for n in range(len(path) - 1, -1, -1) if nodes[path[n]].kind == "compaction"), None)
    if at is None:
        return _with_beside(nodes, path)
    summary, behind = path[at], path[at + 1 :]
    compaction = nodes[summary].compaction or Compaction()
    kept = [each for each in compaction.kept if each != summary]
    first = next((nodes[each].named for each in behind if nodes[each].named), "")
    names = [nodes[each].id for each in kept]
    if first in names and not compaction.keeps_before:
        kept = kept[: names.index(first) + 1]
    if compaction.is_run:
        kept = [*kept, *_beside(nodes, kept)]
    kept = sorted(set(kept) - set(compaction.removed), key=lambda each: nodes[each].seq)
    behind = _with_beside(nodes, behind)
    return [*kept, summary, *behind] if compaction.keeps_before else [summary, *kept, *behind]


def _with_beside(nodes: Nodes, path: Sequence[int]) -> list[int]:
    """Return a path with what was in memory beside it, in the order of the records; none comes before its parent."""
    places: dict[int, int] = {}
    shown = [*path, *sorted(_beside(nodes, path))]
    for each in shown:
        places[each] = max(nodes[each].seq, places.get(nodes[each].parent, 0))
    return sorted(shown, key=places.__getitem__)


def _beside(nodes: Nodes, path: Sequence[int]) -> list[int]:
    """Return what was in memory with a path: further blocks, results of parallel calls and what follows them."""
    on_path, found, lost = set(path), list[int](), 0
    before: Node | None = None
    for place, number in enumerate(path):
        for other in range(path[place - 1] + 1, number) if place else ():
            node = nodes[other]
            is_joined = node.joins in on_path or node.joins in found
            if not node.off and not node.is_orphan and ((node.joins and is_joined) or node.follows in found):
                found.append(other)
        node = nodes[number]
        if node.version:
            is_another = before is not None and (before.ends or before.version != node.version)
            if is_another and node.version < _REJOINS and not node.ends:
                lost = number
            before = node
    return [each for each in found if each > lost]


def _changed(nodes: Nodes, entries: Sequence[int]) -> Iterator[Part]:
    """Yield the parts of entries, after the rewrites among them."""
    targets = list[TextReplacement]()
    for change in (change for number in entries for change in nodes[number].changes):
        if change.call:
            found = (nodes[number].id for number in entries if change.call in nodes[number].answers)
            targets += [TextReplacement(target=name, call=change.call, text=change.text) for name in found]
        else:
            targets.append(TextReplacement(target=change.target, through=change.through, text=change.text))
    rewrites = Rewrites(targets)
    shown = [number for number in entries if nodes[number].kind != "rewrite"]
    for number, span in rewrites.visible(shown, lambda number: nodes[number].id):
        node = nodes[number]
        if span:
            yield from _parts(number, node, span.messages(RULES, None), "user")
            continue
        messages = shown_messages(node.kind, nodes.records[node.seq - 1])
        if messages and (changes := rewrites.changes.get(node.id)):
            messages = RULES.rewrite(messages, changes)
        yield from _parts(number, node, messages, node.role)


def _parts(number: int, node: Node, messages: Sequence[bytes], role: str) -> Iterator[Part]:
    for place, raw in enumerate(messages):
        yield Part(
            seq=number,
            id=node.id,
            kind=node.kind,
            role=role,
            fate=Fate.KEPT,
            raw=raw,
            format=VERSION,
            place=place,
        )
