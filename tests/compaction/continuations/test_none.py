"""Going on with nothing."""

from __future__ import annotations

from compaction.continuations import NONE
from tests.compaction.continuations.situations import situation
from tests.support.talk import user


def test_nothing_is_appended_and_the_record_says_that_the_policy_wants_it_so(story):
    story.says(user("do b"))
    found = NONE.after(situation(story))
    assert (found.record, found.branch) == (None, "none")
