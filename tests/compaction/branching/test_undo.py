"""Undo: contexts are what they were before an append, byte for byte; undone in turn, what they were after it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.branching.move import go, move_to
from compaction.branching.undo import plan_undo, undo
from compaction.composing import record_compaction
from compaction.rewriting import record_rewrite
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.memory import MemoryLog
from eventstore.records import (
    Compaction,
    CustomMessage,
    Decision,
    Label,
    ModelChange,
    SessionInfo,
    TextReplacement,
    record_of,
)
from eventstore.writing import SessionWriter
from projections.context.build import build_context, context_json
from projections.context.cursor import ROOT
from projections.tree import tree
from tests.support.events import NOW, events, version
from tests.support.native import native_events
from tests.support.talk import PiSession, assistant, texts_of, user


def shown(story):
    return texts_of(build_context(story.log, "s"))


def labels(log):
    return {node.id: node.label for node in tree(log, "s").nodes if node.label is not None}


def compact(story, first_kept):
    return record_compaction(story.writer, summary="in short", first_kept=first_kept)


def rewrite(story, target):
    return record_rewrite(story.writer, targets=[TextReplacement(target=target, text="…")], reason="prune")


def kinds(story):
    return [event.kind for event in events(story.log, "s")]


def undone_by(story, target=None):
    """The ids of the entries that an undo takes back."""
    return [entry.id for entry in undo(story.writer, target).undo.entries]


class TestCompactionsAndRewrites:
    def test_an_undone_compaction_shows_what_it_summarized(self, story):
        _, kept = story.says(user("old"), user("kept"))
        compact(story, kept)
        undo(story.writer)
        assert shown(story) == ["old", "kept"]

    def test_what_came_since_stays(self, story):
        _, kept = story.says(user("old"), user("kept"))
        compact(story, kept)
        story.says(user("since"))
        undo(story.writer)
        assert shown(story) == ["old", "kept", "since"]

    def test_an_undone_rewrite_shows_the_original(self, story):
        (target,) = story.says(user("long"))
        rewrite(story, target)
        undo(story.writer)
        assert shown(story) == ["long"]

    def test_an_undo_is_an_entry_at_the_leaf_that_names_what_it_undoes(self, story):
        _, kept = story.says(user("old"), user("kept"))
        compacted = compact(story, kept)
        (said,) = story.says(user("since"))
        (event_id,) = undo(story.writer).events
        event = story[event_id]
        assert (event.parent, record_of("undone", event.body).target_id) == (said, compacted)

    def test_the_newest_goes_first_then_the_one_before(self, story):
        target, kept = story.says(user("long"), user("kept"))
        rewritten = rewrite(story, target)
        compacted = compact(story, kept)
        assert [undone_by(story), undone_by(story)] == [[compacted], [rewritten]]
        assert shown(story) == ["long", "kept"]

    def test_two_compactions_are_undone_one_after_the_other(self, story):
        _, two, three = story.says(user("1"), user("2"), user("3"))
        compact(story, two)
        compact(story, three)
        undo(story.writer)
        assert shown(story) == ["in short", "2", "3"]
        undo(story.writer)
        assert shown(story) == ["1", "2", "3"]

    def test_an_older_rewrite_may_be_named(self, story):
        one, two = story.says(user("long"), user("longer"))
        first = rewrite(story, one)
        rewrite(story, two)
        undo(story.writer, first)
        assert shown(story) == ["long", "…"]

    def test_an_older_compaction_is_refused_with_the_one_to_undo_first(self, story):
        _, two, three = story.says(user("1"), user("2"), user("3"))
        first, second = compact(story, two), compact(story, three)
        with pytest.raises(BadInputError) as refused:
            undo(story.writer, first)
        assert refused.value.source == f"compaction {first!r}"
        assert repr(second) in refused.value.remedy
        assert version(story.log, "s") == 5

    def test_an_older_compaction_can_be_undone_once_the_newer_is(self, story):
        _, two, three = story.says(user("1"), user("2"), user("3"))
        first, second = compact(story, two), compact(story, three)
        undo(story.writer, second)
        undo(story.writer, first)
        assert shown(story) == ["1", "2", "3"]

    def test_what_came_in_the_same_append_goes_with_it(self, story):
        _, kept = story.says(user("old"), user("kept"))
        story.add(
            Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9),
            CustomMessage(custom_type="continuation", content="go on"),
            cause="one",
        )
        assert undone_by(story) == ["e3", "e4"]
        assert shown(story) == ["old", "kept"]

    def test_a_message_that_came_with_a_compaction_stands_for_the_append(self, story):
        _, kept = story.says(user("old"), user("kept"))
        story.add(
            Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9),
            CustomMessage(custom_type="continuation", content="go on"),
            cause="one",
        )
        assert undone_by(story, "e4") == ["e3", "e4"]

    def test_a_compaction_of_another_branch_goes_with_the_way_there(self, story):
        story.says(user("old"), user("kept"), user("elsewhere"))
        story.add(Compaction(summary="s", first_kept_entry_id="e2", tokens_before=9), parent="e2")
        (event_id,) = undo(story.writer).events
        assert (story[event_id].parent, shown(story)) == ("e3", ["old", "kept", "elsewhere"])

    def test_a_compaction_of_another_branch_that_was_followed_is_undone_where_it_is(self, story):
        story.says(user("old"), user("kept"), user("elsewhere"))
        story.add(Compaction(summary="s", first_kept_entry_id="e2", tokens_before=9), parent="e2")
        story.says(user("since"))
        undo(story.writer)
        assert shown(story) == ["old", "kept", "since"]

    def test_a_compaction_of_another_branch_that_its_harness_made_is_undone_where_it_is(
        self, store, tmp_path
    ):
        session = PiSession()
        session.says("a", user("old"))
        session.says("b", user("elsewhere"))
        session.entry("c", "compaction", parent="a", summary="s", firstKeptEntryId="a", tokensBefore=9)
        name = session.store_in(store, tmp_path)
        undo(SessionWriter(store, name), "c")
        assert texts_of(build_context(store, name)) == ["old"]

    def test_without_a_target_what_an_import_brought_is_left_alone(self, store, tmp_path):
        session = PiSession()
        session.says("a", user("old"))
        session.says("b", user("kept"))
        session.compacts("c", "b")
        name = session.store_in(store, tmp_path)
        with pytest.raises(NotFoundError) as refused:
            undo(SessionWriter(store, name))
        assert refused.value.remedy.endswith(f": refold undo {name} c")
        record_rewrite(
            SessionWriter(store, name), targets=[TextReplacement(target="b", text="…")], reason="prune"
        )
        assert [entry.kind for entry in plan_undo(store, name).entries] == ["rewrite"]

    def test_a_compaction_that_its_harness_made_can_be_undone(self, store, tmp_path):
        session = PiSession()
        session.says("a", user("old"))
        session.says("b", user("kept"))
        session.compacts("c", "b")
        name = session.store_in(store, tmp_path)
        undo(SessionWriter(store, name), "c")
        assert texts_of(build_context(store, name)) == ["old", "kept"]


class TestMoves:
    @pytest.fixture
    def moved(self, story):
        """A trunk e1, a branch e2, e3, and a move e4 back to the trunk."""
        story.says(assistant("trunk"), assistant("on"), assistant("and on"))
        go(story.writer, "e1")
        return story

    def test_an_undone_move_stands_where_it_came_from(self, moved):
        (event_id,) = undo(moved.writer).events
        assert (moved[event_id].parent, shown(moved)) == ("e3", ["trunk", "on", "and on"])

    def test_an_undone_branch_summary_stands_where_it_came_from(self, story):
        story.says(assistant("trunk"), assistant("on"))
        go(story.writer, "e1", summary="tried")
        (event_id,) = undo(story.writer).events
        assert (story[event_id].parent, shown(story)) == ("e2", ["trunk", "on"])

    def test_an_undone_move_from_the_root_stands_at_the_root(self, story):
        story.add(Decision(outcome="skip", reason="small"))
        moved = move_to(story.writer, ROOT)
        undo(story.writer, moved)
        assert shown(story) == []

    def test_a_move_that_was_followed_is_refused(self, moved):
        moved.says(user("another way"))
        with pytest.raises(BadInputError) as refused:
            undo(moved.writer, "e4")
        assert refused.value.source == "leaf_moved 'e4'"
        assert version(moved.log, "s") == 5

    def test_a_move_that_was_followed_is_passed_over_for_what_can_be_undone(self, story):
        _, kept = story.says(user("old"), user("kept"))
        compacted = compact(story, kept)
        story.says(assistant("left"))
        go(story.writer, compacted)
        story.says(user("another way"))
        assert undone_by(story) == [compacted]

    def test_a_label_a_title_and_what_is_undone_do_not_follow_a_move(self, moved):
        moved.add(Label(target_id="e1", label="here"), SessionInfo(name="a title"))
        rewritten = rewrite(moved, "e1")
        undo(moved.writer, rewritten)
        assert undone_by(moved) == ["e4"]
        assert shown(moved) == ["trunk", "on", "and on"]

    def test_a_change_of_model_follows_a_move(self, moved):
        moved.add(ModelChange(provider="p", model_id="m"))
        with pytest.raises(BadInputError) as refused:
            undo(moved.writer, "e4")
        assert refused.value.source == "leaf_moved 'e4'"

    def test_the_label_that_a_move_set_goes_with_it(self, story):
        story.says(assistant("trunk"), assistant("on"))
        go(story.writer, "e1", label="here")
        undo(story.writer)
        assert labels(story.log) == {}

    def test_the_label_that_was_there_before_the_move_is_back(self, story):
        story.says(assistant("trunk"), assistant("on"))
        story.add(Label(target_id="e1", label="before"))
        go(story.writer, "e1", label="here")
        undo(story.writer)
        assert labels(story.log) == {"e1": "before"}

    def test_a_label_that_was_set_since_stays(self, story):
        story.says(assistant("trunk"), assistant("on"))
        go(story.writer, "e1", label="here")
        story.add(Label(target_id="e1", label="since"))
        undo(story.writer)
        assert labels(story.log) == {"e1": "since"}

    def test_an_undo_and_the_labels_it_brings_back_are_one_append(self, story):
        story.says(assistant("trunk"), assistant("on"))
        go(story.writer, "e1", label="here")
        undone, label = (story[event_id] for event_id in undo(story.writer).events)
        assert (undone.cause, label.parent) == (label.cause, undone.id)
        assert undone.cause


class TestRedo:
    def test_an_undo_that_is_undone_brings_a_compaction_back(self, story):
        _, kept = story.says(user("old"), user("kept"))
        compact(story, kept)
        (undone,) = undo(story.writer).events
        undo(story.writer, undone)
        assert shown(story) == ["in short", "kept"]

    def test_an_undo_that_is_undone_brings_a_move_back_with_its_label(self, story):
        story.says(assistant("trunk"), assistant("on"))
        go(story.writer, "e1", label="here")
        undone, _ = undo(story.writer).events
        undo(story.writer, undone)
        assert (shown(story), labels(story.log)) == (["trunk"], {"e1": "here"})

    def test_undo_and_redo_can_go_on_for_ever(self, story):
        story.says(assistant("trunk"), assistant("on"))
        (last,) = go(story.writer, "e1").events
        for expected in [["trunk", "on"], ["trunk"]] * 3:
            (last,) = undo(story.writer, last).events
            assert shown(story) == expected

    def test_an_undo_of_a_move_that_was_followed_is_refused(self, story):
        story.says(assistant("trunk"), assistant("on"))
        go(story.writer, "e1")
        (undone,) = undo(story.writer).events
        story.says(user("on it goes"))
        with pytest.raises(BadInputError) as refused:
            undo(story.writer, undone)
        assert refused.value.source == f"undone {undone!r}"

    def test_without_a_target_an_undo_is_not_undone(self, story):
        _, kept = story.says(user("old"), user("kept"))
        compact(story, kept)
        undo(story.writer)
        with pytest.raises(NotFoundError) as refused:
            undo(story.writer)
        assert refused.value.name == "s"
        assert "refold undo" not in refused.value.remedy


class TestRefusals:
    def test_what_is_undone_already_is_refused_with_its_undo(self, story):
        _, kept = story.says(user("old"), user("kept"))
        compacted = compact(story, kept)
        (undone,) = undo(story.writer).events
        with pytest.raises(BadInputError) as refused:
            undo(story.writer, compacted)
        assert refused.value.source == f"event {compacted!r}"
        assert repr(undone) in refused.value.remedy

    @pytest.mark.parametrize(
        ("target", "error", "named"),
        [
            ("ghost", NotFoundError, "no event 'ghost'"),
            ("e1", BadInputError, "event 'e1': a message "),
            ("e2", BadInputError, "event 'e2': a label "),
            ("e3", BadInputError, "event 'e3': "),
        ],
    )
    def test_what_no_producer_made_is_refused(self, story, target, error, named):
        (said,) = story.says(user("said"))
        story.add(Label(target_id=said, label="here"))
        story.add(Decision(outcome="skip", reason="small"))
        with pytest.raises(error) as refused:
            undo(story.writer, target)
        assert str(refused.value).startswith(named)
        assert version(story.log, "s") == 3

    def test_what_lies_on_another_branch_is_refused(self, story):
        trunk, target = story.says(assistant("trunk"), user("long"))
        rewritten = rewrite(story, target)
        move_to(story.writer, trunk)
        with pytest.raises(BadInputError) as refused:
            undo(story.writer, rewritten)
        assert refused.value.source == f"event {rewritten!r}"
        assert refused.value.remedy.endswith(f": refold go s {rewritten}")

    def test_a_session_that_is_not_there_is_refused(self, story):
        with pytest.raises(NotFoundError) as refused:
            undo(story.writer)
        assert (refused.value.what, refused.value.name) == ("session", "s")

    def test_a_session_of_decisions_alone_has_nothing_to_undo(self, story):
        story.add(Decision(outcome="skip", reason="small"))
        with pytest.raises(NotFoundError) as refused:
            undo(story.writer)
        assert refused.value.name == "s"
        assert refused.value.what != "session"

    def test_where_others_append_all_the_time_nothing_is_appended(self, story):
        _, kept = story.says(user("old"), user("kept"))
        compact(story, kept)
        others, new_id = SessionWriter(story.log, "s"), story.writer._new_id
        story.writer._new_id = lambda: others.message(user("faster")) and new_id()
        with pytest.raises(VersionConflictError) as refused:
            undo(story.writer)
        assert (refused.value.session, refused.value.tries) == ("s", 100)
        assert "undone" not in kinds(story)


class TestMeanwhile:
    def test_what_somebody_says_while_an_undo_is_planned_is_looked_at(self, story, interrupt):
        _, kept = story.says(user("old"), user("kept"))
        compact(story, kept)
        undo(interrupt(story).writer)
        assert shown(story) == ["old", "kept", "me first"]

    def test_of_two_undos_at_once_one_undoes_and_the_other_is_told(self, story):
        _, kept = story.says(user("old"), user("kept"))
        target = rewrite(story, kept)
        compact(story, kept)
        others = SessionWriter(story.log, "s", new_id=lambda: "theirs")
        new_id, undone = story.writer._new_id, []

        def undone_meanwhile():
            if not undone:
                undone.extend(undo(others).events)
            return new_id()

        story.writer._new_id = undone_meanwhile
        with pytest.raises(BadInputError) as refused:
            undo(story.writer)
        assert "'theirs'" in refused.value.remedy
        assert kinds(story).count("undone") == 1
        assert target in [event.id for event in events(story.log, "s")]
        assert shown(story) == ["old", "…"]

    def test_a_compaction_that_comes_meanwhile_is_not_undone_in_its_place(self, story):
        _, kept, last = story.says(user("old"), user("kept"), user("last"))
        mine = compact(story, kept)
        new_id, others, made = story.writer._new_id, SessionWriter(story.log, "s"), []

        def compacted_meanwhile():
            if not made:
                made.append(record_compaction(others, summary="shorter", first_kept=last))
            return new_id()

        story.writer._new_id = compacted_meanwhile
        with pytest.raises(BadInputError) as refused:
            undo(story.writer)
        assert refused.value.source == f"compaction {mine!r}"
        assert repr(made[0]) in refused.value.remedy
        assert "undone" not in kinds(story)


def log_after(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    return log


def writer_to(log):
    numbers = iter(range(1000))
    return SessionWriter(log, "s", clock=lambda: NOW, new_id=lambda: f"new-{next(numbers)}")


PRODUCERS = {
    "compaction": lambda writer, place: record_compaction(writer, summary="in short", first_kept=place),
    "rewrite": lambda writer, place: record_rewrite(
        writer, targets=[TextReplacement(target=place, text="shown instead")], reason="prune"
    ),
    "compaction of another branch": lambda writer, place: writer.append(
        Compaction(summary="in short", first_kept_entry_id=place, tokens_before=9), parent=place
    ),
    "move": move_to,
    "move to the root": lambda writer, _: move_to(writer, ROOT),
    "summary": lambda writer, place: go(writer, place, summary="tried"),
    "move with a label": lambda writer, place: go(writer, place, label="new"),
}


@pytest.mark.slow
@given(appended=native_events(), data=st.data())
def test_after_an_undo_the_context_is_byte_for_byte_what_it_was_before_the_append(appended, data):
    log = log_after(appended)
    before, labelled, newest = context_json(log, "s"), labels(log), version(log, "s")
    produce = PRODUCERS[data.draw(st.sampled_from(sorted(PRODUCERS)))]
    writer = writer_to(log)
    try:
        produce(writer, data.draw(st.sampled_from([node.id for node in tree(log, "s").nodes] or ["ghost"])))
    except (BadInputError, NotFoundError):
        # A place that is not on the path, a message that cannot be rewritten, nothing to summarize.
        return
    produced = events(log, "s")[newest:]
    if not produced or produced[0].kind == "label":
        # The session stood there already.
        return
    after = context_json(log, "s")
    undone = undo(writer).events
    assert context_json(log, "s") == before
    assert labels(log) == labelled
    undo(writer, undone[0])
    assert context_json(log, "s") == after


@given(appended=native_events(), data=st.data())
def test_an_undo_in_any_history_can_be_undone(appended, data):
    log = log_after(appended)
    before = context_json(log, "s")
    target = data.draw(st.sampled_from([None, *(event.id for event in appended)]))
    writer = writer_to(log)
    try:
        undone = undo(writer, target).events
    except (BadInputError, NotFoundError):
        return
    undo(writer, undone[0])
    assert context_json(log, "s") == before
