"""What a harness is told before and after each turn."""

from __future__ import annotations

from contextlib import suppress
from itertools import count

import pytest

from compaction.cuts import LastMessages
from compaction.hooks import Cancel, Hooks
from compaction.maintaining import Maintainer, Promotion, Settings
from compaction.rewrites import Mask, Micro
from compaction.summarizers import CancelledError, SummarizerError
from compaction.trigger import Trigger
from eventstore.records import Compaction, ModelChange, record_of
from eventstore.writing import SessionWriter
from projections.context import build_context, context_json
from projections.renderers.anthropic import render
from tests.compaction.rewrites.contexts import calls
from tests.compaction.scripted import Scripted, compactor, long, policy, turns
from tests.support.events import events
from tests.support.talk import assistant, call, result, texts_of, user


def maintainer(summarizer=None, *, settings=None, now=0, **changes):
    return Maintainer(
        compactor=compactor(summarizer or Scripted(lambda _: "so far"), policy(**changes)),
        now=lambda: now,
        settings=settings or Settings(),
    )


def fails(_prompt):
    raise SummarizerError("scripted", "no such model")


def decisions(story):
    found = [event for event in events(story.log, story.session) if event.kind == "decision"]
    return [
        (record.outcome, record.reason) for record in (record_of("decision", each.body) for each in found)
    ]


def kinds(story):
    return [
        event.kind for event in events(story.log, story.session) if event.kind not in ("message", "decision")
    ]


def test_a_small_context_needs_nothing(story):
    turns(story, 5)
    advice = maintainer().after_turn(story.writer)
    assert (advice.do, advice.history_rewritten, kinds(story)) == ("nothing", False, [])


def test_a_context_over_the_threshold_is_compacted_after_the_turn(story):
    turns(story, 20, 10)
    advice = maintainer().after_turn(story.writer)
    assert (advice.history_rewritten, kinds(story)) == (True, ["compaction"])


def test_after_a_compaction_the_agent_goes_on_if_the_policy_says_so(story):
    turns(story, 20, 10)
    advice = maintainer(continuation="auto-continue").after_turn(story.writer)
    assert (advice.do, len(texts_of(build_context(story.log, "s")))) == ("continue", 4)


def test_nothing_goes_on_by_itself_where_that_is_off(story):
    turns(story, 20, 10)
    off = Settings(auto_continue=False)
    assert maintainer(settings=off, continuation="auto-continue").after_turn(story.writer).do == "nothing"


def test_before_a_request_nothing_is_appended_to_go_on_with(story):
    turns(story, 20, 10)
    assert maintainer(continuation="auto-continue").before_request(story.writer).do == "nothing"


def test_rewrites_are_tried_before_a_model_is_asked(story):
    calls(story, 30, 30)
    advice = maintainer(rewrites=(Mask(keep_observations=0),)).after_turn(story.writer)
    assert (advice.history_rewritten, kinds(story)) == (True, ["rewrite"])


def test_rewrites_that_are_not_enough_are_followed_by_a_compaction(story):
    calls(story, 30)
    turns(story, 30, 10)
    maintainer(rewrites=(Mask(keep_observations=0),)).after_turn(story.writer)
    assert kinds(story) == ["rewrite", "compaction"]


def test_rewrites_of_every_request_do_not_wait_for_the_threshold(story):
    calls(story, *[31] * 4)
    advice = maintainer(
        rewrites=(Micro(keep=3),), before_requests=True, trigger=compactor().policy.trigger
    ).before_request(story.writer)
    assert advice.history_rewritten
    assert kinds(story)[0] == "rewrite"


LARGER = Settings(promotion=Promotion(model="vast", window=1_000_000))


def test_a_larger_model_goes_before_a_compaction(story):
    turns(story, 1_500)
    advice = maintainer(settings=LARGER, trigger=Trigger(percent=1)).after_turn(story.writer)
    assert (advice.do, advice.model, kinds(story)) == ("switch-model", "vast", [])


def test_a_larger_model_without_room_changes_nothing(story):
    turns(story, 6_000, 5)
    maintainer(settings=LARGER, trigger=Trigger(percent=1)).after_turn(story.writer)
    assert kinds(story) == ["compaction"]


def test_the_larger_model_in_use_is_compacted(story):
    turns(story, 1_500, 5)
    story.add(ModelChange(provider="p", model_id="vast"))
    maintainer(settings=LARGER, trigger=Trigger(percent=1)).after_turn(story.writer)
    assert "compaction" in kinds(story)


def test_the_first_failure_is_put_down_and_told(story):
    turns(story, 20, 10)
    advice = maintainer(Scripted(fails)).after_turn(story.writer)
    said = "Auto-compaction failed: summarizer scripted: no such model"
    assert (advice.error, decisions(story)[-1]) == (said, ("failed", said))


def test_three_failures_in_a_row_open_the_circuit(story):
    turns(story, 20, 10)
    for _ in range(3):
        maintainer(Scripted(fails)).after_turn(story.writer)
    scribe = Scripted()
    maintainer(scribe).after_turn(story.writer)
    assert scribe.prompts == []
    assert decisions(story)[-1] == (
        "skipped",
        "3 compactions in a row have failed: compact by hand to go on",
    )


def test_a_person_closes_the_circuit(story):
    turns(story, 20, 10)
    for _ in range(3):
        maintainer(Scripted(fails)).after_turn(story.writer)
    assert maintainer().compact(story.writer).outcome == "compacted"
    turns(story, 30, 10)
    assert maintainer().after_turn(story.writer).history_rewritten


def test_a_context_that_gains_nothing_is_not_tried_again(story):
    turns(story, 20, 10)
    scribe = Scripted(lambda _: long(500))
    for _ in range(2):
        maintainer(scribe).after_turn(story.writer)
    assert len({prompt.digest for prompt in scribe.prompts if "draft" not in prompt.text}) == 1
    assert decisions(story)[-1] == ("skipped", "a compaction of this context gained nothing")


def test_a_skip_is_put_down_only_when_its_reason_changes(story):
    turns(story, 5)
    for _ in range(3):
        maintainer().after_turn(story.writer)
    maintainer(settings=Settings(enabled=False)).after_turn(story.writer)
    assert decisions(story) == [
        ("skipped", "the context is small enough"),
        ("skipped", "automatic compaction is off"),
    ]


@pytest.mark.parametrize("off", [Settings(enabled=False), Settings(strategy="off")])
def test_off_stops_the_automatic_paths_and_not_a_person(story, off):
    turns(story, 20, 10)
    quiet = maintainer(settings=off)
    quiet.after_turn(story.writer)
    quiet.on_error(story.writer, "prompt is too long")
    assert kinds(story) == []
    assert quiet.compact(story.writer).outcome == "compacted"


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


def test_an_answer_that_was_cut_off_is_recovered_after_the_turn(story):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half an", stop="length"))
    advice = maintainer().after_turn(story.writer)
    assert (advice.do, texts_of(build_context(story.log, "s"))[-1]) == ("retry", "next")


def test_an_idle_session_is_compacted_when_it_is_large_and_idle_for_long_enough(story):
    turns(story, 20, 10)
    idle = maintainer(
        settings=Settings(idle_enabled=True, idle_threshold_tokens=50), continuation="auto-continue"
    )
    assert idle.on_idle(story.writer, 299).do == "nothing"
    assert kinds(story) == []
    assert idle.on_idle(story.writer, 300).do == "nothing"
    assert kinds(story) == ["compaction"]


def test_idle_compaction_is_off_unless_it_is_asked_for(story):
    turns(story, 20, 10)
    maintainer().on_idle(story.writer, 10_000)
    assert kinds(story) == []


def test_every_decision_says_how_large_the_context_was_and_where_the_threshold_is(story):
    turns(story, 20, 10)
    maintainer().after_turn(story.writer)
    found = next(event for event in events(story.log, "s") if event.kind == "decision")
    numbers = record_of("decision", found.body).numbers
    assert (numbers["tokens"], numbers["threshold"]) == (60, 50)


def test_a_model_may_ask_for_a_compaction_and_its_call_finds_its_result(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact", "c9", instructions="mind the tests")))
    scribe = Scripted(lambda _: "so far")
    advice = maintainer(scribe).after_turn(story.writer)
    assert (advice.do, advice.history_rewritten) == ("nothing", True)
    assert texts_of(build_context(story.log, "s"))[-2:] == ["compact", "[Compacted. History summarized.]"]
    assert "mind the tests" in scribe.prompts[0].text


def handing(story, scribe=None):
    numbers = count(1)
    return Maintainer(
        compactor=compactor(scribe or Scripted()),
        now=lambda: 0,
        settings=Settings(strategy="handoff"),
        new_session=lambda: SessionWriter(story.log, f"next-{next(numbers)}"),
    )


def test_a_handoff_may_stand_in_for_a_compaction(story):
    turns(story, 20, 10)
    advice = handing(story).after_turn(story.writer)
    assert (advice.do, advice.session, kinds(story)) == ("continue", "next-1", [])
    assert len(build_context(story.log, "next-1").parts) == 1


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
    advice = handing(story, Scripted(lambda _: "so far")).on_error(story.writer, "prompt is too long")
    assert (advice.session, kinds(story)) == (None, ["compaction"])


BOTH = assistant(call("read", "c1"), call("compact", "c2"))
NOTHING_KEPT = LastMessages(messages=0)


def repairs(story):
    return [repair.rule for repair in render(build_context(story.log, "s"), model="claude-x").repairs]


def test_a_compaction_that_a_model_asks_for_waits_for_the_calls_beside_it(story):
    turns(story, 20, 10)
    story.says(BOTH)
    advice = maintainer(cut=NOTHING_KEPT).after_turn(story.writer)
    assert (advice.do, kinds(story)) == ("nothing", [])


def test_a_compaction_that_a_model_asks_for_among_other_calls_leaves_no_orphan(story):
    turns(story, 20, 10)
    story.says(BOTH, result("it", call_id="c1"))
    maintainer(cut=NOTHING_KEPT).after_turn(story.writer)
    assert (kinds(story), repairs(story)) == (["compaction"], [])


def test_a_compaction_that_a_model_asked_for_is_made_once(story):
    turns(story, 20, 10)
    story.says(BOTH, result("it", call_id="c1"))
    for _ in range(2):
        maintainer(cut=NOTHING_KEPT).after_turn(story.writer)
    assert kinds(story) == ["compaction"]


def test_a_model_that_asks_where_there_is_nothing_to_do_is_told_so(story):
    story.says(user("hi"), assistant(call("compact")))
    maintainer().after_turn(story.writer)
    assert texts_of(build_context(story.log, "s"))[-1] == "[Not compacted: nothing to summarize]"


def test_a_model_that_asks_in_vain_is_told_why(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    advice = maintainer(Scripted(fails)).after_turn(story.writer)
    said = "Auto-compaction failed: summarizer scripted: no such model"
    assert (advice.do, advice.error) == ("nothing", said)
    assert texts_of(build_context(story.log, "s"))[-1] == f"[Not compacted: {said}]"


@pytest.mark.parametrize("stop", ["aborted", "error"])
def test_an_answer_that_did_not_go_through_is_no_turn(story, stop):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half", stop=stop))
    advice = maintainer(continuation="auto-continue").after_turn(story.writer)
    assert (advice.do, kinds(story)) == ("nothing", [])


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


def test_a_larger_model_goes_on_without_the_failed_answer(story):
    turns(story, 1_500)
    story.says(user("next"), assistant("", stop="error"))
    advice = maintainer(settings=LARGER, trigger=Trigger(percent=1)).on_error(
        story.writer, "prompt is too long"
    )
    assert (advice.do, texts_of(build_context(story.log, "s"))[-1]) == ("switch-model", "next")


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


def failed_three_times(story):
    turns(story, 20, 10)
    for _ in range(3):
        maintainer(Scripted(fails)).after_turn(story.writer)
    return story


@pytest.mark.parametrize("scribe", [Scripted(fails), Scripted(lambda _: long(100))], ids=["fails", "no gain"])
def test_a_person_who_asks_closes_the_circuit_whatever_comes_of_it(story, scribe):
    failed_three_times(story)
    with suppress(SummarizerError):
        maintainer(scribe).compact(story.writer)
    story.says(user("more"))
    assert maintainer().after_turn(story.writer).history_rewritten


def test_a_person_who_asks_where_there_is_nothing_to_do_closes_the_circuit(story):
    failed_three_times(story)
    maintainer(cut=None).compact(story.writer)
    assert maintainer().after_turn(story.writer).history_rewritten


def test_an_open_circuit_stops_handoffs_too(story):
    failed_three_times(story)
    scribe = Scripted()
    handing(story, scribe).after_turn(story.writer)
    assert scribe.prompts == []


def test_a_handoff_that_is_called_off_is_not_followed_by_a_compaction(story):
    def called_off(_prompt):
        raise CancelledError

    turns(story, 20, 10)
    advice = handing(story, Scripted(called_off)).after_turn(story.writer)
    assert (advice.do, "Auto-compaction failed" in (advice.error or "")) == ("nothing", True)
    assert kinds(story) == ["attempt"]


def test_a_handoff_to_a_session_that_is_there_already_falls_back_to_a_compaction(story):
    turns(story, 20, 10)
    SessionWriter(story.log, "next-1").message(user("theirs"))
    advice = handing(story, Scripted(lambda _: "so far")).after_turn(story.writer)
    assert (advice.session, advice.history_rewritten) == (None, True)


def test_skips_at_different_hooks_do_not_flood_the_log(story):
    turns(story, 5)
    for _ in range(3):
        maintainer().before_request(story.writer)
        maintainer().on_idle(story.writer, 1)
    assert decisions(story) == [
        ("skipped", "the context is small enough"),
        ("skipped", "idle compaction is off"),
    ]


def test_nothing_is_triggered_where_there_is_nothing_to_summarize(story):
    turns(story, 30)
    for _ in range(2):
        maintainer(cut=None).before_request(story.writer)
    assert decisions(story) == [("skipped", "nothing to summarize")]


def test_a_hook_that_calls_off_is_the_one_decision(story):
    turns(story, 20, 10)
    hooks = [Hooks(name="h", before_compaction=lambda _: Cancel("not now"))]
    Maintainer(compactor=compactor(hooks=hooks), now=lambda: 0).after_turn(story.writer)
    assert decisions(story) == [("cancelled", "not now")]


def test_an_idle_session_is_made_smaller_by_rewrites_first(story):
    calls(story, 30, 30)
    idle = Settings(idle_enabled=True, idle_threshold_tokens=50)
    advice = maintainer(settings=idle, rewrites=(Mask(keep_observations=0),)).on_idle(story.writer, 300)
    assert (advice.history_rewritten, kinds(story)) == (True, ["rewrite"])


def test_an_idle_session_may_go_on_with_a_larger_model(story):
    turns(story, 1_500)
    idle = Settings(idle_enabled=True, idle_threshold_tokens=50, promotion=LARGER.promotion)
    advice = maintainer(settings=idle, trigger=Trigger(percent=1)).on_idle(story.writer, 300)
    assert (advice.do, kinds(story)) == ("switch-model", [])
