"""Records of requests that led to nothing."""

from __future__ import annotations

from contextlib import suppress

import pytest

from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.chain import SummarizersFailedError, attempt_ids, recording_failed_attempt
from eventstore.errors import NotFoundError
from eventstore.records import Attempt, record_of
from tests.support.events import events, version
from tests.support.talk import user

REQUESTS = [{"summarizer": "claude", "error": "overloaded"}]


def failing():
    return SummarizersFailedError([SummarizerError("claude", "overloaded")], REQUESTS)


def attempt(story):
    newest = events(story.log, "s")[-1]
    return record_of(newest.kind, newest.body)


@pytest.mark.parametrize("error", [failing(), CancelledError(REQUESTS)])
def test_a_request_that_fails_or_is_called_off_is_put_down_and_the_error_goes_on(story, error):
    with pytest.raises(type(error)) as raised, recording_failed_attempt(story.writer, "branch"):
        raise error
    assert raised.value is error
    assert attempt(story) == Attempt(request={"reason": "branch", "requests": REQUESTS}, error=str(error))


def test_a_request_that_cannot_even_be_made_is_put_down_too(story):
    error = NotFoundError("template", "mine", "see 'refold templates'")
    with pytest.raises(NotFoundError), recording_failed_attempt(story.writer, "branch"):
        raise error
    assert attempt(story) == Attempt(request={"reason": "branch", "requests": []}, error=str(error))


@pytest.mark.parametrize(
    "makes",
    [
        failing,
        lambda: CancelledError(REQUESTS),
        lambda: NotFoundError("template", "mine", "see which there are"),
    ],
)
def test_the_error_has_the_attempts_id_from_there_on(story, makes):
    error = makes()
    assert attempt_ids(error) == []
    with (
        suppress(SummarizersFailedError, CancelledError, NotFoundError),
        recording_failed_attempt(story.writer, "branch"),
    ):
        raise error
    assert attempt_ids(error) == [events(story.log, "s")[-1].id]


def test_what_was_answered_before_is_put_down_with_what_failed_then(story):
    answered = [{"summarizer": "claude", "answer": "so far"}]
    with (
        pytest.raises(SummarizersFailedError),
        recording_failed_attempt(story.writer, "branch", answered=answered),
    ):
        raise failing()
    assert attempt(story).request["requests"] == [*answered, *REQUESTS]


def test_the_policy_is_told_where_there_is_one(story):
    with pytest.raises(SummarizersFailedError), recording_failed_attempt(story.writer, "manual", "pi"):
        raise failing()
    assert attempt(story).request == {"reason": "manual", "policy": "pi", "requests": REQUESTS}


def test_nothing_is_put_down_of_what_goes_well_or_is_an_error_in_a_program(story):
    story.says(user("hello"))
    with recording_failed_attempt(story.writer, "branch"):
        pass
    with pytest.raises(KeyError), recording_failed_attempt(story.writer, "branch"):
        raise KeyError
    assert version(story.log, "s") == 1
