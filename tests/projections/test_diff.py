"""Compare two contexts, message by message."""

from __future__ import annotations

import pytest
from msgspec import Raw

from eventstore.errors import NotFoundError
from eventstore.node import CONTINUES
from eventstore.records import (
    BranchSummary,
    Compaction,
    CustomMessage,
    MessageRecord,
    Rewrite,
    TextReplacement,
    Undone,
)
from projections.context.cursor import ROOT
from projections.diff import Change, diff
from tests.support.talk import shell, user


def changes(log, first, second):
    return {each.event: each.change for each in diff(log, "s", first, second).changes}


def compacted(first_kept):
    return Compaction(summary="before", first_kept_entry_id=first_kept, tokens_before=9)


def test_a_context_differs_in_nothing_from_itself(story):
    one, two = story.says(user("one"), user("two"))
    assert changes(story.log, two, two) == {one: Change.KEPT, two: Change.KEPT}


def test_a_later_message_is_new(story):
    one, two = story.says(user("one"), user("two"))
    assert changes(story.log, one, two) == {one: Change.KEPT, two: Change.NEW}


def test_a_message_with_other_content_is_rewritten(story):
    (one,) = story.says(user("one"))
    after = story.add(Rewrite(reason="prune", targets=[TextReplacement(target=one, text="1")]))
    assert changes(story.log, one, after) == {one: Change.REWRITTEN}


def test_a_message_that_a_compaction_covers_is_summarized(story):
    one, two = story.says(user("one"), user("two"))
    after = story.add(compacted(two))
    assert changes(story.log, two, after) == {one: Change.SUMMARIZED, two: Change.KEPT, after: Change.NEW}


def test_a_message_that_an_older_compaction_covers_is_still_summarized(story):
    one, two = story.says(user("one"), user("two"))
    story.add(compacted(two))
    (three,) = story.says(user("three"))
    after = story.add(compacted(three))
    found = changes(story.log, two, after)
    assert (found[one], found[two]) == (Change.SUMMARIZED, Change.SUMMARIZED)


def test_an_older_summary_is_summarized_by_the_next(story):
    (one,) = story.says(user("one"))
    older = story.add(compacted("ghost"))
    newer = story.add(compacted("ghost"))
    assert changes(story.log, older, newer) == {older: Change.SUMMARIZED, newer: Change.NEW}
    assert changes(story.log, one, newer)[one] is Change.SUMMARIZED


def test_a_message_that_no_summary_covers_is_gone(store, tmp_path, pi):
    for name in ("a1", "a2"):
        pi.says(name, user(name))
    pi.compacts("a3", "a2", details={"readFiles": []})
    pi.says("a4", user("four"))
    pi.compacts("a5", "a4")
    session = pi.store_in(store, tmp_path)
    found = {each.event: each.change for each in diff(store, session, "a4", "a5").changes}
    assert (found["a2"], found["a4"]) == (Change.GONE, Change.KEPT)


def test_a_message_of_a_branch_that_was_left_is_summarized_by_its_summary(story):
    root, left = story.says(user("root"), user("left"))
    after = story.add(BranchSummary(from_id=root, summary="tried", left=left), parent=root)
    assert changes(story.log, left, after) == {
        root: Change.KEPT,
        left: Change.SUMMARIZED,
        after: Change.NEW,
    }


def test_a_message_of_another_branch_without_a_summary_is_gone(story):
    root, left = story.says(user("root"), user("left"))
    after = story.add(CustomMessage(custom_type="x", content="elsewhere"), parent=root)
    assert changes(story.log, left, after)[left] is Change.GONE


def test_an_undo_brings_messages_back(story):
    one, two = story.says(user("one"), user("two"))
    compaction = story.add(compacted(two))
    after = story.add(Undone(target_id=compaction))
    found = changes(story.log, compaction, after)
    assert (found[one], found[compaction]) == (Change.NEW, Change.GONE)


def test_tokens_are_given_for_each_context(story):
    (one,) = story.says(user("x" * 40))
    after = story.add(Rewrite(reason="prune", targets=[TextReplacement(target=one, text="x" * 4)]))
    found = diff(story.log, "s", one, after)
    (only,) = found.changes
    assert (only.tokens_before, only.tokens_after) == (found.tokens_before, found.tokens_after) == (10, 1)


def test_a_message_that_is_in_one_context_has_no_tokens_in_the_other(story):
    (one,) = story.says(user("x" * 40))
    (only,) = diff(story.log, "s", ROOT, one).changes
    assert (only.tokens_before, only.tokens_after) == (None, 10)


def test_the_shared_prefix_is_what_a_prompt_cache_can_keep(story):
    ids = story.says(user("one"), user("two"), user("three"))
    after = story.add(Rewrite(reason="prune", targets=[TextReplacement(target=ids[1], text="2")]))
    assert diff(story.log, "s", ids[2], after).shared_prefix == 1


def test_a_compaction_leaves_no_shared_prefix(story):
    _, two = story.says(user("one"), user("two"))
    assert diff(story.log, "s", two, story.add(compacted(two))).shared_prefix == 0


def test_a_leaf_that_is_not_there_is_not_found(story):
    (one,) = story.says(user("one"))
    with pytest.raises(NotFoundError) as refused:
        diff(story.log, "s", one, "ghost")
    assert (refused.value.what, refused.value.name) == ("event", "ghost")


def test_a_command_that_the_person_ran_is_rewritten_where_its_output_is(story):
    (one,) = story.says(shell("ls", "x" * 396))
    after = story.add(Rewrite(reason="offload", targets=[TextReplacement(target=one, text="x" * 36)]))
    (found,) = diff(story.log, "s", one, after).changes
    assert (found.change, found.tokens_before, found.tokens_after) == (Change.REWRITTEN, 100, 10)


def test_what_goes_on_after_a_compaction_says_so(story):
    one = story.add(
        MessageRecord(message=Raw(b'{"role":"user","content":"continue"}'), metadata={CONTINUES: True})
    )
    two = story.add(CustomMessage(custom_type=CONTINUES, content="go on", display=False))
    (three,) = story.says(user("continue"))
    found = diff(story.log, "s", ROOT, three).changes
    assert {each.event: each.continues for each in found} == {one: True, two: True, three: False}
