"""Lay out a session's tree as lines, and print it.

The path to the leaf is a straight line; other branches are indented where they leave it, and the path
continues after them. Runs of entries without a branch, label or other landmark are counted, not listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from cli.output import one_line, safe_line
from cli.store import fitted_id
from cli.views.texts import SIGNS
from eventstore import paths
from eventstore.event import Event
from eventstore.paths import LazyEvent
from projections.context.parts import is_continuation
from projections.descriptions import event_name, summary_line
from projections.tree import Tree, TreeNode

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from eventstore.log import Snapshot

_COLOURS: Final = {
    "compaction": "magenta",
    "branch_summary": "magenta",
    "rewrite": "yellow",
    "leaf_moved": "yellow",
    "undone": "yellow",
    "model_change": "blue",
    "session_info": "blue",
    "custom_message": "blue",
    "user": "green",
}


_LEAST: Final = 12
"""Minimum characters of an entry's text, even on the narrowest terminal."""


class EntryRow(msgspec.Struct, frozen=True):
    """An entry with its own line."""

    level: int
    node: TreeNode
    event: Event | LazyEvent


class CollapsedRun(msgspec.Struct):
    """Consecutive entries that share a line: first and last number, and names."""

    level: int
    first: int
    last: int
    names: Counter[str]


def tree_rows(
    tree: Tree,
    event_of: Callable[[str], Event | LazyEvent],
    is_main: Callable[[str], bool],
    *,
    is_full: bool = False,
) -> Iterator[EntryRow | CollapsedRun]:
    """Yield the rows of a tree, root first; `is_main` is true for ids on the path to the leaf.

    With `is_full`, every entry has its own row.
    """
    run: CollapsedRun | None = None
    branches = tree.branches()
    for node, level in _in_order(tree, is_main):
        event = event_of(node.id)
        is_turn = is_full or node.id == tree.leaf or _is_turn(node, event, branches[node.id])
        if run and (is_turn or level != run.level):
            yield run
            run = None
        if is_turn:
            yield EntryRow(level, node, event)
        else:
            run = run or CollapsedRun(level, event.seq, event.seq, Counter())
            run.last = event.seq
            run.names[event_name(event)] += 1
    if run:
        yield run


def _in_order(tree: Tree, is_main: Callable[[str], bool]) -> Iterator[tuple[TreeNode, int]]:
    """Yield entries with their levels.

    The sibling that leads to the leaf, or else the last, comes last. Records beside a path come first, on its level.
    """
    nodes = {node.id: node for node in tree.nodes}
    # Use a stack, because trees are as deep as sessions are long.

    def order(name: str) -> tuple[bool, bool]:
        return not nodes[name].beside, is_main(name)

    pending = [(root, 0) for root in sorted(tree.roots, key=is_main)][::-1]
    while pending:
        node_id, level = pending.pop()
        yield nodes[node_id], level
        children = sorted(nodes[node_id].children, key=order)
        pending += [
            (child, level if place == len(children) - 1 or nodes[child].beside else level + 1)
            for place, child in reversed(list(enumerate(children)))
        ]


def _is_turn(node: TreeNode, event: Event | LazyEvent, branches: int) -> bool:
    return (
        (not is_continuation(event) and (event.kind in SIGNS or event.role == "user"))
        or node.label is not None
        or node.parent is None
        or (branches != 1 and not node.beside)
    )


def print_tree(out: Console, tree: Tree, snapshot: Snapshot, session: str, *, is_full: bool) -> None:
    """Print the tree, root first."""

    def event_of(node_id: str) -> LazyEvent:
        return paths.event(snapshot, session, snapshot.locate(session, node_id))

    for each in tree_rows(tree, event_of, _path_to_leaf(tree).__contains__, is_full=is_full):
        if isinstance(each, EntryRow):
            name = fitted_id(snapshot, session, each.node.id, out.width)
            line = _turn(each, name, tree.leaf, out.width)
        else:
            line = _hidden(each)
        out.print(line, crop=False, no_wrap=True, overflow="ignore")


def _path_to_leaf(tree: Tree) -> set[str]:
    parents = {node.id: node.parent for node in tree.nodes}
    found: set[str] = set()
    leaf = tree.leaf
    while leaf is not None:
        found.add(leaf)
        leaf = parents[leaf]
    return found


def _turn(turn: EntryRow, name: str, leaf: str | None, width: int) -> Text:
    from rich.text import Text

    node, kind = turn.node, event_name(turn.event)
    sign, colour = SIGNS.get(kind, "●" if kind == "user" else "·"), _COLOURS.get(kind, "cyan")
    line = Text("│ " * turn.level)
    line.append(f"{sign} ", style=f"bold {colour}")
    line.append(f"{safe_line(name):<8} ", style="dim")
    line.append(f"{safe_line(kind)}  ", style=colour)
    marks = Text()
    if node.label is not None:
        marks.append(f"  [{one_line(node.label, 40)}]", style="bold yellow")
    if node.id == leaf:
        marks.append("  ← leaf", style="bold green")
    room = min(84 - 2 * turn.level, width - line.cell_len - marks.cell_len)
    # The symbol in front already says that it is a summary.
    line.append(one_line(summary_line(turn.event).removeprefix("∑ "), max(_LEAST, room)))
    return line + marks


def _hidden(run: CollapsedRun) -> Text:
    from rich.text import Text

    what = ", ".join(f"{count} {safe_line(name)}" for name, count in run.names.most_common())
    return Text("│ " * run.level + f"  … {what}", style="dim")
