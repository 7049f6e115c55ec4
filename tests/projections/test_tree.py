"""A session as a tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.errors import NotFoundError
from eventstore.memory import MemoryLog
from eventstore.records import Decision, Label, LeafMoved, ModelChange
from projections.context.cursor import ROOT
from projections.tree import Tree, TreeFold, TreeNode, tree
from tests.support import claude_code
from tests.support.events import event, message
from tests.support.talk import user


def outline(found):
    return [(node.id, node.depth) for node in found.nodes]


def test_an_empty_fold_is_an_empty_tree():
    assert TreeFold().view() == Tree(leaf=None, roots=[], nodes=[])


def test_a_node_says_what_it_is_and_where_it_hangs(story):
    root, child = story.says(user("root"), user("child"))
    story.add(Label(target_id=root, label="start"))
    assert tree(story.log, "s").nodes[:2] == [
        TreeNode(id=root, kind="message", parent=None, depth=0, label="start", children=[child]),
        TreeNode(id=child, kind="message", parent=root, depth=1, label=None, children=["e3"]),
    ]


def test_each_node_stands_before_its_children_and_a_branch_before_the_next(story):
    root, one, below = story.says(user("root"), user("one"), user("below one"))
    other = story.add(Label(target_id=root, label="x"), parent=root)
    assert outline(tree(story.log, "s")) == [(root, 0), (one, 1), (below, 2), (other, 1)]


def test_the_leaf_is_the_newest_entry(story):
    root, _ = story.says(user("root"), user("child"))
    moved = story.add(LeafMoved(from_id="e2"), parent=root)
    assert tree(story.log, "s").leaf == moved


def test_an_event_off_the_path_is_no_node(story):
    (root,) = story.says(user("root"))
    story.add(Decision(outcome="skip", reason="small"))
    found = tree(story.log, "s")
    assert (found.leaf, outline(found)) == (root, [(root, 0)])


def test_children_stand_in_order_of_their_times(log):
    log.append("s", [message("root", time=0), message("late", parent="root", time=20)])
    log.append("s", [message("early", parent="root", time=10)])
    assert tree(log, "s").nodes[0].children == ["early", "late"]


def test_children_of_the_same_time_stand_in_order_of_the_log(log):
    log.append("s", [message(name, parent="b" if name != "b" else None, time=7) for name in "bzya"])
    assert tree(log, "s").nodes[0].children == ["z", "y", "a"]


def test_children_of_unknown_times_stand_in_order_of_the_log(log):
    log.append("s", [message("root"), message("late", parent="root", time=20)])
    log.append("s", [message("whenever", parent="root", time=None), message("early", parent="root", time=1)])
    assert tree(log, "s").nodes[0].children == ["late", "whenever", "early"]


def test_roots_stand_in_order_of_the_log(log):
    log.append("s", [message("late", parent=None, time=20), message("early", parent=None, time=10)])
    assert tree(log, "s").roots == ["late", "early"]


def test_an_entry_whose_parent_is_not_in_its_file_is_a_root(store, tmp_path, pi):
    pi.says("a1", user("root"))
    pi.says("a2", user("orphan"), parent="ghost")
    found = tree(store, pi.store_in(store, tmp_path))
    assert outline(found) == [("a1", 0), ("a2", 0)]


def test_a_tree_as_of_an_event_has_no_later_nodes_and_labels(story):
    (root,) = story.says(user("root"))
    story.says(user("child"))
    story.add(Label(target_id=root, label="x"))
    found = tree(story.log, "s", as_of=2)
    assert ([node.label for node in found.nodes], found.leaf) == ([None, None], "e2")


def test_a_tree_as_of_nothing_is_empty(story):
    story.says(user("root"))
    assert tree(story.log, "s", as_of=0) == Tree(leaf=None, roots=[], nodes=[])


@pytest.mark.slow
def test_a_tree_may_be_as_deep_as_a_session_is_long(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.append("s", [message(f"e{number}") for number in range(3000)])
        assert tree(store, "s").nodes[-1].depth == 2999


def test_an_unknown_session_has_no_tree(log):
    with pytest.raises(NotFoundError) as refused:
        tree(log, "s")
    assert (refused.value.what, refused.value.name) == ("session", "s")


def test_records_of_one_message_and_results_of_parallel_calls_are_no_branches(tmp_path: Path) -> None:
    log = MemoryLog()
    hook = {"type": "hook_additional_context", "content": ["mind"]}
    claude_code.bring(
        log,
        tmp_path / "s.jsonl",
        claude_code.said("u", None, "go"),
        claude_code.answer("a", "u", "m1", claude_code.call("x")),
        claude_code.answer("b", "a", "m1", claude_code.call("y")),
        claude_code.result("r", "a", "x", "one"),
        claude_code.attached("h", "r", hook),
        claude_code.result("q", "b", "y", "two"),
        claude_code.answer("c", "q", "m2", claude_code.call("z")),
        claude_code.result("s", "c", "z", "three"),
        claude_code.said("v", "a", "a rewind"),
        claude_code.answer("d", "v", "m3", "done"),
    )
    found = tree(log, claude_code.SESSION)
    assert {node.id for node in found.nodes if node.beside} == {"r", "h"}
    assert {node.id for node in found.nodes if node.ends_branch} == {"s", "d"}
    assert {name: number for name, number in found.branches().items() if number > 1} == {"a": 2}


def progress(uuid: str, parent: str) -> bytes:
    return claude_code.record(uuid, parent, "progress", data={"type": "bash_progress"})


def behind_progress(folder: Path, *lines: bytes) -> Tree:
    """Return the tree of a call, a record of its progress, `p`, and what follows."""
    log = MemoryLog()
    said = claude_code.said("u", None, "go")
    asked = claude_code.answer("a", "u", "m1", claude_code.call("x"))
    claude_code.bring(log, folder / "s.jsonl", said, asked, progress("p", "a"), *lines)
    return tree(log, claude_code.SESSION)


def test_records_of_progress_make_no_branch(tmp_path: Path) -> None:
    result = claude_code.result("r", "a", "x", "one")
    found = behind_progress(tmp_path, progress("q", "p"), result, claude_code.answer("b", "r", "m2", "done"))
    assert ([node.id for node in found.nodes], found.ends) == (["u", "a", "r", "b"], 1)


def test_a_parallel_call_behind_progress_is_no_branch(tmp_path: Path) -> None:
    found = behind_progress(
        tmp_path,
        claude_code.answer("b", "p", "m1", claude_code.call("y")),
        claude_code.result("q", "b", "y", "two"),
        claude_code.result("r", "a", "x", "one"),
        claude_code.answer("c", "r", "m2", "done"),
    )
    assert ({node.id for node in found.nodes if node.beside}, found.ends) == ({"b", "q"}, 1)


def test_an_unsent_entry_may_be_the_leaf(log):
    log.append("s", [message("root"), event("state"), message("child")])
    found = tree(log, "s", leaf="state")
    assert (outline(found), found.leaf) == ([("root", 0), ("state", 1), ("child", 2)], "state")
    assert tree(log, "s", leaf=ROOT).leaf is None


def test_what_is_below_a_hidden_entry_moves_up(log):
    log.append("s", [message("root"), event("state"), message("child")])
    assert outline(tree(log, "s")) == [("root", 0), ("child", 1)]


def test_an_unsent_leaf_is_shown(log):
    log.append("s", [message("root"), event("state"), event("leaf")])
    assert outline(tree(log, "s")) == [("root", 0), ("leaf", 1)]


def test_an_unsent_entry_with_a_label_is_shown(story):
    story.log.append("s", [event("state")])
    story.add(Label(target_id="state", label="here"))
    story.says(user("on"))
    assert [node.label for node in tree(story.log, "s").nodes] == ["here", None, None]


def test_an_unsent_target_of_a_move_is_shown(story):
    story.log.append("s", [message("root"), event("state"), message("child")])
    story.add(LeafMoved(from_id="child"), parent="state")
    story.says(user("on"))
    found = tree(story.log, "s")
    assert outline(found)[:3] == [("root", 0), ("state", 1), ("child", 2)]
    assert (found.nodes[3].parent, found.nodes[3].kind) == ("state", "message")


def test_only_settings_in_force_are_shown(story):
    story.add(ModelChange(provider="p", model_id="replaced"))
    first = story.add(ModelChange(provider="p", model_id="first"))
    (said,) = story.says(user("on"))
    story.add(ModelChange(provider="p", model_id="left behind"))
    newest = story.add(ModelChange(provider="p", model_id="newest"), parent=said)
    assert outline(tree(story.log, "s")) == [(first, 0), (said, 1), (newest, 2)]


def test_one_of_several_parallel_results_goes_on_at_the_end(tmp_path: Path) -> None:
    log = MemoryLog()
    claude_code.bring(
        log,
        tmp_path / "s.jsonl",
        claude_code.said("u", None, "go"),
        claude_code.answer("a", "u", "m1", claude_code.call("x")),
        claude_code.answer("b", "a", "m1", claude_code.call("y")),
        claude_code.result("q", "b", "y", "two"),
        claude_code.result("r", "a", "x", "one"),
    )
    found = tree(log, claude_code.SESSION)
    assert [node.id for node in found.nodes if node.ends_branch] == ["r"]
