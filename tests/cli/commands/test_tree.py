from __future__ import annotations

from tests.cli.running import Refold
from tests.cli.tale import ENTRIES, SESSION


def test_json_holds_leaf_roots_and_nodes(told: Refold) -> None:
    found = told("tree", SESSION, "--json").json
    assert sorted(found) == ["leaf", "nodes", "roots"]
    assert (found["leaf"], found["roots"]) == ("i1", ["u1"])
    assert [node["id"] for node in found["nodes"]] == ENTRIES


def test_a_node_tells_its_kind_place_label_and_children(told: Refold) -> None:
    nodes = {node["id"]: node for node in told("tree", SESSION, "--json").json["nodes"]}
    assert nodes["u2"] == {
        "id": "u2",
        "kind": "message",
        "parent": "r3",
        "depth": 6,
        "label": "halfway",
        "children": ["a3"],
        "beside": False,
    }
    assert nodes["a3"]["children"] == ["b1", "s1"]
    assert (nodes["s1"]["parent"], nodes["s1"]["depth"], nodes["s1"]["kind"]) == ("a3", 8, "branch_summary")
    assert (nodes["u1"]["parent"], nodes["b2"]["children"]) == (None, [])
