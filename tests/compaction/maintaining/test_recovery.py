"""After a request that was too long, and an answer that was cut off."""

from __future__ import annotations

import pytest

from compaction.maintaining.recovery import failure_message, is_recovery
from eventstore.records import Compaction, ModelChange
from projections.context import build_context, context_json
from tests.compaction.maintaining.maintained import decisions, fails, kinds, maintainer
from tests.compaction.scripted import Scripted, long, turns
from tests.support.events import events
from tests.support.talk import assistant, texts_of, user


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("overflow", "Context overflow recovery failed: no"),
        ("incomplete", "Incomplete response recovery failed: no"),
        ("threshold", "Auto-compaction failed: no"),
        ("idle", "Auto-compaction failed: no"),
        ("tool", "Auto-compaction failed: no"),
    ],
)
def test_what_failed_is_said_as_oh_my_pi_says_it(reason, said):
    assert failure_message(reason, "no") == said


@pytest.mark.parametrize(
    ("reason", "expected"), [("overflow", True), ("incomplete", True), ("threshold", False), ("idle", False)]
)
def test_a_harness_waits_for_recoveries_only(reason, expected):
    assert is_recovery(reason) == expected


def test_after_an_overflow_the_failed_answer_leaves_the_context_and_the_request_is_sent_again(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))
    advice = maintainer().on_error(story.writer, "400: prompt is too long: 300000 tokens > 200000 maximum")
    assert (advice.do, advice.history_rewritten) == ("retry", True)
    assert texts_of(build_context(story.log, "s"))[-1] == "next"


def test_an_answer_that_went_well_stays_after_an_overflow(story):
    turns(story, 20, 10)
    maintainer().on_error(story.writer, "context_length_exceeded")
    assert texts_of(build_context(story.log, "s"))[-1] == long(10)


def test_another_error_is_not_for_this(story):
    turns(story, 20, 10)
    advice = maintainer().on_error(story.writer, "429 rate limit: too many tokens per minute")
    assert (advice.do, kinds(story)) == ("nothing", [])


def test_an_overflow_that_nothing_helps_says_so(story):
    story.says(user(long(90)))
    advice = maintainer().on_error(story.writer, "prompt is too long")
    assert advice.error == "Context overflow recovery failed: nothing to summarize"


def test_an_error_older_than_the_compaction_is_passed_over(story):
    turns(story, 20, 10)
    story.add(Compaction(summary="so far", first_kept_entry_id="e3", tokens_before=1))
    before = context_json(story.log, "s")
    advice = maintainer().on_error(story.writer, "prompt is too long")
    assert (advice.do, context_json(story.log, "s")) == ("nothing", before)


def test_an_error_of_another_model_says_nothing_of_this_one(story):
    turns(story, 20, 10)
    story.says(assistant("", stop="error"))
    advice = maintainer().on_error(story.writer, "prompt is too long", model="another")
    assert (advice.do, advice.reason) == ("nothing", "the error is of another model")


@pytest.mark.parametrize("model", [None, "m", "p/m"])
def test_an_error_of_the_model_in_use_or_of_one_that_nobody_names_is_recovered(story, model):
    turns(story, 20, 10)
    story.says(assistant("", stop="error"))
    assert maintainer().on_error(story.writer, "prompt is too long", model=model).do == "retry"


def test_an_error_from_before_another_model_was_chosen_says_nothing_of_it(story):
    turns(story, 20, 10)
    story.says(assistant("", stop="error"))
    story.add(ModelChange(provider="p", model_id="another"))
    assert maintainer().on_error(story.writer, "prompt is too long").reason == "the error is of another model"


def test_an_answer_that_was_cut_off_is_recovered_after_the_turn(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))
    advice = maintainer().after_turn(story.writer)
    assert (advice.do, texts_of(build_context(story.log, "s"))[-1]) == ("retry", "next")


@pytest.mark.parametrize(("model", "do"), [("m", "retry"), ("another", "nothing")])
def test_an_answer_that_was_cut_off_is_recovered_for_its_own_model(story, model, do):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))
    assert maintainer().after_turn(story.writer, model=model).do == do


def test_a_cut_off_answer_from_before_a_compaction_is_no_case_any_more(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))
    story.add(Compaction(summary="so far", first_kept_entry_id="e3", tokens_before=1))
    assert maintainer().after_turn(story.writer).reason == "the context is small enough"


def test_a_torn_answer_that_nothing_helps_says_so(story):
    story.says(user(long(90)), assistant("half an", stop="length"))
    said = "Incomplete response recovery failed: nothing to summarize"
    assert maintainer().after_turn(story.writer).error == said
    assert decisions(story) == [("failed", said)]


def test_a_recovery_that_fails_leaves_the_tree_as_it_was(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))
    before = context_json(story.log, "s")
    advice = maintainer(Scripted(fails)).on_error(story.writer, "prompt is too long")
    assert (context_json(story.log, "s"), advice.history_rewritten) == (before, False)


def test_a_recovery_is_one_append_below_what_was_there_before_the_failed_answers(story):
    turns(story, 20, 10)
    request, *_ = story.says(user("next"), assistant("", stop="error"), assistant("", stop="error"))
    maintainer().on_error(story.writer, "prompt is too long")
    (made,) = [event for event in events(story.log, "s") if event.kind == "compaction"]
    assert (made.parent, kinds(story)) == (request, ["compaction"])


def test_an_answer_that_comes_during_a_recovery_is_not_lost(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))

    def late(_prompt):
        story.says(user("late"))
        return "so far"

    maintainer(Scripted(late)).on_error(story.writer, "prompt is too long")
    assert "late" in texts_of(build_context(story.log, "s"))


def test_a_recovery_that_gains_nothing_is_one_failure(story):
    turns(story, 20, 10)
    wordy = maintainer(Scripted(lambda _: long(100)))
    for _ in range(2):
        story.says(user("next"))
        wordy.on_error(story.writer, "prompt is too long")
    found = [outcome for outcome, _ in decisions(story)]
    assert found == ["triggered", "no-gain", "triggered", "no-gain"]


def test_a_recovery_that_somebody_else_has_made_is_a_retry(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))

    def too_late(_prompt):
        maintainer().on_error(story.writer, "prompt is too long")
        return "so far"

    advice = maintainer(Scripted(too_late)).on_error(story.writer, "prompt is too long")
    assert (advice.do, advice.history_rewritten, advice.error) == ("retry", True, None)
    assert kinds(story).count("compaction") == 1
    assert "failed" not in [outcome for outcome, _ in decisions(story)]


def test_a_request_that_is_refused_again_behind_its_recovery_is_given_up(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))
    assert maintainer().on_error(story.writer, "prompt is too long").do == "retry"
    story.says(assistant("", stop="error"))
    again = maintainer().on_error(story.writer, "prompt is too long")
    assert (again.do, again.error) == (
        "nothing",
        "Context overflow recovery failed: nothing to summarize",
    )
