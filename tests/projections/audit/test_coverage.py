"""Find the messages that each compaction's summary is about."""

from __future__ import annotations

import pytest

from eventstore.records import BranchSummary, Compaction, CustomMessage, ModelChange, Undone
from projections.audit.coverage import compaction_coverage
from projections.context.cursor import path, resolve_cursor
from tests.support.talk import user

DETAILS = {"details": {"readFiles": [], "modifiedFiles": []}}


def coverage(log, session):
    """The ids that each compaction of the leaf's path summarized."""
    with log.snapshot() as snapshot:
        entries = path(snapshot, resolve_cursor(snapshot, session))
        found = list(compaction_coverage(entries, snapshot))
    ids = {entry.seq: entry.id for entry in entries}
    return [[ids[seq] for seq in sorted(each.summarized)] for each in found]


def compacted(first_kept=""):
    return Compaction(summary="before", first_kept_entry_id=first_kept, tokens_before=9)


def test_a_path_without_compactions_has_no_coverage(story):
    story.says(user("one"))
    assert coverage(story.log, "s") == []


def test_a_first_compaction_summarizes_everything_before_what_it_kept(story):
    one, two, kept = story.says(user("one"), user("two"), user("kept"))
    story.add(compacted(kept))
    assert coverage(story.log, "s") == [[one, two]]


def test_a_compaction_that_kept_nothing_summarizes_everything_before_it(story):
    one, two = story.says(user("one"), user("two"))
    story.add(compacted("ghost"))
    assert coverage(story.log, "s") == [[one, two]]


def test_only_what_bears_a_message_is_summarized(story):
    story.add(ModelChange(provider="p", model_id="m"))
    custom = story.add(CustomMessage(custom_type="x", content="by the way"))
    branch = story.add(BranchSummary(from_id="root", summary="tried"))
    (kept,) = story.says(user("kept"))
    story.add(compacted(kept))
    assert coverage(story.log, "s") == [[custom, branch]]


def test_a_compaction_of_refold_goes_on_where_the_one_before_left_off(story):
    one, two, three = story.says(user("one"), user("two"), user("three"))
    story.add(compacted(two))
    (four,) = story.says(user("four"))
    story.add(compacted(four))
    assert coverage(story.log, "s") == [[one], [two, three]]


def test_a_compaction_with_details_goes_on_where_the_one_before_left_off(store, tmp_path, pi):
    for name in ("a1", "a2"):
        pi.says(name, user(name))
    pi.compacts("a3", "a2", **DETAILS)
    pi.says("a4", user("four"))
    pi.compacts("a5", "a4", **DETAILS)
    assert coverage(store, pi.store_in(store, tmp_path)) == [["a1"], ["a2"]]


def test_a_compaction_without_details_starts_behind_the_one_before(store, tmp_path, pi):
    for name in ("a1", "a2"):
        pi.says(name, user(name))
    pi.compacts("a3", "a2", **DETAILS)
    for name in ("a4", "a5"):
        pi.says(name, user(name))
    pi.compacts("a6", "a5")
    assert coverage(store, pi.store_in(store, tmp_path)) == [["a1"], ["a4"]]


def test_behind_one_that_kept_nothing_both_rules_start_at_the_same_place(store, tmp_path, pi):
    pi.says("a1", user("one"))
    pi.compacts("a2", "ghost", **DETAILS)
    pi.says("a3", user("three"))
    pi.says("a4", user("four"))
    pi.compacts("a5", "a4", **DETAILS)
    assert coverage(store, pi.store_in(store, tmp_path)) == [["a1"], ["a3"]]


def test_a_compaction_that_was_undone_summarized_nothing_for_the_next(story):
    one, two, three = story.says(user("one"), user("two"), user("three"))
    undone = story.add(compacted(two))
    story.add(Undone(target_id=undone))
    story.add(compacted(three))
    assert coverage(story.log, "s") == [[one], [one, two]]


def test_a_compaction_that_was_brought_back_is_the_one_before(story):
    one, two, three = story.says(user("one"), user("two"), user("three"))
    undo = story.add(Undone(target_id=story.add(compacted(two))))
    story.add(Undone(target_id=undo))
    story.add(compacted(three))
    assert coverage(story.log, "s") == [[one], [two]]


@pytest.mark.parametrize("first_kept", ["e1", "e2"])
def test_a_compaction_that_keeps_from_before_the_one_before_summarizes_nothing_new(story, first_kept):
    one, two, three = story.says(user("one"), user("two"), user("three"))
    story.add(compacted(three))
    story.add(compacted(first_kept))
    assert coverage(story.log, "s") == [[one, two], []]
