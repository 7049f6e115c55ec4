from __future__ import annotations

from tests.cli.running import Refold
from tests.cli.tale import ENTRIES, SESSION
from tests.support.pi_files import line


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


def test_as_of_an_event_the_tree_is_as_it_was(told: Refold) -> None:
    found = told("tree", SESSION, "--as-of", "10", "--json").json
    assert found["leaf"] == "b2"
    assert [node["id"] for node in found["nodes"]] == ENTRIES[:10]
    assert {node["label"] for node in found["nodes"]} == {None}


def test_a_label_that_is_taken_away_is_gone(told: Refold) -> None:
    told("label", SESSION, "u2", "")
    labels = {node["label"] for node in told("tree", SESSION, "--json").json["nodes"]}
    assert labels == {None}


def test_roots_are_listed_in_order(told: Refold) -> None:
    told("append", SESSION, stdin=line({"type": "custom", "customType": "x", "id": "r9", "parentId": None}))
    assert told("tree", SESSION, "--json").json["roots"] == ["u1", "r9"]


def test_a_tree_without_entries_says_so_beside_it(told: Refold) -> None:
    outcome = told("tree", SESSION, "--as-of", "0")
    assert (outcome.out.strip(), len(outcome.notes)) == ("", 1)
    assert told("tree", SESSION).notes == []
