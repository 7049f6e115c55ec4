"""Leaving a branch: where a drawing, a budget or a missing summary would lose what was done there."""

from __future__ import annotations

from compaction.branching.move import Navigator
from compaction.part import Limits
from compaction.summarizers.chain import SummarizerChain
from compaction.triggers import DEFAULT_RESERVE
from eventstore.records import record_of
from projections.tokens import counter
from tests.compaction.scripted import Scripted, long
from tests.support.events import events
from tests.support.talk import assistant, call, result, user


def gone(story, scribe, target="e1", *, tokens=100_000):
    chain = SummarizerChain(summarizers=[scribe], wait=lambda _: None)
    limits = Limits(window=DEFAULT_RESERVE + tokens)
    navigator = Navigator(limits=limits, tokens=counter("utf16/4"), chain=chain, reserve=DEFAULT_RESERVE)
    return navigator.go(story.writer, target)


def summary(story):
    found = next(event for event in events(story.log, "s") if event.kind == "branch_summary")
    return found, record_of("branch_summary", found.body)


def test_a_summary_on_the_branch_that_was_left_would_never_be_seen_again(story):
    story.says(assistant("the trunk"), user("another way"), assistant("worse"))
    gone(story, Scripted(lambda _: "It was worse."))
    event, made = summary(story)
    assert (event.parent, made.from_id, made.left) == ("e1", "e1", "e3")


def test_files_of_messages_beyond_the_budget_would_not_be_listed(story):
    story.says(assistant("the trunk"), assistant(call("edit", "c1", path="early.py")))
    story.says(result(long(50), tool="edit", call_id="c1"), user(long(80)))
    scribe = Scripted(lambda _: "It was worse.")
    gone(story, scribe, tokens=100)
    assert [part.id for part in scribe.prompts[0].parts] == ["e4"]
    assert summary(story)[1].details.modified_files == ["early.py"]


def test_results_left_out_would_leave_calls_without_an_outcome_in_the_summary(story):
    story.says(assistant("the trunk"), assistant(call("bash", "c1", command="make")))
    story.says(result("all tests pass", call_id="c1"))
    scribe = Scripted()
    gone(story, scribe)
    assert "[Tool result]: all tests pass" in scribe.prompts[0].text
