"""The walk over nodes that makes a context: what a compaction keeps, in its order, and what follows."""

from __future__ import annotations

from tests.nodes.node import Compaction, Node, Nodes, shown


def test_kept_run_follows_its_compaction() -> None:
    nodes = _chain(Node(seq=4, id="c", kind="compaction", parent=3, compaction=Compaction(first=2)))
    assert _shown(nodes, 5) == ["c", "2", "3", "5"]


def test_kept_nodes_are_shown_in_their_order() -> None:
    nodes = _chain(Node(seq=4, id="c", kind="compaction", parent=3, compaction=Compaction(kept=(3, 4, 1))))
    assert _shown(nodes, 5) == ["3", "c", "1", "5"]


def test_run_that_is_not_above_is_nothing() -> None:
    nodes = _chain(Node(seq=4, id="c", kind="compaction", parent=3, compaction=Compaction(first=9)))
    assert _shown(nodes, 5) == ["c", "5"]


def test_newer_compaction_stands_for_the_older() -> None:
    nodes = _chain(Node(seq=4, id="c", kind="compaction", parent=3, compaction=Compaction(first=2)))
    nodes.add(Node(seq=6, id="d", kind="compaction", parent=5, compaction=Compaction(kept=(6, 5))))
    assert _shown(nodes, 6) == ["d", "5"]


def _chain(compaction: Node) -> Nodes:
    """Return three messages, a compaction and a message behind it."""
    nodes = Nodes("s", [])
    for n in (1, 2, 3):
        nodes.add(Node(seq=n, id=str(n), kind="message", parent=n - 1))
    nodes.add(compaction)
    nodes.add(Node(seq=5, id="5", kind="message", parent=4))
    return nodes


def _shown(nodes: Nodes, leaf: int) -> list[str]:
    return [nodes[each.number].id for each in shown(nodes, leaf)]
