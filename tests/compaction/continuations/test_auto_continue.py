"""oh-my-pi's way to go on: a word that is the agent's."""

from __future__ import annotations

import pytest

from compaction.continuations import AUTO_CONTINUE
from tests.compaction.continuations.situations import situation
from tests.support.talk import user


def test_the_agent_goes_on_in_any_case_and_no_person_sees_it(story):
    story.says(user("do b"))
    found = AUTO_CONTINUE.after(situation(story))
    assert found.branch == "auto-continue"
    assert (found.record.custom_type, found.record.display) == ("compaction_continue", False)


@pytest.mark.parametrize("reason", ["overflow", "incomplete", "idle", "manual", "tool"])
def test_it_is_due_for_a_threshold_only(reason):
    assert not AUTO_CONTINUE.is_due(reason, is_after_turn=True)


def test_before_a_request_that_goes_on_by_itself_it_is_not_due():
    assert AUTO_CONTINUE.is_due("threshold", is_after_turn=True)
    assert not AUTO_CONTINUE.is_due("threshold", is_after_turn=False)
