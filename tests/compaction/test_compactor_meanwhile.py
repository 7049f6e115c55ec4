"""Compacting while others append: nothing of theirs is lost, and nothing is compacted twice."""

from __future__ import annotations

import pytest

from compaction.cuts import LastMessages
from compaction.hooks import Hooks, SuppliedSummary
from compaction.plan import COMPACTED
from compaction.policy.model import Restoring
from eventstore.errors import VersionConflictError
from eventstore.records import CustomMessage
from eventstore.writing import SessionWriter
from projections.context.build import build_context
from tests.compaction.scripted import (
    Scripted,
    compactor,
    complete,
    kinds,
    long,
    policy,
    record,
    turns,
)
from tests.support.events import events
from tests.support.talk import assistant, call, result, texts_of, user


def test_messages_that_come_while_a_summary_is_made_are_kept(story):
    turns(story, 20, 10)
    said = []

    def late(_prompt):
        if not said:
            said.append(story.says({"role": "user", "content": "late"}))
        return "so far"

    done = compactor(Scripted(late)).compact(story.writer)
    assert done.outcome == "compacted"
    assert texts_of(build_context(story.log, "s")) == ["so far", long(10), long(10), "late"]


def test_of_two_compactions_at_once_the_second_finds_nothing_left_to_do(story):
    turns(story, 20, 10)

    def overtaken(_prompt):
        compactor(Scripted(lambda _: "theirs")).compact(story.writer)
        return "ours"

    done = compactor(Scripted(overtaken)).compact(story.writer)
    assert (done.outcome, kinds(story).count("compaction")) == ("nothing", 1)
    assert texts_of(build_context(story.log, "s"))[0] == "theirs"


def test_a_summary_that_comes_too_late_is_kept_as_an_attempt_with_its_requests(story):
    turns(story, 20, 10)

    def overtaken(_prompt):
        compactor(Scripted(lambda _: "theirs")).compact(story.writer)
        return "ours"

    done = compactor(Scripted(overtaken)).compact(story.writer, reason="threshold")
    kept = record(story, "attempt")
    assert [event.id for event in events(story.log, "s") if event.kind == "attempt"] == done.decisions
    assert (kept.error, kept.request["reason"]) == (COMPACTED, "threshold")
    assert [each["answer"] for each in kept.request["requests"]] == ["ours", "ours"]
    assert kept.request["usage"]["input"] == 180


def test_a_summary_that_cost_nothing_and_comes_too_late_leaves_no_attempt(story):
    turns(story, 20, 10)

    def overtaken(_plan):
        compactor(Scripted(lambda _: "theirs")).compact(story.writer)
        return SuppliedSummary(summary="mine")

    done = compactor(hooks=[Hooks(name="h", before_compaction=overtaken)]).compact(story.writer)
    assert (done.outcome, "attempt" in kinds(story)) == ("nothing", False)


def test_a_compaction_gets_through_however_often_somebody_is_faster(story):
    turns(story, 20, 10)
    new_id, others, said = story.writer._new_id, SessionWriter(story.log, "s"), []

    def overtaken_twenty_times():
        if len(said) < 20:
            said.append(others.message(user("me first")))
        return new_id()

    story.writer._new_id = overtaken_twenty_times
    done = compactor(Scripted(lambda _: "so far")).compact(story.writer)
    assert (done.outcome, texts_of(build_context(story.log, "s")).count("me first")) == ("compacted", 20)


def test_a_call_that_comes_while_a_summary_is_made_is_not_parted_from_its_result(story):
    story.says(user("go"), assistant(call("read", path="a.py")), result(long(9), tool="read"))
    turns(story, 20, 20)

    def calls_something(_prompt):
        story.says(assistant(call("bash", "c2"), stop="toolUse"))
        return "so far"

    chosen = policy(restoring=Restoring(), continuation="auto-continue")
    compactor(Scripted(calls_something), chosen).compact(story.writer, continues=True)
    story.says(result("done", call_id="c2"))
    assert [part.role for part in build_context(story.log, "s").parts][-2:] == ["assistant", "toolResult"]


def test_a_call_that_gets_its_result_while_a_summary_is_made_is_followed_by_what_goes_on(story):
    turns(story, 20, 10)
    story.says(assistant(call("bash", "c1"), stop="toolUse"))

    def answered(_prompt):
        story.says(result("done", call_id="c1"))
        return "so far"

    done = compactor(Scripted(answered), policy(continuation="auto-continue")).compact(
        story.writer, continues=True
    )
    assert done.continued.record is not None


@pytest.mark.slow
def test_where_others_append_all_the_time_it_gives_up_and_keeps_the_summary_as_an_attempt(story):
    turns(story, 20, 10)
    new_id, others = story.writer._new_id, SessionWriter(story.log, "s")

    def meanwhile():
        if record_is_due():
            others.message(user("faster"))
        return new_id()

    def record_is_due():
        return not any(event.kind == "attempt" for event in events(story.log, "s"))

    story.writer._new_id = meanwhile
    with pytest.raises(VersionConflictError) as refused:
        compactor(Scripted(lambda _: "so far")).compact(story.writer)
    assert refused.value.tries == 100
    assert record(story, "attempt").request["requests"][0]["answer"] == "so far"


def test_a_branch_that_was_left_meanwhile_is_not_compacted(story):
    first, *_ = turns(story, 20, 10)

    def left(prompt):
        story.add(CustomMessage(custom_type="x", content="elsewhere"), parent=first)
        return complete(prompt)

    assert compactor(Scripted(left)).compact(story.writer).outcome == "nothing"
    assert "compaction" not in kinds(story)


def test_another_leaf_can_be_compacted(story):
    *_, last = turns(story, 20, 10)
    story.add(CustomMessage(custom_type="x", content="elsewhere"), parent="e1")
    done = compactor(Scripted(lambda _: "so far")).compact(story.writer, leaf=last)
    assert story[done.events[0]].parent == last


def test_messages_that_come_while_a_summary_is_made_are_kept_where_nothing_else_is(story):
    turns(story, 20, 10)
    said = []

    def late(_prompt):
        if not said:
            said.extend(story.says(user("late"), assistant("answer")))
        return "so far"

    compactor(Scripted(late), policy(cut=LastMessages(messages=0))).compact(story.writer)
    assert texts_of(build_context(story.log, "s")) == ["so far", "late", "answer"]
    assert record(story).first_kept_entry_id == said[0]


def test_a_request_that_was_answered_meanwhile_is_not_repeated(story):
    turns(story, 30)
    story.says(user(long(30)))
    said = []

    def late(_prompt):
        if not said:
            said.extend(story.says(assistant("done")))
        return "so far"

    replay = policy(continuation="replay", cut=LastMessages(messages=0))
    done = compactor(Scripted(late), replay).compact(story.writer, reason="threshold", continues=True)
    assert (done.continued.branch, record(story).tokens_before) == ("mid-task", 91)


def test_what_is_prepared_appends_nothing(story):
    turns(story, 20, 10)
    before = events(story.log, "s")
    compactor(hooks=[Hooks(name="h", before_compaction=lambda _: 1 / 0)]).prepare(story.writer)
    assert events(story.log, "s") == before


def test_what_was_prepared_is_carried_out_with_its_own_cut_though_more_was_said_since(story):
    turns(story, 20, 10)
    compacts = compactor(Scripted(lambda _: "so far"))
    prepared = compacts.prepare(story.writer)
    story.says(user(long(30)))
    done = compacts.execute(story.writer, prepared)
    assert (done.plan, texts_of(build_context(story.log, "s"))) == (
        prepared.plan,
        ["so far", long(10), long(10), long(30)],
    )


def test_what_was_prepared_for_a_leaf_is_not_carried_out_once_somebody_has_gone_on_from_it(story):
    *_, last = turns(story, 20, 10)
    compacts = compactor(Scripted(lambda _: "so far"))
    since = len(events(story.log, "s"))
    story.says(user("late"))
    prepared = compacts.prepare(story.writer, leaf=last, since=since)
    assert compacts.execute(story.writer, prepared).outcome == "nothing"
    assert texts_of(build_context(story.log, "s"))[-1] == "late"


def test_of_two_compactions_of_one_leaf_the_second_finds_nothing_left_to_do(story):
    *_, last = turns(story, 20, 10)

    def overtaken(prompt):
        compactor(Scripted(lambda _: "theirs")).compact(story.writer, leaf=last)
        return complete(prompt)

    done = compactor(Scripted(overtaken)).compact(story.writer, leaf=last)
    assert (done.outcome, kinds(story).count("compaction")) == ("nothing", 1)


def test_another_leaf_is_compacted_though_the_session_goes_on_elsewhere(story):
    *_, last = turns(story, 20, 10)
    story.add(CustomMessage(custom_type="x", content="elsewhere"), parent="e1")

    def late(prompt):
        story.says(user("late"))
        return complete(prompt)

    assert compactor(Scripted(late)).compact(story.writer, leaf=last).outcome == "compacted"
