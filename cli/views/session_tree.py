"""A session as a tree of lines, for a terminal and for a page.

The path to the leaf is a straight line; branches off it are indented where they leave it, and the last part
of the line comes last. Runs of entries in which nothing turns are counted, not listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from cli.output import one_line, unbroken
from cli.views.texts import line_of
from eventstore.event import Event
from projections.continuation import is_continuation
from projections.summary_line import event_name, summary_line
from projections.tree import Node, Tree

if TYPE_CHECKING:
    from rich.console import Console

    from cli.views.model import TreeLine
    from cli.views.page.material import Material
    from eventstore.log import Snapshot


SIGNS: Final = {
    "compaction": "∑",
    "branch_summary": "⤷",
    "rewrite": "✂",
    "leaf_moved": "↷",
    "undone": "↶",
    "model_change": "⚙",
    "session_info": "✎",
    "custom_message": "+",
}
"""From the kinds that turn a session to their signs."""


_LONGEST_NAME: Final = 40


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """An event in a line: `name` is what it is called: a message's role, or else the kind."""

    sign: str
    name: str
    text: str


Lines = Mapping[int, Line]
"""Lines by the numbers of their events."""


def lines_of(events: Iterable[Event]) -> dict[int, Line]:
    """The lines of events by their numbers."""
    return {
        event.seq: Line(
            sign="" if is_continuation(event) else SIGNS.get(event.kind, ""),
            name=line_of(event_name(event), _LONGEST_NAME),
            # The sign says already that it is a summary.
            text=line_of(summary_line(event).removeprefix("∑ ")),
        )
        for event in events
    }


_LONGEST: Final = 120


def tree_lines(material: Material, lines: Lines, target: Callable[[int], str]) -> Iterator[TreeLine]:
    """The lines of the tree; `target` is where an event's line leads."""
    from cli.views.model import TreeLine

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
                is_leaf=node.id == material.view.audit.leaf,
                is_aside=event.seq not in path,
                target=target(event.seq),
                hidden=0,
            )
        else:
            run.append((event, level))
    if run:
        yield _run(run, path)


def _run(run: list[tuple[Event, int]], path: frozenset[int]) -> TreeLine:
    from cli.views.model import TreeLine

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


_SIGNS: Final = {
    "compaction": ("∑", "magenta"),
    "branch_summary": ("⤷", "magenta"),
    "rewrite": ("✂", "yellow"),
    "leaf_moved": ("↷", "yellow"),
    "undone": ("↶", "yellow"),
    "model_change": ("⚙", "blue"),
    "session_info": ("✎", "blue"),
    "custom_message": ("+", "blue"),
}


def print_tree(out: Console, tree: Tree, snapshot: Snapshot, session: str, *, is_full: bool) -> None:
    """The tree, root first."""
    _Drawing(out, tree, snapshot, session, is_full=is_full).draw()


class _Drawing:
    def __init__(self, out: Console, tree: Tree, snapshot: Snapshot, session: str, *, is_full: bool) -> None:
        self._nodes = {node.id: node for node in tree.nodes}
        self._tree, self._snapshot, self._session, self._is_full = tree, snapshot, session, is_full
        self._out = out
        self._main = self._path_to(tree.leaf)

    def _path_to(self, leaf: str | None) -> set[str]:
        found: set[str] = set()
        while leaf is not None:
            found.add(leaf)
            leaf = self._nodes[leaf].parent
        return found

    def draw(self) -> None:
        """Print the whole tree."""
        # A stack, for trees are as deep as sessions are long; the main line is drawn after its branches.
        pending = [(root, 0) for root in self._later_last(self._tree.roots)][::-1]
        hidden: Counter[str] = Counter()
        level = 0
        while pending:
            node_id, indent = pending.pop()
            node, event = self._nodes[node_id], self._event(node_id)
            if indent != level:
                self._flush(hidden, level)
                level = indent
            if self._is_worth_a_line(node, event):
                self._flush(hidden, level)
                self._line(node, event, indent)
            else:
                hidden[event_name(event)] += 1
            children = self._later_last(node.children)
            pending += [
                (child, indent if place == len(children) - 1 else indent + 1)
                for place, child in reversed(list(enumerate(children)))
            ]
        self._flush(hidden, level)

    def _later_last(self, ids: list[str]) -> list[str]:
        """Siblings with the one that leads to the leaf, or else the last, at the end."""
        return sorted(ids, key=self._main.__contains__)

    def _event(self, node_id: str) -> Event:
        from eventstore.paths import event

        seq = self._snapshot.locate(self._session, node_id)
        return event(self._snapshot, self._session, seq).decode()

    def _is_worth_a_line(self, node: Node, event: Event) -> bool:
        return (
            self._is_full
            or (not is_continuation(event) and (event.kind in _SIGNS or event.role == "user"))
            or node.label is not None
            or node.parent is None
            or len(node.children) != 1
        )

    def _line(self, node: Node, event: Event, indent: int) -> None:
        from rich.text import Text

        name = event_name(event)
        sign, colour = _SIGNS.get(name, ("●", "green") if name == "user" else ("·", "cyan"))
        line = Text("│ " * indent)
        line.append(f"{sign} ", style=f"bold {colour}")
        line.append(f"{unbroken(node.id):<8} ", style="dim")
        line.append(f"{unbroken(name)}  ", style=colour)
        marks = Text()
        if node.label is not None:
            marks.append(f"  [{one_line(node.label, 40)}]", style="bold yellow")
        if node.id == self._tree.leaf:
            marks.append("  ← leaf", style="bold green")
        room = min(84 - 2 * indent, self._out.width - line.cell_len - marks.cell_len)
        # The sign in front says already that it is a summary.
        line.append(one_line(summary_line(event).removeprefix("∑ "), max(20, room)))
        self._print(line + marks)

    def _flush(self, hidden: Counter[str], indent: int) -> None:
        if hidden:
            from rich.text import Text

            what = ", ".join(f"{count} {unbroken(name)}" for name, count in hidden.most_common())
            self._print(Text("│ " * indent + f"  … {what}", style="dim"))
            hidden.clear()

    def _print(self, line: object) -> None:
        self._out.print(line, crop=False, no_wrap=True, overflow="ignore")
