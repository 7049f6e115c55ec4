"""After a request that was too long, and an answer that was cut off."""

from __future__ import annotations

import pytest

from compaction.cuts import LastMessages
from compaction.hooks import Hooks
from compaction.maintainer import (
    OF_ANOTHER_MODEL,
    SMALL_ENOUGH,
    Maintainer,
    Settings,
    case_of_error,
    failure_message,
)
from compaction.plan import ALL_TOGETHER, LEFT, NO_NEWER_MESSAGES, WENT_ON
from compaction.rewrites import Mask
from compaction.summarizers import SummarizerError
from compaction.triggers import Threshold
from eventstore.records import Compaction, Custom, CustomMessage, ModelChange
from projections.context.build import build_context, context_json
from tests.compaction.maintainer.maintained import LARGER, decisions, fails, handing, kinds, maintainer
from tests.compaction.rewrites.contexts import calls
from tests.compaction.scripted import Scripted, compactor, long, turns
from tests.support.events import events
from tests.support.talk import assistant, image, text, texts_of, user

OLDER = case_of_error("prompt is too long", is_stale=True, is_of_model=True, settings=Settings()).reason


def test_after_an_overflow_the_failed_answer_leaves_the_context_and_the_request_is_sent_again(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))
    recommendation = maintainer().on_error(
        story.writer, "400: prompt is too long: 300000 tokens > 200000 maximum"
    )
    assert (recommendation.do, recommendation.history_rewritten) == ("retry", True)
    assert texts_of(build_context(story.log, "s"))[-1] == "next"


def test_an_answer_that_went_well_stays_after_an_overflow(story):
    turns(story, 20, 10)
    maintainer().on_error(story.writer, "context_length_exceeded")
    assert texts_of(build_context(story.log, "s"))[-1] == long(10)


def test_another_error_is_not_for_this(story):
    turns(story, 20, 10)
    recommendation = maintainer().on_error(story.writer, "429 rate limit: too many tokens per minute")
    assert (recommendation.do, kinds(story)) == ("nothing", [])


def test_an_overflow_that_nothing_helps_says_so(story):
    story.says(user(long(90)))
    recommendation = maintainer().on_error(story.writer, "prompt is too long")
    assert recommendation.error == failure_message("overflow", ALL_TOGETHER)


def test_an_error_whose_answer_is_older_than_the_compaction_is_passed_over_and_told(story):
    turns(story, 20, 10)
    story.says(assistant("", stop="error"))
    story.add(Compaction(summary="so far", first_kept_entry_id="e3", tokens_before=1))
    before = context_json(story.log, "s")
    recommendation = maintainer().on_error(story.writer, "prompt is too long: 9 > 8")
    assert (recommendation.do, context_json(story.log, "s")) == ("nothing", before)
    assert recommendation.reason == f"{OLDER}: 9 > 8"


def test_an_error_behind_a_compaction_of_which_the_log_has_no_answer_is_of_now(story):
    turns(story, 20, 10)
    assert maintainer().before_request(story.writer).reason == "threshold"
    recommendation = maintainer().on_error(story.writer, "prompt is too long")
    assert recommendation.error == failure_message("overflow", NO_NEWER_MESSAGES)


def test_an_error_behind_a_compaction_of_which_the_log_has_no_answer_may_be_for_a_larger_model(story):
    turns(story, 20, 10)
    maintainer().before_request(story.writer)
    promoting = maintainer(settings=LARGER, trigger=Threshold(percent=1))
    assert promoting.on_error(story.writer, "prompt is too long").do == "switch-model"


def test_an_error_of_another_model_says_nothing_of_this_one(story):
    turns(story, 20, 10)
    story.says(assistant("", stop="error"))
    recommendation = maintainer().on_error(story.writer, "prompt is too long", model="another")
    assert (recommendation.do, recommendation.reason) == ("nothing", OF_ANOTHER_MODEL.reason)


@pytest.mark.parametrize("model", [None, "m", "p/m"])
def test_an_error_of_the_model_in_use_or_of_one_that_nobody_names_is_recovered(story, model):
    turns(story, 20, 10)
    story.says(assistant("", stop="error"))
    assert maintainer().on_error(story.writer, "prompt is too long", model=model).do == "retry"


def test_an_error_from_before_another_model_was_chosen_says_nothing_of_it(story):
    turns(story, 20, 10)
    story.says(assistant("", stop="error"))
    story.add(ModelChange(provider="p", model_id="another"))
    assert maintainer().on_error(story.writer, "prompt is too long").reason == OF_ANOTHER_MODEL.reason


def test_an_answer_that_was_cut_off_is_recovered_after_the_turn(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))
    recommendation = maintainer().after_turn(story.writer)
    assert (recommendation.do, texts_of(build_context(story.log, "s"))[-1]) == ("retry", "next")


@pytest.mark.parametrize(("model", "do"), [("m", "retry"), ("another", "nothing")])
def test_an_answer_that_was_cut_off_is_recovered_for_its_own_model(story, model, do):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))
    assert maintainer().after_turn(story.writer, model=model).do == do


def test_a_cut_off_answer_from_before_a_compaction_is_no_case_any_more(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))
    story.add(Compaction(summary="so far", first_kept_entry_id="e3", tokens_before=1))
    assert maintainer().after_turn(story.writer).reason == SMALL_ENOUGH.reason


def test_a_torn_answer_that_nothing_helps_says_so(story):
    story.says(user(long(90)), assistant("half an", stop="length"))
    said = failure_message("incomplete", ALL_TOGETHER)
    assert maintainer().after_turn(story.writer).error == said
    assert decisions(story) == [("failed", said)]


def test_a_recovery_that_fails_leaves_the_tree_as_it_was(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))
    before = context_json(story.log, "s")
    recommendation = maintainer(Scripted(fails)).on_error(story.writer, "prompt is too long")
    assert (context_json(story.log, "s"), recommendation.history_rewritten) == (before, False)


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

    recommendation = maintainer(Scripted(too_late)).on_error(story.writer, "prompt is too long")
    assert (recommendation.do, recommendation.history_rewritten, recommendation.error) == (
        "retry",
        True,
        None,
    )
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
        failure_message("overflow", NO_NEWER_MESSAGES),
    )


def test_what_is_said_while_hooks_are_asked_during_a_recovery_is_not_lost(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))
    hooks = [Hooks(name="h", before_compaction=lambda _: story.says(user("late")) and None)]
    compacts = compactor(Scripted(lambda _: "so far"), hooks=hooks)
    Maintainer(compactor=compacts, now=lambda: 0).on_error(story.writer, "prompt is too long")
    assert "late" in texts_of(build_context(story.log, "s"))


def test_what_is_said_during_a_handoff_that_fails_is_not_lost(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))

    def no_document(prompt):
        if prompt.template.name == "handoff":
            story.says(user("late"))
            raise SummarizerError("scripted", "no document")
        return "so far"

    handing(story, Scripted(no_document)).after_turn(story.writer)
    assert "late" in texts_of(build_context(story.log, "s"))


def test_what_is_said_while_a_larger_model_is_chosen_is_not_lost(story, interrupt):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))
    promoting = maintainer(settings=LARGER, trigger=Threshold(percent=1))
    recommendation = promoting.on_error(interrupt(story).writer, "prompt is too long")
    assert (recommendation.do, texts_of(build_context(story.log, "s"))[-1]) == ("switch-model", "me first")


def test_a_note_of_an_extension_behind_a_failed_answer_does_not_keep_it_in_the_context(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half", stop="error"))
    story.add(Custom(custom_type="x"))
    recommendation = maintainer().on_error(story.writer, "prompt is too long")
    assert (recommendation.do, texts_of(build_context(story.log, "s"))[-1]) == ("retry", "next")


def test_a_note_of_an_extension_behind_an_answer_that_was_cut_off_does_not_hide_it(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))
    story.add(Custom(custom_type="x"))
    assert maintainer().after_turn(story.writer).reason == "incomplete"


def test_an_error_that_is_told_twice_is_recovered_once_though_a_word_to_go_on_follows(story):
    turns(story, 20, 10)
    story.says(assistant("", stop="error"))
    goes_on = maintainer(continuation="replay")
    assert goes_on.on_error(story.writer, "prompt is too long").do == "retry"
    recommendation = goes_on.on_error(story.writer, "prompt is too long")
    assert (recommendation.do, recommendation.reason) == ("nothing", OLDER)
    assert kinds(story) == ["compaction"]


def test_a_refusal_behind_a_word_to_go_on_is_of_now(story):
    turns(story, 20, 10)
    goes_on = maintainer(continuation="auto-continue")
    assert goes_on.after_turn(story.writer).do == "continue"
    recommendation = goes_on.on_error(story.writer, "prompt is too long")
    assert recommendation.error == failure_message("overflow", NO_NEWER_MESSAGES)


def test_a_recovery_that_a_message_from_elsewhere_overtakes_is_a_retry_and_no_failure(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))

    def late(_prompt):
        story.says(user("late"))
        return "so far"

    recommendation = maintainer(Scripted(late)).on_error(story.writer, "prompt is too long")
    assert (
        recommendation.do,
        recommendation.reason,
        recommendation.history_rewritten,
        recommendation.error,
    ) == (
        "retry",
        WENT_ON,
        False,
        None,
    )
    assert [outcome for outcome, _ in decisions(story)] == ["triggered", "skipped"]


def test_a_recovery_of_a_branch_that_somebody_leaves_is_a_retry_and_no_failure(story):
    first, *_ = turns(story, 20, 10)

    def leaves(_prompt):
        story.add(CustomMessage(custom_type="x", content="elsewhere"), parent=first)
        return "so far"

    recommendation = maintainer(Scripted(leaves)).on_error(story.writer, "prompt is too long")
    assert (recommendation.do, recommendation.reason) == ("retry", LEFT)
    assert "failed" not in [outcome for outcome, _ in decisions(story)]


KEEPS_NOTHING = {"cut": LastMessages(messages=0), "continuation": "replay"}


RECOVERIES = {
    "error": lambda asked, writer: asked.on_error(writer, "prompt is too long"),
    "length": lambda asked, writer: asked.after_turn(writer),
}


@pytest.mark.parametrize("stop", RECOVERIES)
def test_a_request_that_a_recovery_did_not_keep_is_in_what_is_sent_again(story, stop):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop=stop))
    recommendation = RECOVERIES[stop](maintainer(**KEEPS_NOTHING), story.writer)
    assert (recommendation.do, texts_of(build_context(story.log, "s"))) == ("retry", ["so far", "next"])


def test_of_a_request_with_an_image_that_was_too_long_the_text_is_sent_again(story):
    turns(story, 20, 10)
    story.says(user([text("look"), image()]), assistant("", stop="error"))
    maintainer(**KEEPS_NOTHING).on_error(story.writer, "prompt is too long")
    assert texts_of(build_context(story.log, "s"))[-1] == "[Continuing from compaction] look"


def test_nothing_is_replayed_where_going_on_by_itself_is_off(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("", stop="error"))
    off = Settings(auto_continue=False)
    maintainer(settings=off, **KEEPS_NOTHING).on_error(story.writer, "prompt is too long")
    assert texts_of(build_context(story.log, "s")) == ["so far"]


MASKS = {"cut": None, "rewrites": (Mask(keep_observations=0),)}


def test_rewrites_recover_where_they_are_enough(story):
    calls(story, *[30] * 4)
    story.says(user("next"), assistant("", stop="error"))
    recommendation = maintainer(**MASKS).on_error(story.writer, "prompt is too long")
    assert (recommendation.do, recommendation.history_rewritten, kinds(story)) == ("retry", True, ["rewrite"])
    assert texts_of(build_context(story.log, "s"))[-1] == "next"


def test_an_answer_that_was_cut_off_is_recovered_by_rewrites_too(story):
    calls(story, *[30] * 4)
    story.says(user("next"), assistant("half an", stop="length"))
    recommendation = maintainer(**MASKS).after_turn(story.writer)
    assert (recommendation.do, kinds(story), texts_of(build_context(story.log, "s"))[-1]) == (
        "retry",
        ["rewrite"],
        "next",
    )


def test_rewrites_that_do_not_recover_are_followed_by_a_compaction(story):
    calls(story, 30)
    turns(story, 30, 10)
    story.says(user("next"), assistant("", stop="error"))
    recommendation = maintainer(rewrites=MASKS["rewrites"]).on_error(story.writer, "prompt is too long")
    assert (recommendation.do, kinds(story)) == ("retry", ["rewrite", "compaction"])


def test_what_rewrites_have_recovered_and_is_refused_again_is_compacted(story):
    turns(story, 10, 5)
    calls(story, 90)
    asked = maintainer(rewrites=MASKS["rewrites"])
    for _ in range(2):
        story.says(assistant("", stop="error"))
        recommendation = asked.on_error(story.writer, "prompt is too long")
    assert (recommendation.do, kinds(story)) == ("retry", ["rewrite", "compaction"])


def test_a_larger_model_recovers_before_rewrites_do(story):
    calls(story, *[30] * 4)
    story.says(user("next"), assistant("", stop="error"))
    promoting = maintainer(settings=LARGER, trigger=Threshold(percent=1), **MASKS)
    assert promoting.on_error(story.writer, "prompt is too long").do == "switch-model"
    assert kinds(story) == ["leaf_moved"]
