"""A session's tree as lines: its turns one by one, the runs between them counted.

The path to the leaf is a straight line; branches off it are indented where they leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from cli.report.lines import SIGNS, Lines
from cli.report.material import Material
from cli.report.model import TreeLine
from cli.report.texts import line_of
from eventstore.event import Event
from projections.continuation import is_continuation
from projections.tree import Node, Tree

_LONGEST: Final = 120


def tree_lines(material: Material, lines: Lines, target: Callable[[int], str]) -> Iterator[TreeLine]:
    """The lines of the tree; `target` is where an event's line leads."""
    events = {event.id: event for event in material.events}
    path = material.path
    run: list[tuple[Event, int]] = []
    for node, level in _in_order(material.tree, path, events):
        event = events[node.id]
        is_turn = _is_turn(node, event)
        if run and (is_turn or run[-1][1] != level):
            yield _run(run, path)
            run = []
        if is_turn:
            yield TreeLine(
                level=level,
                seq=event.seq,
                sign=lines[event.seq].sign or ("●" if lines[event.seq].name == "user" else "·"),
                name=lines[event.seq].name,
                text=line_of(lines[event.seq].text, _LONGEST),
                label=node.label or "",
                is_leaf=node.id == material.audit.leaf,
                is_aside=event.seq not in path,
                target=target(event.seq),
                hidden=0,
            )
        else:
            run.append((event, level))
    if run:
        yield _run(run, path)


def _run(run: list[tuple[Event, int]], path: frozenset[int]) -> TreeLine:
    (first, level), (last, _) = run[0], run[-1]
    return TreeLine(
        level=level,
        seq=first.seq,
        sign="",
        name="",
        text=f"#{first.seq}" if first is last else f"#{first.seq} to #{last.seq}",
        label="",
        is_leaf=False,
        is_aside=first.seq not in path,
        target=f"e-{first.seq}",
        hidden=len(run),
    )


def _in_order(tree: Tree, path: frozenset[int], events: Mapping[str, Event]) -> Iterator[tuple[Node, int]]:
    """Entries with their levels, root first; of siblings, the one that leads to the leaf comes last."""
    nodes = {node.id: node for node in tree.nodes}

    def later_last(ids: list[str]) -> list[str]:
        return sorted(ids, key=lambda each: events[each].seq in path)

    # A stack, for trees are as deep as sessions are long.
    pending = [(root, 0) for root in later_last(tree.roots)][::-1]
    while pending:
        node_id, level = pending.pop()
        yield nodes[node_id], level
        children = later_last(nodes[node_id].children)
        pending += [
            (child, level if place == len(children) - 1 else level + 1)
            for place, child in reversed(list(enumerate(children)))
        ]


def _is_turn(node: Node, event: Event) -> bool:
    return (
        (not is_continuation(event) and (event.kind in SIGNS or event.role == "user"))
        or node.label is not None
        or node.parent is None
        or len(node.children) != 1
    )
