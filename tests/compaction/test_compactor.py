"""Compacting: one append of all that changes, or none and a record of why."""

from __future__ import annotations

import json

import pytest

from compaction.compactor import Compactor
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.chain import SummarizerChain, SummarizersFailedError
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.summary import SummaryOptions
from compaction.templates import folder_source
from eventstore.errors import NotFoundError
from eventstore.event import NewEvent
from eventstore.records import Custom, Undone
from projections.context.build import build_context, context_json
from projections.requests.anthropic import render
from tests.compaction.scripted import (
    Scripted,
    compactor,
    kinds,
    long,
    policy,
    prompting,
    record,
    turns,
)
from tests.support.talk import assistant, call, result, texts_of, user


def test_a_summary_stands_in_place_of_what_does_not_fit(story):
    turns(story, 20, 10)
    done = compactor(Scripted(lambda _: "so far")).compact(story.writer)
    assert (done.outcome, texts_of(build_context(story.log, "s"))) == (
        "compacted",
        ["so far", long(10), long(10)],
    )


def test_the_record_says_by_which_policy_and_template_and_what_it_cost(story):
    turns(story, 20, 10)
    compactor().compact(story.writer, reason="threshold")
    made = record(story)
    assert (made.reason, made.policy, made.template) == ("threshold", "small", "compaction@1")
    assert (made.request["model"], made.request["usage"]["input"]) == ("scribe", 90)


def test_the_record_says_how_large_the_context_was_and_is(story):
    turns(story, 20, 10)
    done = compactor(Scripted(lambda _: long(3))).compact(story.writer)
    assert (record(story).tokens_before, record(story).tokens_after, done.tokens_after) == (60, 23, 23)


def test_every_request_is_recorded_with_the_digest_of_its_prompt_and_of_its_template(story):
    turns(story, 20, 10)
    scribe = Scripted()
    compactor(scribe).compact(story.writer)
    (request,) = record(story).request["requests"]
    assert request["promptDigest"] == scribe.prompts[0].digest
    assert request["templateDigest"] == scribe.prompts[0].template.digest


def test_nothing_to_summarize_appends_nothing(story):
    turns(story, 5)
    assert compactor().compact(story.writer).outcome == "nothing"
    assert kinds(story) == ["message", "message"]


def test_a_session_that_ends_with_a_compaction_is_not_compacted_again(story):
    turns(story, 20, 10)
    compactor().compact(story.writer)
    assert compactor().compact(story.writer).outcome == "nothing"


def test_a_context_that_would_get_no_smaller_stays_and_the_log_says_so(story):
    turns(story, 20, 10)
    before = context_json(story.log, "s")
    done = compactor(Scripted(lambda _: long(100))).compact(story.writer)
    assert (done.outcome, context_json(story.log, "s")) == ("no-gain", before)
    assert record(story, "decision").outcome == "no-gain"


def test_a_later_summary_updates_the_one_before(story):
    turns(story, 20, 10)
    scribe = Scripted(lambda prompt: f"after {prompt.template.name}")
    compactor(scribe).compact(story.writer)
    turns(story, 30, 10)
    compactor(scribe).compact(story.writer)
    assert record(story).summary == "after compaction-update"
    assert "<previous-summary>\nafter compaction\n</previous-summary>" in scribe.prompts[-1].text


def test_a_split_turn_is_summarized_in_two_parts(story):
    turns(story, 20)
    story.says(user("the order"), assistant(long(30)), assistant(long(10)))
    scribe = Scripted(lambda prompt: prompt.template.name)
    compactor(scribe).compact(story.writer)
    expected = "compaction\n\n---\n\n**Turn Context (split turn):**\n\nturn-prefix"
    assert record(story).summary == expected


def test_a_split_turn_without_history_says_that_there_is_none(story):
    story.says(user("the order"), assistant(long(30)), assistant(long(10)))
    compactor(Scripted(lambda prompt: prompt.template.name)).compact(story.writer)
    expected = "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nturn-prefix"
    assert record(story).summary == expected


def test_a_conversation_too_long_for_a_prompt_is_summarized_in_steps(story):
    turns(story, *[2_000] * 6, 5)
    scribe = Scripted()
    small = policy(prompting=prompting(window=26_000))
    compactor(scribe, small).compact(story.writer)
    assert [prompt.template.name for prompt in scribe.prompts] == [
        "compaction",
        "compaction-update",
        "compaction-update",
    ]
    assert sum(len(prompt.parts) for prompt in scribe.prompts) == 12


def test_files_of_everything_summarized_stand_behind_the_summary(story):
    story.says(user("go"), assistant(call("read", path="a.py"), long(30)), result("it", tool="read"))
    turns(story, 10)
    compactor(Scripted(lambda _: "so far")).compact(story.writer)
    assert record(story).summary == "so far\n\n<read-files>\na.py\n</read-files>"
    assert record(story).details.read_files == ["a.py"]


def test_the_short_summary_is_for_display_alone(story):
    turns(story, 20, 10)
    compactor(
        Scripted(lambda prompt: prompt.template.name), policy(prompting=prompting(short="short"))
    ).compact(story.writer)
    assert (record(story).summary, record(story).short_summary) == ("compaction", "short")


def test_instructions_of_a_person_stand_last_in_the_prompt(story):
    turns(story, 20, 10)
    scribe = Scripted()
    compactor(scribe).compact(story.writer, options=SummaryOptions(instructions="Mind the tests."))
    assert scribe.prompts[0].text.endswith("Mind the tests.")


def test_everything_that_a_compaction_appends_is_undone_as_one(story):
    turns(story, 20, 10)
    before = context_json(story.log, "s")
    done = compactor(Scripted(lambda _: "so far"), policy(continuation="auto-continue")).compact(
        story.writer, reason="threshold", continues=True
    )
    story.add(Undone(target_id=done.events[0]))
    assert len(done.events) == 2
    assert context_json(story.log, "s") == before


def test_a_failed_summary_leaves_the_context_and_a_record_of_the_attempt(story):
    def fails(_prompt):
        raise SummarizerError("scripted", "no such model")

    turns(story, 20, 10)
    before = context_json(story.log, "s")
    with pytest.raises(SummarizersFailedError):
        compactor(Scripted(fails)).compact(story.writer)
    assert (context_json(story.log, "s"), kinds(story)[-1]) == (before, "attempt")
    assert record(story, "attempt").request["requests"][0]["error"] == "no such model"


@pytest.mark.parametrize("key", ["template", "update", "turn_prefix", "short"])
def test_a_template_that_is_not_there_is_reported_before_anybody_is_asked_and_leaves_an_attempt(story, key):
    turns(story, 20, 10)
    before, scribe = context_json(story.log, "s"), Scripted()
    with pytest.raises(NotFoundError) as refused:
        compactor(scribe, policy(prompting=prompting(**{key: "mine"}))).compact(story.writer)
    assert (refused.value.what, refused.value.name) == ("template", "mine")
    assert (scribe.prompts, context_json(story.log, "s"), kinds(story)[-1]) == ([], before, "attempt")
    assert record(story, "attempt").request == {"reason": "manual", "policy": "small", "requests": []}


def test_a_cancelled_summary_leaves_the_context_and_a_record_of_the_attempt(story):
    turns(story, 20, 10)
    before = context_json(story.log, "s")
    cancel_reason = compactor()
    cancel_reason = Compactor(
        policy=cancel_reason.policy,
        chain=SummarizerChain(summarizers=[Scripted()], is_cancelled=lambda: True),
        limits=cancel_reason.limits,
        tokens=cancel_reason.tokens,
    )
    with pytest.raises(CancelledError):
        cancel_reason.compact(story.writer)
    assert (context_json(story.log, "s"), kinds(story)[-1]) == (before, "attempt")


@pytest.mark.parametrize(
    ("placement", "told"),
    [
        ("summary", "<summary>\nso far\n</summary>"),
        ("prior-conversation-summary", "<prior-conversation-summary>\nso far\n</prior-conversation-summary>"),
        ("compacted", "[Compacted]\n\nso far"),
    ],
)
def test_a_summary_stands_in_a_request_as_the_policy_says(story, placement, told):
    turns(story, 20, 10)
    compactor(Scripted(lambda _: "so far"), policy(placement=placement)).compact(story.writer)
    body = json.loads(render(build_context(story.log, "s"), model="m").body)
    assert body["messages"][0]["content"][0]["text"].endswith(told)


def test_after_a_refused_request_the_summary_says_that_it_reacted(story):
    turns(story, 20, 10)
    reactive = policy(placement="compacted", recovery_placement="reactive-compact")
    compactor(Scripted(lambda _: "so far"), reactive).compact(story.writer, reason="overflow")
    body = json.loads(render(build_context(story.log, "s"), model="m").body)
    assert body["messages"][0]["content"][0]["text"] == "[Reactive compact]\n\nso far"


def test_notes_that_stand_for_a_summary_are_no_extensions(story):
    turns(story, 20, 10)
    story.add(Custom(custom_type="notes", data={"text": "so far"}))
    compactor(policy=policy(memory="notes")).compact(story.writer)
    assert (record(story).summary, record(story).from_extension) == ("so far", False)


def test_a_live_prefix_stands_behind_what_the_log_says_the_harness_sent(story):
    tool = {"name": "bash", "input_schema": {"type": "object"}}
    body = json.dumps({"type": "session_init", "systemPrompt": "You are omp.", "tools": [tool]}).encode()
    story.log.append("s", [NewEvent(id="init", kind="session_init", body=body, format="pi/3")])
    turns(story, 20, 10)
    scribe = Scripted()
    compactor(scribe, policy(prompting=prompting(shape="live-prefix"))).compact(story.writer)
    assert (scribe.prompts[0].system, json.loads(scribe.prompts[0].tools)) == ("You are omp.", [tool])


def test_what_is_given_of_it_leads_over_the_log(story):
    turns(story, 20, 10)
    scribe = Scripted()
    options = SummaryOptions(system="You are another.")
    compactor(scribe, policy(prompting=prompting(shape="live-prefix"))).compact(story.writer, options=options)
    assert scribe.prompts[0].system == "You are another."


def test_the_record_says_how_the_session_goes_on_and_why(story):
    turns(story, 20, 10)
    done = compactor(policy=policy(continuation="replay")).compact(story.writer, continues=True)
    assert done.continued.branch == "mid-task"
    assert record(story).continuation == {"branch": "mid-task", "reason": done.continued.reason}


def test_a_failed_request_says_which_model_it_was_to(story):
    turns(story, 20, 10)

    class Refusing(Scripted):
        model = "claude-of-the-test"

        def summarize(self, *_args, **_fields):
            raise SummarizerError("refusing", "no")

    with pytest.raises(SummarizersFailedError):
        compactor(Refusing()).compact(story.writer)
    (request,) = record(story, "attempt").request["requests"]
    assert (request["model"], request["error"]) == ("claude-of-the-test", "no")


@pytest.fixture
def by_mine(tmp_path):
    """From sections of a template of one's own to a compactor whose policy names it, and that asks no model."""

    def made(*sections):
        front = f'name = "mine"\nversion = 1\nsections = {json.dumps(sections)}'
        (tmp_path / "mine.md").write_text(f"+++\n{front}\n+++\nSum up.")
        mine = policy(prompting=prompting(template="mine", short="", turn_prefix=""))
        return compactor(ExtractiveSummarizer(), mine, sources=[folder_source(tmp_path)])

    return made


def test_without_a_model_the_sections_of_the_policys_template_are_filled(story, by_mine):
    turns(story, 2_000, 10)
    by_mine("Risks", "Goal").compact(story.writer)
    headings = [line for line in record(story).summary.splitlines() if line.startswith("#")]
    assert headings[:2] == ["## Risks", "## Goal"]


def test_templates_of_unknown_sections_are_filled(story, by_mine):
    turns(story, 2_000, 10)
    by_mine("Risks").compact(story.writer)
    headings = [line for line in record(story).summary.splitlines() if line.startswith("#")]
    assert headings == ["## Risks", "## Critical Context"]
