"""A new session in place of a compaction, where that is the strategy."""

from __future__ import annotations

import pytest

from compaction.maintainer import Settings, failure_message
from compaction.summarizers import CancelledError, SummarizerError
from eventstore.writing import SessionWriter
from projections.context.build import build_context
from tests.compaction.maintainer.maintained import decisions, fails, handing, kinds
from tests.compaction.scripted import Scripted, record, turns
from tests.support.events import events
from tests.support.talk import assistant, call, user


def test_a_handoff_may_stand_in_for_a_compaction(story):
    turns(story, 20, 10)
    recommendation = handing(story).after_turn(story.writer)
    assert (recommendation.do, recommendation.session, kinds(story)) == ("continue", "next-1", [])
    assert len(build_context(story.log, "next-1").parts) == 1


def test_before_a_request_a_handoff_may_stand_in_for_a_compaction_too(story):
    turns(story, 20, 10)
    assert handing(story).before_request(story.writer).session == "next-1"


def test_a_handoff_is_put_down(story):
    turns(story, 20, 10)
    handing(story).after_turn(story.writer)
    assert decisions(story) == [("handed off", "to session next-1")]


def test_a_handoff_without_a_document_falls_back_to_a_compaction(story):
    def only_summaries(prompt):
        if prompt.template.name == "handoff":
            raise SummarizerError("scripted", "no document")
        return "so far"

    turns(story, 20, 10)
    handing(story, Scripted(only_summaries)).after_turn(story.writer)
    assert "compaction" in kinds(story)


def test_after_an_overflow_there_is_no_handoff_for_it_would_send_the_same_again(story):
    turns(story, 20, 10)
    recommendation = handing(story, Scripted(lambda _: "so far")).on_error(story.writer, "prompt is too long")
    assert (recommendation.session, kinds(story)) == (None, ["compaction"])


def test_after_an_answer_that_was_cut_off_a_handoff_is_allowed(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))
    scribe = Scripted()
    recommendation = handing(story, scribe).after_turn(story.writer)
    assert (recommendation.do, recommendation.session) == ("continue", "next-1")
    assert [part.id for part in scribe.prompts[0].prefix][-1] == "e5"


def test_an_idle_session_is_handed_off_too_and_the_new_one_waits(story):
    turns(story, 20, 10)
    idle = Settings(strategy="handoff", idle_enabled=True, idle_threshold_tokens=50)
    recommendation = handing(story, settings=idle).on_idle(story.writer, 300)
    assert (recommendation.do, recommendation.session, kinds(story)) == ("nothing", "next-1", [])


@pytest.mark.parametrize("hook", ["before_request", "after_turn"])
def test_while_a_call_is_open_there_is_no_handoff_for_its_result_would_come_too_late(story, hook):
    turns(story, 20, 10)
    story.says(assistant(call("bash", "c1"), stop="toolUse"))
    recommendation = getattr(handing(story, Scripted(lambda _: "so far")), hook)(story.writer)
    assert (recommendation.session, kinds(story)) == (None, ["compaction"])


def test_a_document_whose_session_somebody_else_has_begun_meanwhile_is_kept_as_an_attempt(story):
    def taken(prompt):
        if prompt.template.name == "handoff":
            SessionWriter(story.log, "next-1").message(user("theirs"))
            return "the document"
        return "so far"

    turns(story, 20, 10)
    before = len(events(story.log, "s"))
    recommendation = handing(story, Scripted(taken)).after_turn(story.writer)
    assert (recommendation.session, recommendation.history_rewritten) == (None, True)
    assert recommendation.events == [event.id for event in events(story.log, "s")][before:]
    kept = record(story, "attempt").request
    assert (kept["reason"], kept["requests"][0]["answer"]) == ("handoff", "the document")


def test_a_handoff_that_fails_is_reported_with_the_compaction_that_stands_in_for_it(story):
    turns(story, 20, 10)
    before = len(events(story.log, "s"))
    recommendation = handing(story, Scripted(fails)).after_turn(story.writer)
    assert recommendation.events == [event.id for event in events(story.log, "s")][before:]


def test_a_handoff_that_is_called_off_is_not_followed_by_a_compaction(story):
    def cancel_reason(_prompt):
        raise CancelledError

    turns(story, 20, 10)
    recommendation = handing(story, Scripted(cancel_reason)).after_turn(story.writer)
    assert (recommendation.do, recommendation.error) == (
        "nothing",
        failure_message("threshold", str(CancelledError())),
    )
    assert kinds(story) == ["attempt"]


def test_a_handoff_to_a_session_that_is_there_already_falls_back_to_a_compaction(story):
    turns(story, 20, 10)
    SessionWriter(story.log, "next-1").message(user("theirs"))
    recommendation = handing(story, Scripted(lambda _: "so far")).after_turn(story.writer)
    assert (recommendation.session, recommendation.history_rewritten) == (None, True)
