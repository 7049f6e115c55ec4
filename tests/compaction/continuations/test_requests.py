"""Find the newest request of a person."""

from __future__ import annotations

from compaction.continuations import unanswered_request
from tests.compaction.continuations.situations import situation
from tests.support.talk import assistant, call, result, user


def asked(story):
    now = situation(story)
    found = unanswered_request(now.before, now.entries)
    return found and found.id


def test_the_newest_request_is_unanswered_until_the_model_has_said_anything(story):
    story.says(user("do a"), assistant("done"), user("do b"))
    assert asked(story) == "e3"
    story.says(assistant(call("bash")))
    assert asked(story) is None


def test_of_two_requests_in_a_row_it_is_the_second(story):
    story.says(user("do a"), user("and b"))
    assert asked(story) == "e2"


def test_a_session_in_which_nobody_asked_has_none(story):
    story.says(assistant(call("bash")), result("it"))
    assert asked(story) is None
