"""How a session's tree looks in a terminal.

The path to the leaf is a straight line; branches off it are indented where they leave it, and the last part
of the line comes last. Runs of entries in which nothing turns are counted, not listed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from cli.output import one_line, unbroken
from projections.continuation import is_continuation
from projections.summary_line import event_name, summary_line

if TYPE_CHECKING:
    from rich.console import Console

    from eventstore.event import Event
    from eventstore.log import Snapshot
    from projections.tree import Node, Tree

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
        from eventstore.frame import decode

        return decode(
            self._snapshot.frame(self._session, self._snapshot.locate(self._session, node_id)), self._session
        )

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
