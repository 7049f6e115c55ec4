"""A compaction that the model asks for by calling a tool."""

from __future__ import annotations

from compaction.cuts import LastMessages
from compaction.maintaining import Settings
from eventstore.records import CustomMessage
from projections.context import build_context
from projections.renderers.anthropic import render
from tests.compaction.maintaining.maintained import LARGER, fails, handing, kinds, maintainer
from tests.compaction.scripted import Scripted, turns
from tests.support.talk import assistant, call, result, texts_of, user

BOTH = assistant(call("read", "c1"), call("compact", "c2"))
NOTHING_KEPT = LastMessages(messages=0)


def repairs(story):
    return [repair.rule for repair in render(build_context(story.log, "s"), model="claude-x").repairs]


def test_a_model_may_ask_for_a_compaction_and_its_call_finds_its_result(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact", "c9", instructions="mind the tests")))
    scribe = Scripted(lambda _: "so far")
    advice = maintainer(scribe).after_turn(story.writer)
    assert (advice.do, advice.history_rewritten) == ("nothing", True)
    assert texts_of(build_context(story.log, "s"))[-2:] == ["compact", "[Compacted. History summarized.]"]
    assert any("mind the tests" in prompt.text for prompt in scribe.prompts)


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
    why = "all that is not summarized fits into the 20 tokens that are kept"
    assert texts_of(build_context(story.log, "s"))[-1] == f"[Not compacted: {why}]"


def test_a_model_that_asks_in_vain_is_told_why(story):
    turns(story, 20, 10)
    story.says(assistant(call("compact")))
    advice = maintainer(Scripted(fails)).after_turn(story.writer)
    said = "Auto-compaction failed: summarizer scripted: no such model"
    assert (advice.do, advice.error) == ("nothing", said)
    assert texts_of(build_context(story.log, "s"))[-1] == f"[Not compacted: {said}]"


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
    asked = maintainer(cut=NOTHING_KEPT)
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

    advice = maintainer(Scripted(too_late)).after_turn(story.writer)
    assert (advice.history_rewritten, kinds(story).count("compaction")) == (True, 1)
    assert texts_of(build_context(story.log, "s"))[-2:] == ["compact", "[Compacted. History summarized.]"]


def test_a_call_on_a_branch_that_somebody_has_left_gets_no_result_elsewhere(story):
    first, *_ = turns(story, 20, 10)
    story.says(assistant(call("compact")))

    def leaves(_prompt):
        story.add(CustomMessage(custom_type="x", content="elsewhere"), parent=first)
        return "so far"

    maintainer(Scripted(leaves)).after_turn(story.writer)
    assert texts_of(build_context(story.log, "s"))[-1] == "elsewhere"
