"""The summary of a branch that is left: what a summarizer is told, and by which prompt."""

from __future__ import annotations

from typing import Any

import pytest

from compaction.branching.move_plan import plan_move
from compaction.branching.summarize import MAX_BRANCH_SUMMARY_TOKENS, summarize_branch
from compaction.branching.undo import undo
from compaction.part import Limits
from compaction.prompts import serialize
from compaction.summarizers import CancelledError
from compaction.summarizers.chain import SummarizerChain
from compaction.triggers import DEFAULT_RESERVE
from eventstore.records import Compaction, Custom, Label, record_of
from projections.tokens import counter
from tests.compaction.scripted import Scripted, long
from tests.support.events import events
from tests.support.talk import assistant, call, image, result, user

OWN = "+++\nname = 'branch'\nversion = 7\nsections = ['Why not']\n+++\nSay why not.\n"


@pytest.fixture
def branched(story):
    """A session that stands on a branch behind `e1`, an answer."""
    story.says(assistant("before"), user("another way"), assistant("it is worse"))
    return story


def summarized(story: Any, scribe: Any, *, tokens: int = 10_000, **options: Any) -> Any:
    """The summary of what is behind `e1`, for a model that has room for so many tokens of it."""
    return summarize_branch(
        story.writer,
        plan_move(story.log, story.session, "e1").to_summarize,
        SummarizerChain(summarizers=[scribe], wait=lambda _: None),
        limits=Limits(window=DEFAULT_RESERVE + tokens),
        tokens=counter("utf16/4"),
        **options,
    )


def asked(story: Any, **options: Any) -> Any:
    """The prompt that a summarizer was sent."""
    scribe = Scripted()
    summarized(story, scribe, **options)
    return scribe.prompts[0]


def test_the_messages_behind_the_target_are_told_and_no_others(branched):
    assert [part.id for part in asked(branched).parts] == ["e2", "e3"]


def test_of_a_long_branch_the_newest_that_fit_are_told(branched):
    branched.says(user(long(60)), user(long(30)))
    assert [part.id for part in asked(branched, tokens=80, reserve=DEFAULT_RESERVE).parts] == ["e5"]


def test_a_long_result_costs_what_the_prompt_has_of_it(branched):
    branched.says(assistant(call("bash", "c1")), result(long(9_000)))
    parts = asked(branched, tokens=700, reserve=DEFAULT_RESERVE).parts
    assert [part.id for part in parts] == ["e2", "e3", "e4", "e5"]


def test_images_cost_nothing_for_the_prompt_has_none(branched):
    branched.says(assistant(call("shot", "c1")), result("seen", image()))
    parts = asked(branched, tokens=100, reserve=DEFAULT_RESERVE).parts
    assert [part.id for part in parts] == ["e2", "e3", "e4", "e5"]


def test_what_is_told_of_a_long_branch_fills_the_room_and_no_more(branched):
    for number in range(9):
        branched.says(assistant(call("bash", f"c{number}")), result(long(900), call_id=f"c{number}"))
    tokens = counter("utf16/4")
    told = serialize(asked(branched, tokens=2_700, reserve=DEFAULT_RESERVE).parts)
    assert 2_700 - 540 < tokens.of_text(told) <= 2_700


def test_what_has_to_stay_free_can_be_set(branched):
    branched.says(user(long(60)), user(long(30)))
    roomy = asked(branched, tokens=80, reserve=DEFAULT_RESERVE - 15)
    assert [part.id for part in roomy.parts] == ["e4", "e5"]


def test_a_compaction_among_them_is_no_stop(branched):
    branched.add(Compaction(summary="so far", first_kept_entry_id="e3", tokens_before=5))
    branched.says(user("more"))
    prompt = asked(branched)
    assert [part.id for part in prompt.parts] == ["e2", "e3", "e4", "e5"]
    assert "so far" in prompt.text


def test_where_no_message_is_left_nobody_is_asked(story):
    story.says(assistant("before"))
    story.add(Label(target_id="e1", label="here"), Custom(custom_type="state"))
    scribe = Scripted()
    assert summarized(story, scribe) is None
    assert scribe.prompts == []


def test_the_answer_may_have_2048_tokens(branched):
    assert asked(branched).max_tokens == MAX_BRANCH_SUMMARY_TOKENS == 2_048


def test_instructions_take_the_place_of_the_template(branched):
    prompt = asked(branched, instructions="Say what failed.")
    assert prompt.text.endswith("Say what failed.")
    assert (prompt.template.sections, prompt.template.source) == ((), "instructions")


def test_the_sessions_own_template_goes_before_refolds(branched):
    branched.add(Custom(custom_type="refold.template", data={"name": "branch", "text": OWN}))
    assert asked(branched).template.version == 7


def test_a_request_that_is_called_off_leaves_an_attempt(branched):
    def cancelled(_: Any) -> str:
        raise CancelledError

    with pytest.raises(CancelledError):
        summarized(branched, Scripted(cancelled))
    *_, newest = events(branched.log, branched.session)
    attempt = record_of(newest.kind, newest.body)
    assert (attempt.kind, attempt.request["reason"]) == ("attempt", "branch")


@pytest.mark.parametrize("window", [1, 8_000, DEFAULT_RESERVE])
def test_the_newest_messages_are_told_however_small_the_window_is(branched, window):
    branched.says(
        assistant(long(9_000), call("bash", "c1")), result(long(9_000)), result(long(9), call_id="c2")
    )
    scribe = Scripted()
    assert summarized(branched, scribe, tokens=window - DEFAULT_RESERVE) is not None
    assert scribe.prompts[0].parts[-1].id == "e6"


def test_where_nothing_fits_the_newest_answer_is_told_with_its_results(branched):
    branched.says(assistant(call("bash", "c1", command=long(40))), result(long(40)))
    (prompt,) = [asked(branched, tokens=10, reserve=DEFAULT_RESERVE)]
    assert [part.id for part in prompt.parts] == ["e4", "e5"]


def test_of_a_small_window_15_percent_stay_free_unless_somebody_chose(branched):
    branched.says(user(long(3_000)), user(long(3_000)), user(long(3_000)))
    small = asked(branched, tokens=8_000 - DEFAULT_RESERVE)
    assert [part.id for part in small.parts] == ["e5", "e6"]
    chosen = asked(branched, tokens=8_000 - DEFAULT_RESERVE, reserve=4_000)
    assert [part.id for part in chosen.parts] == ["e6"]


def test_what_was_undone_is_not_told_where_nothing_fits(branched):
    branched.add(Compaction(summary=long(40), first_kept_entry_id="e3", tokens_before=5))
    undo(branched.writer)
    prompt = asked(branched, tokens=1, reserve=DEFAULT_RESERVE)
    assert [part.id for part in prompt.parts] == ["e3"]
