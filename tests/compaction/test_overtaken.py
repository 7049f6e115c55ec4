"""Detect appends by others that make a pending summary obsolete."""

from __future__ import annotations

import pytest

from compaction.plan import COMPACTED, LEFT, WENT_ON, has_new_messages, stale_reason
from eventstore.records import Compaction, CustomMessage, Label, Undone
from projections.context.cursor import resolve_cursor
from tests.support.events import version
from tests.support.talk import user

COMPACTION = Compaction(summary="theirs", first_kept_entry_id="e2", tokens_before=9)


@pytest.fixture
def begun(story):
    """A session of three messages, and where it stands."""
    story.says(user("one"), user("two"), user("three"))
    with story.log.snapshot() as snapshot:
        return story, resolve_cursor(snapshot, "s"), version(story.log, "s")


def problem(begun, *, is_elsewhere=False):
    story, at, since = begun
    with story.log.snapshot() as snapshot:
        return stale_reason(snapshot, at, since=since, is_elsewhere=is_elsewhere)


def test_a_branch_that_grew_leaves_the_summary_what_it_stands_for(begun):
    begun[0].says(user("four"))
    assert problem(begun) == ""


def test_a_compaction_leaves_it_nothing(begun):
    begun[0].add(COMPACTION)
    assert problem(begun) == COMPACTED


def test_a_compaction_that_was_taken_back_leaves_it_all(begun):
    story, *_ = begun
    story.add(Undone(target_id=story.add(COMPACTION)))
    assert problem(begun) == ""


def test_who_goes_on_from_further_up_has_left_the_branch(begun):
    begun[0].add(CustomMessage(custom_type="x", content="elsewhere"), parent="e2")
    assert problem(begun) == LEFT


def test_another_leaf_is_gone_once_somebody_speaks_below_it(begun):
    begun[0].says(user("four"))
    assert problem(begun, is_elsewhere=True) == WENT_ON


def test_another_leaf_is_gone_once_somebody_compacts_it(begun):
    begun[0].add(COMPACTION)
    assert problem(begun, is_elsewhere=True) == COMPACTED


def test_another_leaf_is_not_gone_for_what_happens_on_other_branches_or_says_nothing(begun):
    story, *_ = begun
    story.add(Label(target_id="e3", label="here"))
    story.add(CustomMessage(custom_type="x", content="elsewhere"), parent="e2")
    assert problem(begun, is_elsewhere=True) == ""


def test_who_went_on_from_another_leaf_after_it_was_chosen_counts(begun):
    story, at, since = begun
    story.says(user("four"))
    with story.log.snapshot() as snapshot:
        assert (has_new_messages(snapshot, at, since), has_new_messages(snapshot, at, since + 1)) == (
            True,
            False,
        )
