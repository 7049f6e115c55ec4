"""Going elsewhere in a session's tree: what it would mean, and what it appends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.branching.move import go, move_to
from compaction.branching.move_plan import plan_move
from compaction.branching.summarize import PREAMBLE
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.memory import MemoryLog
from eventstore.records import (
    Compaction,
    Custom,
    CustomMessage,
    Decision,
    FileOperations,
    Label,
    ModelChange,
    ObservedRewrite,
    embed,
    record_of,
)
from eventstore.writing import SessionWriter
from projections.context.build import build_context, context_json
from projections.context.cursor import ROOT
from projections.tree import tree
from tests.support.events import NOW, events, path_ids, version
from tests.support.examples import examples
from tests.support.native import native_events
from tests.support.talk import assistant, call, image, text, texts_of, user


def plan(story, target):
    return plan_move(story.log, "s", target)


def labels(story):
    return {node.id: node.label for node in tree(story.log, "s").nodes if node.label is not None}


@pytest.fixture
def forked(story):
    """A trunk of two entries, e1 and e2, and two branches below it: e3 and e4, then e6 and e7, where it stands."""
    story.says(user("trunk"), assistant("of two"), user("first"), assistant("branch"))
    move_to(story.writer, "e2")
    story.says(user("second"), assistant("branch, too"))
    return story


class TestPlan:
    def test_the_common_ancestor_is_the_deepest_shared_entry(self, forked):
        assert plan(forked, "e4").common_ancestor == "e2"

    def test_a_target_above_the_leaf_is_the_common_ancestor_itself(self, forked):
        assert plan(forked, "e6").common_ancestor == "e6"

    def test_where_nothing_is_shared_there_is_no_common_ancestor(self, forked):
        assert plan(forked, ROOT).common_ancestor is None

    def test_the_entries_to_summarize_reach_from_below_the_ancestor_to_the_leaf(self, forked):
        # e5 is the move between the branches: it lies on the second.
        assert [entry.id for entry in plan(forked, "e4").to_summarize] == ["e5", "e6", "e7"]

    def test_a_compaction_among_them_is_no_stop(self, story):
        root, *_, kept = story.says(user("root"), user("a"), user("b"))
        story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9))
        assert [entry.kind for entry in plan(story, root).to_summarize] == ["message"] * 2 + ["compaction"]

    def test_a_target_below_the_leaf_leaves_nothing_to_summarize_but_the_move_back(self, story):
        _, below = story.says(assistant("root"), assistant("below"))
        move_to(story.writer, "e1")
        assert [entry.kind for entry in plan(story, below).to_summarize] == ["leaf_moved"]

    def test_an_assistants_message_is_stood_on(self, forked):
        assert plan(forked, "e4").new_leaf == "e4"

    def test_a_compaction_is_stood_on(self, story):
        (kept, *_) = story.says(user("kept"))
        compacted = story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9))
        story.says(user("more"))
        assert plan(story, compacted).new_leaf == compacted

    def test_of_a_users_message_the_parent_is_stood_on(self, forked):
        assert plan(forked, "e3").new_leaf == "e2"

    def test_of_the_first_users_message_the_root_is_stood_on(self, forked):
        assert plan(forked, "e1").new_leaf is None

    def test_of_an_extensions_message_the_parent_is_stood_on(self, story):
        said = story.says(assistant("root"))[0]
        note = story.add(CustomMessage(custom_type="x", content="by the way"))
        story.says(assistant("more"))
        assert plan(story, note).new_leaf == said

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ("as one text", "as one text"),
            ([text("in "), image(), text("blocks")], "in blocks"),
            ([image()], ""),
            ([], ""),
        ],
    )
    def test_a_users_text_is_handed_back(self, story, content, expected):
        story.says(user(content), assistant("an answer"))
        assert plan(story, "e1").editor_text == expected

    @pytest.mark.parametrize("content", ["as one text", [text("as one "), text("text")]])
    def test_an_extensions_text_is_handed_back(self, story, content):
        story.add(CustomMessage(custom_type="x", content=content))
        story.says(assistant("an answer"))
        assert plan(story, "e1").editor_text == "as one text"

    def test_the_text_is_that_which_the_harness_has_now(self, story):
        story.says(user("as it was"), assistant("an answer"))
        changed = b'{"type":"message","message":{"role":"user","content":"as it is now"}}'
        story.observes(ObservedRewrite(target_id="e1", record=embed(changed)))
        assert plan(story, "e1").editor_text == "as it is now"

    def test_what_an_assistant_said_is_not_handed_back(self, forked):
        assert plan(forked, "e4").editor_text is None

    def test_the_files_are_those_of_all_that_is_left(self, story):
        root = story.says(assistant(call("read", path="root.py")))[0]
        _, kept = story.says(assistant(call("read", path="left.py")), assistant(call("edit", path="b.py")))
        story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9))
        story.says(assistant(call("read", path="after.py")))
        assert plan(story, root).files == FileOperations(
            read_files=["after.py", "left.py"], modified_files=["b.py"]
        )

    def test_the_files_of_a_branch_that_was_summarized_before_are_among_them(self, story):
        root = story.says(assistant("root"))[0]
        story.says(assistant(call("read", path="first.py")))
        go(story.writer, root, summary="tried")
        story.says(assistant(call("read", path="second.py")))
        assert plan(story, root).files.read_files == ["first.py", "second.py"]

    def test_where_one_stands_there_is_nothing_to_do(self, forked):
        found = plan(forked, "e7")
        assert (found.stays, found.new_leaf, found.to_summarize, found.editor_text) == (True, "e7", (), None)

    def test_a_users_message_that_one_stands_on_is_not_handed_back(self, story):
        (only,) = story.says(user("only"))
        found = plan(story, only)
        assert (found.stays, found.new_leaf, found.editor_text) == (True, only, None)

    def test_no_target_is_where_one_stands(self, forked):
        assert plan(forked, None).stays

    def test_the_place_that_one_has_gone_to_is_where_one_stands(self, forked):
        move_to(forked.writer, "e4")
        assert plan(forked, "e4").stays

    def test_a_label_is_no_place_of_its_own(self, story):
        said = story.says(assistant("said"))[0]
        story.add(Label(target_id=said, label="here"))
        assert plan(story, said).stays

    def test_a_change_of_model_is_a_place_of_its_own(self, story):
        said = story.says(assistant("said"))[0]
        story.add(ModelChange(provider="p", model_id="m"))
        assert not plan(story, said).stays

    def test_a_text_is_handed_back_again_where_one_stands_already(self, story):
        story.says(assistant("root"), user("to edit"), assistant("an answer"))
        go(story.writer, "e2")
        found = plan(story, "e2")
        assert (found.stays, found.editor_text) == (True, "to edit")

    def test_the_root_of_an_empty_tree_is_where_one_stands(self, story):
        story.add(Decision(outcome="skip", reason="small"))
        assert plan(story, ROOT).stays

    @pytest.mark.parametrize("target", ["ghost", "e2"])
    def test_a_target_that_is_no_entry_is_refused(self, story, target):
        story.says(user("root"))
        story.add(Decision(outcome="skip", reason="small"))
        with pytest.raises(NotFoundError):
            plan(story, target)

    def test_a_plan_appends_nothing(self, forked):
        plan(forked, "e4")
        assert version(forked.log, "s") == 7


class TestGo:
    def test_what_comes_next_stands_below_the_new_leaf(self, forked):
        go(forked.writer, "e4")
        (said,) = forked.says(user("on"))
        assert path_ids(forked.log, "s", said) == ["e1", "e2", "e3", "e4", "e8", "e9"]

    def test_the_context_is_that_of_the_new_leaf(self, forked):
        go(forked.writer, "e3")
        assert texts_of(build_context(forked.log, "s")) == ["trunk", "of two"]

    def test_without_a_summary_the_move_says_where_from(self, forked):
        (moved,) = go(forked.writer, "e4").events
        assert record_of("leaf_moved", forked[moved].body).from_id == "e7"

    def test_a_summary_is_attached_at_the_new_leaf(self, forked):
        (event_id,) = go(forked.writer, "e3", summary="it was a trap").events
        event = forked[event_id]
        assert (event.kind, event.parent) == ("branch_summary", "e2")

    def test_a_summary_stands_in_place_of_a_move(self, forked):
        go(forked.writer, "e4", summary="it was a trap")
        assert [event.kind for event in events(forked.log, "s")[7:]] == ["branch_summary"]

    def test_a_summary_is_what_the_context_ends_with(self, forked):
        go(forked.writer, "e4", summary="it was a trap")
        assert texts_of(build_context(forked.log, "s"))[-1] == f"{PREAMBLE}\n\nit was a trap"

    def test_a_summary_carries_the_files_of_what_was_left(self, story):
        root = story.says(assistant("root"))[0]
        story.says(assistant(call("read", path="left.py")))
        (event_id,) = go(story.writer, root, summary="read").events
        assert record_of("branch_summary", story[event_id].body).details.read_files == ["left.py"]

    def test_without_a_summary_a_label_is_the_targets(self, forked):
        go(forked.writer, "e3", label="here")
        assert labels(forked) == {"e3": "here"}

    def test_with_a_summary_a_label_is_the_summarys(self, forked):
        summary, _ = go(forked.writer, "e4", summary="it was a trap", label="here").events
        assert labels(forked) == {summary: "here"}

    @pytest.mark.parametrize("summary", [None, "it was a trap"])
    def test_a_move_and_its_label_are_one_append(self, forked, summary):
        ids = go(forked.writer, "e4", summary=summary, label="here").events
        moved, label = (forked[event_id] for event_id in ids)
        assert (label.parent, label.cause, moved.recorded) == (moved.id, moved.cause, label.recorded)
        assert moved.cause

    def test_causes_of_two_moves_differ(self, forked):
        causes = {forked[go(forked.writer, place, label="x").events[0]].cause for place in ("e4", "e2")}
        assert len(causes) == 2

    def test_where_the_session_stands_already_nothing_is_appended(self, forked):
        assert go(forked.writer, "e7").events == ()
        assert version(forked.log, "s") == 7

    def test_where_the_session_stands_already_a_label_is_set_all_the_same(self, forked):
        (label,) = go(forked.writer, "e7", label="here").events
        assert (labels(forked), forked[label].parent) == ({"e7": "here"}, "e7")

    def test_a_dry_run_appends_nothing(self, forked):
        moved = go(forked.writer, "e4", summary="it was a trap", label="here", dry_run=True)
        assert (moved.events, moved.move.new_leaf, version(forked.log, "s")) == ((), "e4", 7)

    @pytest.mark.parametrize("dry_run", [True, False])
    @pytest.mark.parametrize(
        ("target", "options", "error", "named"),
        [
            ("e7", {"summary": "tried"}, NotFoundError, "'e7'"),
            ("e4", {"summary": " "}, BadInputError, "summary"),
            (ROOT, {"label": "here"}, BadInputError, "label 'here'"),
            ("ghost", {}, NotFoundError, "no event 'ghost'"),
        ],
    )
    def test_what_cannot_be_done_is_refused_with_nothing_appended(
        self, forked, *, target, options, error, named, dry_run
    ):
        with pytest.raises(error) as refused:
            go(forked.writer, target, **options, dry_run=dry_run)
        assert named in str(refused.value)
        assert version(forked.log, "s") == 7

    def test_a_summary_at_the_root_may_have_a_label(self, story):
        story.says(assistant("left"))
        summary, _ = go(story.writer, ROOT, summary="tried", label="here").events
        assert (labels(story), story[summary].parent) == ({summary: "here"}, None)

    def test_a_move_while_somebody_appends_leaves_the_tree_as_they_made_it(self, forked, interrupt):
        with pytest.raises(VersionConflictError) as refused:
            go(interrupt(forked).writer, "e4", summary="it was a trap", label="here")
        assert (refused.value.expected, refused.value.actual) == (7, 8)
        assert [event.id for event in events(forked.log, "s")][7:] == ["theirs"]

    def test_state_of_an_extension_on_the_branch_can_be_summarized(self, story):
        root = story.says(assistant("root"))[0]
        story.add(Custom(custom_type="x"))
        assert go(story.writer, root, summary="tried").events


class TestAnySession:
    @settings(max_examples=examples(75))
    @given(appended=native_events(), data=st.data())
    def test_one_stands_where_the_plan_says_and_sees_what_one_sees_there(self, appended, data):
        log = MemoryLog(clock=lambda: NOW)
        log.append("s", appended)
        nodes = [node.id for node in tree(log, "s").nodes]
        target = data.draw(st.sampled_from([ROOT, *nodes]))
        there = plan_move(log, "s", target)
        leaf = there.new_leaf or ROOT
        expected = context_json(log, "s", leaf=leaf)
        go(SessionWriter(log, "s", new_id=lambda: "new"), target)
        assert context_json(log, "s") == expected
        assert plan_move(log, "s", target).stays

    @settings(max_examples=examples(75))
    @given(appended=native_events(), data=st.data())
    def test_what_is_shared_and_what_is_left_are_the_path_to_the_leaf(self, appended, data):
        log = MemoryLog(clock=lambda: NOW)
        log.append("s", appended)
        found = tree(log, "s")
        target = data.draw(st.sampled_from([ROOT, *(node.id for node in found.nodes)]))
        planned = plan_move(log, "s", target)
        shared = path_ids(log, "s", planned.common_ancestor) if planned.common_ancestor else []
        left = [entry.id for entry in planned.to_summarize]
        assert shared + left == (path_ids(log, "s", found.leaf) if found.leaf else [])
        to_target = path_ids(log, "s", target) if target is not ROOT else []
        assert to_target[: len(shared)] == shared
        assert not set(left) & set(to_target)


def test_a_move_puts_the_session_at_its_target(story):
    root, _ = story.says(user("root"), user("elsewhere"))
    moved = move_to(story.writer, root)
    assert (story[moved].parent, tree(story.log, "s").leaf) == (root, moved)


def test_a_move_shows_the_context_of_its_target(story):
    root, _ = story.says(user("root"), user("elsewhere"))
    move_to(story.writer, root)
    assert texts_of(build_context(story.log, "s")) == ["root"]


def test_a_move_says_where_from(story):
    root, left = story.says(user("root"), user("elsewhere"))
    moved = story[move_to(story.writer, root)]
    assert record_of("leaf_moved", moved.body).from_id == left


def test_a_move_to_the_root_starts_anew(story):
    story.says(user("root"))
    moved = move_to(story.writer, ROOT)
    assert (story[moved].parent, texts_of(build_context(story.log, "s"))) == (None, [])


def test_a_move_from_an_empty_tree_comes_from_nowhere(story):
    story.add(Decision(outcome="skip", reason="small"))
    moved = story[move_to(story.writer, ROOT)]
    assert record_of("leaf_moved", moved.body).from_id == ""


@pytest.mark.parametrize("target", ["ghost", "e2"])
def test_a_move_to_what_is_no_entry_is_refused_with_nothing_appended(story, target):
    story.says(user("root"))
    story.add(Decision(outcome="skip", reason="small"))
    with pytest.raises(NotFoundError):
        move_to(story.writer, target)
    assert version(story.log, "s") == 2


def test_a_move_while_somebody_appends_is_refused(story, interrupt):
    (root,) = story.says(user("root"))
    with pytest.raises(VersionConflictError) as refused:
        move_to(interrupt(story).writer, root)
    assert (refused.value.expected, refused.value.actual) == (1, 2)


def test_a_move_is_refused_where_somebody_has_appended_since_its_target_was_chosen(story):
    story.says(user("one"), assistant("two"))
    chosen = version(story.log, "s")
    story.says(user("three"))
    with pytest.raises(VersionConflictError):
        move_to(story.writer, "e1", expected=chosen)
    assert texts_of(build_context(story.log, "s")) == ["one", "two", "three"]
