"""Going elsewhere with hooks, and with a summary that somebody writes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from compaction.branching.move import GREW, NOTHING_TO_SUMMARIZE, Navigator, go
from compaction.branching.move_plan import Move
from compaction.branching.undo import undo
from compaction.composing import record_compaction
from compaction.hooks import Cancel, Hooks, SuppliedSummary
from compaction.part import Limits
from compaction.plan import LEFT
from compaction.summarizers import SummarizerError
from compaction.summarizers.chain import SummarizerChain, SummarizersFailedError
from compaction.summarizers.recorded import RecordedSummarizer
from eventstore.records import (
    Custom,
    Label,
    ModelChange,
    Rewrite,
    TextReplacement,
    ThinkingLevelChange,
    Undone,
    record_of,
)
from projections.context.build import build_context
from projections.tokens import counter
from tests.compaction.scripted import Scripted, kinds
from tests.support.events import events
from tests.support.talk import assistant, texts_of, user


@pytest.fixture
def branched(story):
    """A session that stands on a branch of two entries behind `e2`."""
    story.says(user("the order"), assistant("done"), user("another way"), assistant("it is worse"))
    return story


def navigator(summarizer: Any = None, *hooks: Hooks) -> Navigator:
    chain = SummarizerChain(summarizers=[summarizer], wait=lambda _: None) if summarizer else None
    return Navigator(limits=Limits(window=200_000), tokens=counter("utf16/4"), chain=chain, hooks=hooks)


def newest(story):
    event = events(story.log, story.session)[-1]
    return record_of(event.kind, event.body)


class Answering:
    """A summarizer that does something before it answers."""

    name = "answering"

    def __init__(self, act: Any) -> None:
        self._act = act

    def summarize(self, prompt, *, is_cancelled):
        self._act()
        return Scripted(lambda _: "worse").summarize(prompt, is_cancelled=is_cancelled)


def refuse(*_: Any) -> Any:
    raise SummarizerError("none", "no")


class TestSummaries:
    def test_what_is_left_is_summarized_at_the_target(self, branched):
        gone = navigator(Scripted(lambda _: "## Goal\nworse")).go(branched.writer, "e2")
        assert (gone.outcome, len(gone.events)) == ("moved", 1)
        assert texts_of(build_context(branched.log, "s"))[-1].endswith("## Goal\nworse")

    def test_the_record_says_what_was_asked_and_what_it_cost(self, branched):
        navigator(Scripted()).go(branched.writer, "e2")
        request = newest(branched).request
        assert (request["model"], request["usage"]["input"]) == ("scribe", 90)
        assert request["requests"][0]["template"] == "branch"

    def test_sections_that_it_lacks_are_reported_and_recorded(self, branched):
        gone = navigator(Scripted(lambda _: "## Goal")).go(branched.writer, "e2")
        assert gone.missing == newest(branched).request["missingSections"]
        assert "Next Steps" in gone.missing

    @pytest.mark.parametrize("window", [1, 8_000, 16_384])
    def test_a_small_window_is_no_reason_to_ask_nobody(self, branched, window):
        scribe = Scripted()
        small = msgspec.structs.replace(navigator(scribe), limits=Limits(window=window))
        gone = small.go(branched.writer, "e2")
        assert (len(scribe.prompts), gone.reason) == (1, "")
        assert newest(branched).kind == "branch_summary"

    def test_where_nothing_can_be_summarized_the_reason_is_reported(self, branched):
        branched.writer.append(Label(target_id="e1", label="here"), parent="e2")
        scribe = Scripted()
        gone = navigator(scribe).go(branched.writer, "e2")
        assert (gone.outcome, scribe.prompts) == ("moved", [])
        assert gone.reason == NOTHING_TO_SUMMARIZE

    def test_one_that_is_given_is_not_asked_for(self, branched):
        scribe = Scripted()
        navigator(scribe).go(branched.writer, "e2", summary="given")
        assert scribe.prompts == []
        assert "given" in newest(branched).summary

    def test_without_an_asker_a_move_is_a_move(self, branched):
        navigator().go(branched.writer, "e2")
        assert newest(branched).kind == "leaf_moved"

    def test_where_nothing_that_says_anything_is_left_nobody_is_asked(self, branched):
        branched.add(Label(target_id="e4", label="here"))
        scribe = Scripted()
        gone = navigator(scribe).go(branched.writer, "e4")
        assert (scribe.prompts, gone.move.stays, gone.events) == ([], True, [])

    def test_who_finds_somebody_faster_looks_again(self, branched, interrupt):
        story = interrupt(branched)
        assert navigator().go(story.writer, "e2").outcome == "moved"
        assert texts_of(build_context(branched.log, "s"))[-1] == "done"

    def test_a_label_is_the_summarys(self, branched):
        gone = navigator(Scripted()).go(branched.writer, "e2", label="tried")
        assert newest(branched) == Label(target_id=gone.events[0], label="tried")

    def test_a_request_that_fails_leaves_the_tree_as_it_was_and_an_attempt(self, branched):
        with pytest.raises(SummarizersFailedError):
            navigator(Answering(refuse)).go(branched.writer, "e2")
        assert texts_of(build_context(branched.log, "s"))[-1] == "it is worse"
        assert newest(branched).request["reason"] == "branch"

    @pytest.mark.parametrize(
        ("act", "reason"),
        [
            (lambda story: story.says(user("more")), GREW),
            (
                lambda story: record_compaction(story.writer, summary="so far", first_kept="e4"),
                GREW,
            ),
            (lambda story: go(story.writer, "e2"), LEFT),
            (
                lambda story: navigator(Scripted(lambda _: "theirs")).go(story.writer, "e2"),
                LEFT,
            ),
        ],
    )
    def test_where_what_is_left_is_another_meanwhile_the_summary_would_not_be_of_it(
        self, branched, act, reason
    ):
        gone = navigator(Answering(lambda: act(branched))).go(branched.writer, "e2")
        assert (gone.outcome, gone.reason, gone.events) == ("stale", reason, [])
        assert newest(branched).kind == "attempt"

    def test_who_undoes_something_there_changes_what_is_left(self, branched):
        rewrite = branched.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text="[cut]")]))
        undoing = Answering(lambda: branched.add(Undone(target_id=rewrite)))
        gone = navigator(undoing).go(branched.writer, "e2")
        assert (gone.outcome, gone.reason) == ("stale", GREW)

    @pytest.mark.parametrize(
        "record",
        [
            Label(target_id="e1", label="here"),
            ModelChange(provider="p", model_id="m"),
            ThinkingLevelChange(thinking_level="high"),
            Rewrite(reason="prune", targets=[TextReplacement(target="e3", text="[cut]")]),
            Custom(custom_type="notes"),
        ],
        ids=lambda record: record.kind,
    )
    def test_what_tells_a_model_nothing_does_not_hinder_the_move(self, branched, record):
        gone = navigator(Answering(lambda: branched.add(record))).go(branched.writer, "e2")
        assert (gone.outcome, newest(branched).kind) == ("moved", "branch_summary")

    def test_an_answer_that_came_too_late_is_kept_with_its_attempt(self, branched):
        saying = Answering(lambda: branched.says(user("one more thing")))
        gone = navigator(saying).go(branched.writer, "e2")
        assert newest(branched).request["requests"][0]["answer"] == "worse"
        assert newest(branched).error == gone.reason

    def test_a_summary_that_is_given_is_not_put_on_another_branch(self, branched):
        hooks = Hooks(name="h", before_move=lambda _: branched.says(user("more")) and None)
        gone = navigator(None, hooks).go(branched.writer, "e2", summary="given")
        assert (gone.outcome, "attempt" in kinds(branched)) == ("stale", False)

    def test_an_answer_can_be_had_again_from_the_log(self, branched):
        navigator(Scripted()).go(branched.writer, "e2")
        first = newest(branched).summary
        undo(branched.writer)
        navigator(RecordedSummarizer(branched.log)).go(branched.writer, "e2")
        assert newest(branched).summary == first


class TestHooks:
    def test_one_may_call_a_move_off(self, branched):
        def before(_: Move) -> Cancel:
            return Cancel("not now")

        gone = navigator(Scripted(), Hooks(name="h", before_move=before)).go(branched.writer, "e2")
        assert (gone.outcome, gone.reason, gone.events) == ("cancelled", "not now", [])
        assert (newest(branched).outcome, newest(branched).reason) == ("cancelled", "not now")

    def test_one_may_supply_the_summary(self, branched):
        scribe = Scripted()
        hooks = Hooks(name="h", before_move=lambda _: SuppliedSummary(summary="as a hook tells it"))
        navigator(scribe, hooks).go(branched.writer, "e2")
        assert scribe.prompts == []
        assert "as a hook tells it" in newest(branched).summary
        assert newest(branched).from_extension

    def test_what_one_keeps_with_its_summary_is_in_the_record(self, branched):
        hooks = Hooks(name="h", before_move=lambda _: SuppliedSummary(summary="s", details={"k": 1}))
        navigator(Scripted(), hooks).go(branched.writer, "e2")
        assert newest(branched).extension_details == {"k": 1}

    @pytest.mark.parametrize(
        ("summarizer", "summary", "requested"),
        [(None, None, False), (None, "typed", False), (Scripted(), None, True), (Scripted(), "typed", False)],
    )
    def test_it_is_told_whether_a_summary_is_requested(self, branched, summarizer, summary, requested):
        told: list[bool] = []
        hooks = Hooks(name="h", before_move=lambda move: told.append(move.summary_requested))
        navigator(summarizer, hooks).go(branched.writer, "e2", summary=summary)
        assert told == [requested]

    def test_a_summary_that_nobody_requested_is_not_used(self, branched):
        hooks = Hooks(name="h", before_move=lambda _: SuppliedSummary(summary="as a hook tells it"))
        gone = navigator(None, hooks).go(branched.writer, "e2")
        assert (gone.is_summarized, kinds(branched)[-1]) == (False, "leaf_moved")

    def test_a_summary_that_a_person_typed_stays(self, branched):
        hooks = Hooks(name="h", before_move=lambda _: SuppliedSummary(summary="as a hook tells it"))
        navigator(Scripted(), hooks).go(branched.writer, "e2", summary="as I tell it")
        told = newest(branched)
        assert (told.summary.split("\n\n")[1], told.from_extension) == ("as I tell it", False)

    def test_one_may_call_a_move_off_behind_one_whose_summary_nobody_requested(self, branched):
        hooks = [
            Hooks(name="eager", before_move=lambda _: SuppliedSummary(summary="as a hook tells it")),
            Hooks(name="careful", before_move=lambda _: Cancel("not now")),
        ]
        assert navigator(None, *hooks).go(branched.writer, "e2").outcome == "cancelled"

    def test_one_that_supplies_a_summary_of_nothing_is_not_heard(self, branched):
        hooks = Hooks(name="h", before_move=lambda _: SuppliedSummary(summary="of nothing"))
        assert navigator(None, hooks).go(branched.writer, "e4").events == []

    def test_the_first_that_says_something_leads(self, branched):
        hooks = [
            Hooks(name="silent", before_move=lambda _: None),
            Hooks(name="first", before_move=lambda _: Cancel("first")),
            Hooks(name="second", before_move=lambda _: Cancel("second")),
        ]
        assert navigator(None, *hooks).go(branched.writer, "e2").reason == "first"

    def test_it_is_told_what_was_appended(self, branched):
        told: list[list[str]] = []
        gone = navigator(None, Hooks(name="h", after_move=told.append)).go(branched.writer, "e2")
        assert told == [gone.events]

    def test_one_that_raises_is_reported_and_recorded_and_the_move_is_made(self, branched):
        def broken(*_: Any) -> Any:
            raise RuntimeError("oh no")

        hooks = Hooks(name="h", before_move=broken, after_move=broken)
        gone = navigator(None, hooks).go(branched.writer, "e2")
        hook_errors = ["hook h, before_move: RuntimeError: oh no", "hook h, after_move: RuntimeError: oh no"]
        assert (gone.outcome, gone.hook_errors) == ("moved", hook_errors)
        assert newest(branched).reason == hook_errors[-1]

    def test_one_that_raises_is_recorded_also_where_the_next_calls_the_move_off(self, branched):
        def broken(_: Move) -> Any:
            raise RuntimeError("oh no")

        hooks = [
            Hooks(name="h", before_move=broken),
            Hooks(name="i", before_move=lambda _: Cancel("not now")),
        ]
        gone = navigator(None, *hooks).go(branched.writer, "e2")
        assert (gone.outcome, newest(branched).reason) == ("cancelled", *gone.hook_errors)
