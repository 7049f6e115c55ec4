"""Check the recommendations before and after each turn, and in an idle session."""

from __future__ import annotations

import pytest

from compaction.maintainer import REWRITES_WERE_ENOUGH, SMALL_ENOUGH, BranchSummaries, Maintainer, Settings
from compaction.policy.model import Restoring
from compaction.rewrites import Mask, Micro
from compaction.validation import InvalidInputError
from eventstore.node import PromptView
from eventstore.records import record_of
from projections.context.build import build_context
from tests.compaction.maintainer.maintained import decisions, kinds, maintainer
from tests.compaction.rewrites.contexts import calls
from tests.compaction.scripted import Scripted, compactor, long, policy, prompting, turns
from tests.support import sentences
from tests.support.events import events
from tests.support.local_http import LocalServer
from tests.support.talk import assistant, call, result, texts_of, user


def test_a_small_context_needs_nothing(story):
    turns(story, 5)
    recommendation = maintainer().after_turn(story.writer)
    assert (recommendation.do, recommendation.history_rewritten, kinds(story)) == ("nothing", False, [])


def test_a_context_over_the_threshold_is_compacted_after_the_turn(story):
    turns(story, 20, 10)
    recommendation = maintainer().after_turn(story.writer)
    assert (recommendation.history_rewritten, kinds(story)) == (True, ["compaction"])


def test_after_a_compaction_the_agent_goes_on_if_the_policy_says_so(story):
    turns(story, 20, 10)
    recommendation = maintainer(continuation="auto-continue").after_turn(story.writer)
    assert (recommendation.do, len(texts_of(build_context(story.log, "s")))) == ("continue", 4)


@pytest.mark.parametrize("continuation", ["auto-continue", "replay"])
@pytest.mark.parametrize("hook", ["before_request", "after_turn"])
def test_nothing_goes_on_by_itself_while_a_call_is_open(story, hook, continuation):
    turns(story, 20, 10)
    story.says(assistant(call("bash", "c1"), stop="toolUse"))
    recommendation = getattr(maintainer(continuation=continuation), hook)(story.writer)
    assert (recommendation.do, recommendation.history_rewritten, kinds(story)) == (
        "nothing",
        True,
        ["compaction"],
    )


def test_a_person_who_compacts_while_a_call_is_open_gets_nothing_between_it_and_its_result(story):
    story.says(user("go"), assistant(call("read", path="a.py")), result(long(9), tool="read"))
    turns(story, 20, 20)
    story.says(assistant(call("bash", "c2"), stop="toolUse"))
    maintainer(restoring=Restoring()).compact(story.writer)
    story.says(result("done", call_id="c2"))
    assert [part.role for part in build_context(story.log, "s").parts][-2:] == ["assistant", "toolResult"]


def test_nothing_goes_on_by_itself_where_that_is_off(story):
    turns(story, 20, 10)
    off = Settings(auto_continue=False)
    assert maintainer(settings=off, continuation="auto-continue").after_turn(story.writer).do == "nothing"


def test_before_a_request_nothing_is_appended_to_go_on_with(story):
    turns(story, 20, 10)
    assert maintainer(continuation="auto-continue").before_request(story.writer).do == "nothing"


def test_rewrites_are_tried_before_a_model_is_asked(story):
    calls(story, 30, 30)
    recommendation = maintainer(rewrites=(Mask(keep_observations=0),)).after_turn(story.writer)
    assert (recommendation.history_rewritten, kinds(story)) == (True, ["rewrite"])


def test_rewrites_that_are_not_enough_are_followed_by_a_compaction(story):
    calls(story, 30)
    turns(story, 30, 10)
    maintainer(rewrites=(Mask(keep_observations=0),)).after_turn(story.writer)
    assert kinds(story) == ["rewrite", "compaction"]


def test_rewrites_of_every_request_do_not_wait_for_the_threshold(story):
    calls(story, *[31] * 4)
    recommendation = maintainer(
        rewrites=(Micro(keep=3),), before_requests=True, trigger=compactor().policy.trigger
    ).before_request(story.writer)
    assert recommendation.history_rewritten
    assert kinds(story)[0] == "rewrite"


@pytest.mark.parametrize("stop", ["aborted", "error"])
def test_an_answer_that_did_not_go_through_is_no_turn(story, stop):
    turns(story, 20, 10)
    story.says(user("next"), assistant("half", stop=stop))
    recommendation = maintainer(continuation="auto-continue").after_turn(story.writer)
    assert (recommendation.do, kinds(story)) == ("nothing", [])


@pytest.mark.parametrize("off", [Settings(enabled=False), Settings(strategy="off")])
def test_off_stops_the_automatic_paths_and_not_a_person(story, off):
    turns(story, 20, 10)
    quiet = maintainer(settings=off)
    quiet.after_turn(story.writer)
    quiet.on_error(story.writer, "prompt is too long")
    assert kinds(story) == []
    assert quiet.compact(story.writer).outcome == "compacted"


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


def test_an_idle_session_is_made_smaller_by_rewrites_first(story):
    calls(story, 30, 30)
    idle = Settings(idle_enabled=True, idle_threshold_tokens=50)
    recommendation = maintainer(settings=idle, rewrites=(Mask(keep_observations=0),)).on_idle(
        story.writer, 300
    )
    assert (recommendation.history_rewritten, kinds(story)) == (True, ["rewrite"])


def test_every_decision_says_how_large_the_context_was_and_where_the_threshold_is(story):
    turns(story, 20, 10)
    maintainer().after_turn(story.writer)
    found = next(event for event in events(story.log, "s") if event.kind == "decision")
    numbers = record_of("decision", found.body).numbers
    assert (numbers["tokens"], numbers["threshold"]) == (60, 50)


def test_nothing_is_triggered_where_there_is_nothing_to_summarize(story):
    turns(story, 30)
    for _ in range(2):
        maintainer(cut=None).before_request(story.writer)
    ((outcome, reason),) = decisions(story)
    assert (outcome, "'small'" in reason) == ("skipped", True)


def test_settings_lead_over_the_policy(story):
    turns(story, 20, 10)
    high = maintainer(settings=Settings(threshold_tokens=60))
    assert high.after_turn(story.writer).reason == SMALL_ENOUGH.reason
    low = maintainer(settings=Settings(threshold_tokens=59))
    assert low.after_turn(story.writer).history_rewritten


def test_settings_that_the_window_is_too_small_for_are_reported_at_once():
    with pytest.raises(InvalidInputError) as refused:
        maintainer(settings=Settings(reserve_tokens=200_000))
    (fault,) = refused.value.issues
    assert (fault.where, sentences.numbers(fault.problem)) == ("reserve_tokens", [200_000, 200_000])


def test_a_person_asks_by_the_settings_too(story):
    turns(story, 20, 10)
    wide = maintainer(settings=Settings(keep_recent_tokens=40))
    assert wide.compact(story.writer).plan.cut.first_kept == "e2"


def test_a_measured_answer_from_before_the_compaction_does_not_fire_again(story):
    turns(story, 20)
    story.says(user(long(5)), assistant(long(10), tokens=180_000))
    assert maintainer().after_turn(story.writer).history_rewritten
    assert maintainer().after_turn(story.writer).reason == SMALL_ENOUGH.reason


def test_what_rewrites_saved_since_the_measured_answer_counts_unless_that_is_off(story):
    calls(story, 30)
    story.says(assistant("done", tokens=60))
    rewrites = (Mask(keep_observations=0),)
    saved = maintainer(rewrites=rewrites).after_turn(story.writer)
    assert saved.reason == REWRITES_WERE_ENOUGH
    turned_off = maintainer(settings=Settings(subtracts_savings=False), cut=None).after_turn(story.writer)
    assert (turned_off.tokens, "'small'" in turned_off.reason) == (60, True)


def test_the_idle_session_is_left_alone_up_to_its_threshold(story):
    turns(story, 20, 10)
    idle = maintainer(settings=Settings(idle_enabled=True, idle_threshold_tokens=60))
    assert idle.on_idle(story.writer, 300).reason == SMALL_ENOUGH.reason


def test_the_harnesss_prompt_and_tools_stand_before_a_live_prefix(story):
    turns(story, 20, 10)
    scribe = Scripted(lambda _: "so far")
    sent = PromptView(system="You are pi.", tools=b"[]")
    live = policy(prompting=prompting(shape="live-prefix", turn_prefix=""))
    Maintainer(compactor=compactor(scribe, live), now=lambda: 0, sent_before=sent).after_turn(story.writer)
    assert (scribe.prompts[0].system, scribe.prompts[0].tools) == ("You are pi.", b"[]")


@pytest.mark.parametrize(("enabled", "asked"), [(True, 1), (False, 0)])
def test_the_navigator_summarizes_branches_if_that_is_set(story, enabled, asked):
    turns(story, 20, 10)
    scribe = Scripted()
    branches = BranchSummaries(enabled=enabled, reserve_tokens=100)
    navigator = maintainer(scribe, settings=Settings(branch_summary=branches)).navigator
    navigator.go(story.writer, "e2")
    assert (len(scribe.prompts), navigator.reserve) == (asked, 100)


def test_what_a_person_asks_for_never_goes_on_by_itself(story):
    turns(story, 20, 10)
    done = maintainer(continuation="auto-continue").compact(story.writer)
    assert (done.continued.record, kinds(story)) == (None, ["compaction"])


def test_after_the_threshold_no_request_is_sent_again(story):
    turns(story, 20, 10)
    assert maintainer().after_turn(story.writer).do == "nothing"


@pytest.mark.slow
def test_a_service_that_is_set_writes_the_summary(story, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    turns(story, 20, 10)
    with LocalServer(lambda exchange: exchange.answer(200, b'{"summary": "theirs"}')) as server:
        maintainer(settings=Settings(remote_endpoint=server.url)).after_turn(story.writer)
    assert "theirs" in texts_of(build_context(story.log, "s"))[0]


def test_where_the_service_fails_those_behind_it_are_asked(story, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    turns(story, 20, 10)
    with LocalServer(lambda exchange: exchange.answer(400, b"no")) as server:
        maintainer(settings=Settings(remote_endpoint=server.url)).after_turn(story.writer)
    assert texts_of(build_context(story.log, "s"))[0].startswith("so far")
