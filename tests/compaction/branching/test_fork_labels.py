"""Check which labels and titles a fork copies, and where it puts them."""

from __future__ import annotations

from compaction.branching.move import move_to
from eventstore.event import Flag
from eventstore.records import (
    Label,
    SessionInfo,
)
from projections.descriptions import title
from tests.compaction.forks import forked, labels, shown
from tests.support.events import events, path_ids, version
from tests.support.talk import PiSession, user


class TestLabelsAndTitle:
    def test_a_label_between_two_entries_does_not_cut_the_path_below_it_off(self, store, tmp_path):
        # pi and oh-my-pi take labels out and leave what stands below them an orphan.
        session = PiSession()
        session.says("a", user("one"))
        session.says("b", user("two"))
        session.entry("l", "label", targetId="a", label="here")
        session.says("c", user("three"))
        session.says("d", user("four"))
        forked(store, session.store_in(store, tmp_path))
        assert shown(store) == ["one", "two", "three", "four"]
        assert path_ids(store, "f", "d") == ["a", "b", "l", "c", "d"]

    def test_a_label_that_was_taken_away_since_does_not_cut_the_path_off_either(self, story):
        story.says(user("one"))
        story.add(Label(target_id="e1", label="here"))
        story.says(user("two"))
        story.add(Label(target_id="e1"))
        forked(story.log)
        assert (shown(story.log), labels(story.log)) == (["one", "two"], {})

    def test_a_label_that_another_branch_set_follows_behind_the_leaf(self, story):
        story.says(user("trunk"), user("leaf"))
        move_to(story.writer, "e1")
        story.add(Label(target_id="e1", label="from elsewhere"))
        forked(story.log, leaf="e2")
        assert labels(story.log) == {"e1": "from elsewhere"}
        assert path_ids(story.log, "f", "e4") == ["e1", "e2", "e4"]

    def test_such_a_label_keeps_its_id_its_time_and_its_bytes(self, story):
        story.says(user("trunk"), user("leaf"))
        story.add(Label(target_id="e1", label="later"))
        forked(story.log, leaf="e1")
        label, copy = story["e3"], events(story.log, "f")[-1]
        assert (copy.id, copy.time, copy.body) == (label.id, label.time, label.body)

    def test_several_such_labels_are_a_chain_in_the_order_of_the_log(self, story):
        story.says(user("a"), user("b"), user("c"))
        story.add(
            Label(target_id="e1", label="at first"),
            Label(target_id="e2", label="two"),
            Label(target_id="e1", label="one"),
        )
        forked(story.log, leaf="e2")
        assert path_ids(story.log, "f", "e6") == ["e1", "e2", "e5", "e6"]

    def test_a_label_that_was_an_orphan_is_none_behind_the_leaf(self, store, tmp_path):
        session = PiSession()
        session.says("a", user("one"))
        session.entry("l", "label", parent="gone", targetId="a", label="here")
        forked(store, session.store_in(store, tmp_path), leaf="a")
        label = events(store, "f")[-1]
        assert (label.parent, bool(label.flags & Flag.ORPHAN)) == ("a", False)

    def test_of_several_labels_of_an_entry_the_newest_counts_wherever_it_was_set(self, story):
        story.says(user("trunk"))
        story.add(Label(target_id="e1", label="old"))
        story.says(user("leaf"))
        move_to(story.writer, "e1")
        story.add(Label(target_id="e1", label="new"))
        forked(story.log, leaf="e3")
        assert labels(story.log) == {"e1": "new"}

    def test_a_label_that_another_branch_took_away_is_gone(self, story):
        story.says(user("trunk"))
        story.add(Label(target_id="e1", label="old"))
        story.says(user("leaf"))
        move_to(story.writer, "e1")
        story.add(Label(target_id="e1"))
        forked(story.log, leaf="e3")
        assert labels(story.log) == {}

    def test_a_label_that_never_was_on_the_path_is_not_taken_away_on_it(self, story):
        story.says(user("a"), user("b"))
        story.add(Label(target_id="e1", label="x"), Label(target_id="e1"))
        forked(story.log, leaf="e2")
        assert [event.kind for event in events(story.log, "f")] == ["link", "message", "message"]

    def test_labels_of_what_is_not_in_the_fork_stay_behind(self, story):
        story.says(user("a"), user("b"))
        story.add(Label(target_id="e2", label="later"), Label(target_id="ghost", label="nobody"))
        forked(story.log, leaf="e1")
        assert version(story.log, "f") == 2

    def test_the_title_that_another_branch_set_is_the_forks(self, story):
        story.says(user("trunk"), user("leaf"))
        move_to(story.writer, "e1")
        story.add(SessionInfo(name="a title"))
        forked(story.log, leaf="e2")
        assert title(story.log, "f") == "a title"

    def test_a_title_on_the_path_is_there_once(self, story):
        story.add(SessionInfo(name="a title"))
        story.says(user("leaf"))
        forked(story.log)
        assert (title(story.log, "f"), version(story.log, "f")) == ("a title", 3)
