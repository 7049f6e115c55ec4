"""A compaction that the model asks for by calling a tool."""

from __future__ import annotations

import pytest

from compaction.branching.undo import undo
from compaction.cuts import LastMessages
from compaction.maintainer import Settings, failure_message
from compaction.newest_answer import DONE, answer_calls, find_compact_calls
from compaction.policy.model import Restoring
from compaction.triggers import Threshold
from eventstore.records import CustomMessage
from projections.context.build import build_context
from projections.requests.anthropic import render
from tests.compaction.maintainer.maintained import (
    LARGER,
    NO_MODEL,
    cancels,
    fails,
    handing,
    kinds,
    maintainer,
)
from tests.compaction.scripted import Scripted, long, turns
from tests.support import sentences
from tests.support.events import events
from tests.support.talk import assistant, call, result, texts_of, user

BOTH = assistant(call("read", "c1"), call("compact", "c2"))
NOTHING_KEPT = LastMessages(messages=0)


def repairs(story):
    return [repair.rule for repair in render(build_context(story.log, "s"), model="claude-x").repairs]


def test_a_model_may_ask_for_a_compaction_and_its_call_finds_its_result(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact", "c9", instructions="mind the tests")))
    scribe = Scripted(lambda _: "so far")
    recommendation = maintainer(scribe).after_turn(story.writer)
    assert (recommendation.do, recommendation.history_rewritten) == ("nothing", True)
    assert texts_of(build_context(story.log, "s"))[-2:] == ["compact", "[Compacted. History summarized.]"]
    assert any("mind the tests" in prompt.text for prompt in scribe.prompts)


def test_a_compaction_that_a_model_asks_for_waits_for_the_calls_beside_it(story):
    turns(story, 20, 10)
    story.says(BOTH)
    recommendation = maintainer(cut=NOTHING_KEPT).after_turn(story.writer)
    assert (recommendation.do, kinds(story)) == ("nothing", [])


def test_a_compaction_that_a_model_asks_for_among_other_calls_leaves_no_orphan(story):
    turns(story, 20, 10)
    story.says(BOTH, result("it", call_id="c1"))
    maintainer(cut=NOTHING_KEPT).after_turn(story.writer)
    assert (kinds(story), repairs(story)) == (["compaction"], [])


def test_a_person_who_has_gone_on_is_not_interrupted_by_what_the_model_asked_for(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact", "c9")), user("stop, do something else"))
    maintainer(cut=NOTHING_KEPT, trigger=Threshold(tokens=100_000)).after_turn(story.writer)
    assert kinds(story) == []
    assert texts_of(build_context(story.log, "s"))[-1] == "stop, do something else"


def test_a_compaction_that_a_model_asked_for_is_made_once(story):
    turns(story, 20, 10)
    story.says(BOTH, result("it", call_id="c1"))
    for _ in range(2):
        maintainer(cut=NOTHING_KEPT).after_turn(story.writer)
    assert kinds(story) == ["compaction"]


def test_a_model_that_asks_where_there_is_nothing_to_do_is_told_so(story):
    story.says(user("hi"), assistant(call("compact")))
    recommendation = maintainer().after_turn(story.writer)
    assert sentences.numbers(recommendation.reason) == [20]
    assert texts_of(build_context(story.log, "s"))[-1] == f"[Not compacted: {recommendation.reason}]"


def test_a_model_that_asks_in_vain_is_told_why(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    recommendation = maintainer(Scripted(fails)).after_turn(story.writer)
    said = failure_message("tool", str(NO_MODEL))
    assert (recommendation.do, recommendation.error) == ("nothing", said)
    assert texts_of(build_context(story.log, "s"))[-1] == f"[Not compacted: {said}]"


def test_the_call_has_its_result_before_the_compaction_and_in_an_append_of_its_own(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    maintainer().after_turn(story.writer)
    came = [event for event in events(story.log, "s")[4:] if event.is_entry]
    assert [event.role or event.kind for event in came] == ["assistant", "toolResult", "compactionSummary"]
    undo(story.writer)
    assert texts_of(build_context(story.log, "s"))[-2:] == ["compact", DONE]


def test_files_that_are_shown_again_stand_behind_the_result(story):
    reads = assistant(call("read", path="a.py"), stop="toolUse")
    story.says(user("go"), reads, result(long(9), tool="read"), assistant("read"))
    turns(story, 20, 20)
    story.says(assistant(call("compact", "c9"), stop="toolUse"))
    maintainer(restoring=Restoring()).after_turn(story.writer)
    parts = build_context(story.log, "s").parts
    assert [part.role for part in parts][-3:] == ["assistant", "toolResult", "custom"]
    assert repairs(story) == []


@pytest.mark.parametrize(
    "answer", [fails, cancels, lambda _: long(200)], ids=["fails", "cancelled", "no-gain"]
)
def test_where_nothing_comes_of_it_the_result_is_told_otherwise_and_the_log_keeps_what_it_said(story, answer):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    recommendation = maintainer(Scripted(answer)).after_turn(story.writer)
    answer = f"[Not compacted: {recommendation.error or recommendation.reason}]"
    assert texts_of(build_context(story.log, "s"))[-2:] == ["compact", answer]
    (given,) = [event for event in events(story.log, "s") if event.role == "toolResult"]
    assert DONE.encode() in given.body


def test_an_error_in_a_program_leaves_no_result_that_is_untrue(story):
    def breaks(_prompt):
        raise ValueError("no such thing")

    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    with pytest.raises(ValueError, match="no such thing"):
        maintainer(Scripted(breaks)).after_turn(story.writer)
    assert texts_of(build_context(story.log, "s"))[-1] == "[Not compacted: no such thing]"


@pytest.mark.parametrize("answer", [fails, lambda _: "so far"])
def test_all_that_was_appended_for_a_call_is_reported(story, answer):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    before = len(events(story.log, "s"))
    recommendation = maintainer(Scripted(answer)).after_turn(story.writer)
    assert recommendation.events == [event.id for event in events(story.log, "s")][before:]


def test_calls_that_somebody_has_answered_meanwhile_get_no_second_result(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    asked = find_compact_calls(build_context(story.log, "s").parts)
    assert asked is not None
    assert len(answer_calls(story.writer, asked)) == 1
    assert answer_calls(story.writer, asked) == []


def test_a_model_may_ask_where_automatic_compaction_is_off(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    assert maintainer(settings=Settings(enabled=False)).after_turn(story.writer).history_rewritten


def test_a_model_that_asks_gets_a_compaction_and_neither_a_larger_model_nor_a_handoff(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    promoting = Settings(strategy="handoff", promotion=LARGER.promotion)
    handing(story, Scripted(lambda _: "so far"), settings=promoting).after_turn(story.writer)
    assert kinds(story) == ["compaction"]


def test_all_calls_that_ask_for_it_in_one_answer_get_one_compaction_and_a_result_each(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact", "c1", instructions="mind the tests"), call("compact", "c2")))
    asked = maintainer()
    for _ in range(2):
        asked.after_turn(story.writer)
    assert texts_of(build_context(story.log, "s"))[-2:] == ["[Compacted. History summarized.]"] * 2
    assert (kinds(story), repairs(story)) == (["compaction"], [])


def test_where_two_are_told_of_the_same_call_it_gets_one_compaction_and_one_result(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))

    def too_late(_prompt):
        maintainer().after_turn(story.writer)
        return "so far"

    recommendation = maintainer(Scripted(too_late)).after_turn(story.writer)
    assert (recommendation.history_rewritten, kinds(story).count("compaction")) == (True, 1)
    assert texts_of(build_context(story.log, "s"))[-2:] == ["compact", "[Compacted. History summarized.]"]


def test_a_call_on_a_branch_that_somebody_has_left_gets_no_result_elsewhere(story):
    first, *_ = turns(story, 20, 10)
    story.says(assistant(call("compact")))

    def leaves(_prompt):
        story.add(CustomMessage(custom_type="x", content="elsewhere"), parent=first)
        return "so far"

    maintainer(Scripted(leaves)).after_turn(story.writer)
    assert texts_of(build_context(story.log, "s"))[-1] == "elsewhere"
