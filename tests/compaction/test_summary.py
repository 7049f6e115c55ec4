"""Making a summary: what is asked at once, what a failure leaves, and what a live prefix is."""

from __future__ import annotations

import json
import signal
import time
from hashlib import sha256
from threading import Barrier, main_thread

import msgspec
import pytest

from compaction.cuts import LastMessages
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.anthropic import AnthropicSummarizer
from compaction.summarizers.chain import SummarizersFailedError
from compaction.summary import SummaryOptions
from eventstore.records import record_of
from projections.context.build import build_context
from projections.requests.anthropic import render
from tests.compaction.scripted import Scripted, compactor, complete, long, policy, prompting, turns
from tests.compaction.summarizers.prompts import Clock, chain
from tests.support.events import events
from tests.support.messages_api import MessagesApi, errs, says
from tests.support.patience import PATIENCE, comes
from tests.support.talk import assistant, call, result, user
from tests.support.validator import validate

MODEL = "claude-opus-4-5"
LIVE = policy(
    cut=LastMessages(messages=1),
    prompting=prompting(shape="live-prefix", template="five-sections", update="", turn_prefix=""),
)
TOOLS = b'[{"name":"bash","input_schema":{"type":"object"}}]'


def record(story, kind="compaction"):
    event = next(event for event in reversed(events(story.log, story.session)) if event.kind == kind)
    return record_of(kind, event.body)


def split(story):
    """A session whose newest turn is parted, with history before it."""
    turns(story, 20)
    story.says(user("the order"), assistant(long(30)), assistant(long(10)))


@pytest.fixture
def api(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with MessagesApi() as server:
        yield server


def claude(api):
    return AnthropicSummarizer(base_url=api.url, api_key="key", model=MODEL)


# Two at once


def test_history_and_the_beginning_of_a_split_turn_are_asked_about_at_the_same_time(story):
    split(story)
    both = Barrier(2)

    def answer(prompt):
        both.wait(PATIENCE)
        return complete(prompt)

    compactor(Scripted(answer)).compact(story.writer)
    assert {each["template"] for each in record(story).request["requests"]} == {"compaction", "turn-prefix"}


def test_where_one_of_two_fails_the_other_is_called_off_and_both_are_recorded(story):
    split(story)
    begun = Barrier(2)

    class OneFails(Scripted):
        def summarize(self, prompt, *, is_cancelled):
            begun.wait(PATIENCE)
            if prompt.template.name == "turn-prefix":
                raise SummarizerError("scripted", "no such model")
            while not is_cancelled():
                pass
            raise CancelledError

    with pytest.raises(SummarizersFailedError):
        compactor(OneFails()).compact(story.writer)
    requests = record(story, "attempt").request["requests"]
    assert [(each["template"], each["error"]) for each in requests] == [
        ("compaction", "cancelled"),
        ("turn-prefix", "no such model"),
    ]


def press_ctrl_c():
    """Interrupt the main thread."""
    signal.pthread_kill(main_thread().ident, signal.SIGINT)


def test_ctrl_c_does_not_wait_for_a_summarizer_that_is_asked_alone(story):
    turns(story, 20, 10)

    class Slow(Scripted):
        def summarize(self, prompt, *, is_cancelled):
            press_ctrl_c()
            time.sleep(10)
            has_waited.append(prompt.template.name)
            return super().summarize(prompt, is_cancelled=is_cancelled)

    has_waited = []
    with pytest.raises(KeyboardInterrupt):
        compactor(Slow()).compact(story.writer)
    assert has_waited == []


def test_ctrl_c_calls_off_both_of_two(story):
    split(story)
    both, cancel_reason = Barrier(2, press_ctrl_c), []

    class Patient(Scripted):
        def summarize(self, prompt, *, is_cancelled):
            both.wait(PATIENCE)
            assert comes(is_cancelled)
            cancel_reason.append(prompt.template.name)
            raise CancelledError

    with pytest.raises(KeyboardInterrupt):
        compactor(Patient()).compact(story.writer)
    assert comes(lambda: sorted(cancel_reason) == ["compaction", "turn-prefix"])


def test_the_short_summary_is_asked_for_after_them_and_not_called_off(story):
    split(story)
    scribe = Scripted(lambda prompt: "In short." if prompt.template.name == "short" else complete(prompt))
    compactor(scribe, policy(prompting=prompting(short="short"))).compact(story.writer)
    assert record(story).short_summary == "In short."


def test_a_short_summary_that_fails_does_not_cost_the_other(story):
    def answer(prompt):
        if prompt.template.name == "short":
            raise SummarizerError("scripted", "no more tokens today")
        return complete(prompt)

    turns(story, 20, 10)
    done = compactor(Scripted(answer), policy(prompting=prompting(short="short"))).compact(story.writer)
    made = record(story)
    assert (done.outcome, made.short_summary) == ("compacted", "")
    assert made.request["requests"][-1]["error"] == "no more tokens today"


def test_what_is_called_off_is_recorded_with_what_had_been_asked(story):
    def answer(prompt):
        if prompt.template.name == "short":
            raise CancelledError
        return complete(prompt)

    turns(story, 20, 10)
    with pytest.raises(CancelledError):
        compactor(Scripted(answer), policy(prompting=prompting(short="short"))).compact(story.writer)
    requests = record(story, "attempt").request["requests"]
    assert [(each["template"], each.get("error")) for each in requests] == [
        ("compaction", None),
        ("short", "cancelled"),
    ]


# Steps


def test_large_results_count_as_long_as_a_prompt_shows_them(story):
    for number in range(3):
        story.says(
            user("look"), assistant(call("bash", f"c{number}")), result(long(8_000), call_id=f"c{number}")
        )
    turns(story, 5)
    scribe = Scripted()
    compactor(scribe, policy(prompting=prompting(window=26_000))).compact(story.writer)
    assert [prompt.template.name for prompt in scribe.prompts] == ["compaction"]


def test_the_beginning_of_a_turn_that_is_too_long_is_summarized_in_steps(story):
    story.says(user("the order"), *(assistant(long(2_000)) for _ in range(6)), assistant(long(10)))
    scribe = Scripted()
    compactor(scribe, policy(prompting=prompting(window=20_000))).compact(story.writer)
    assert [prompt.template.name for prompt in scribe.prompts] == ["turn-prefix"] * 2
    assert "<previous-summary>" in scribe.prompts[1].text


@pytest.mark.slow
def test_a_prompt_that_the_model_refuses_for_its_length_is_made_in_two(story, api):
    api.replies.insert(0, errs(400, "prompt is too long: 9 tokens > 1 maximum", "invalid_request_error"))
    turns(story, 20, 20, 10)
    compactor(claude(api)).compact(story.writer)
    first, older, newer = api.asked
    assert all(text.count("[User]: ") == 1 for text in (older, newer))
    assert first.count("[User]: ") == 2
    assert "<previous-summary>" in newer
    assert record(story).request["requests"][0]["error"].startswith("400: prompt is too long")


@pytest.mark.slow
def test_messages_that_fit_no_prompt_are_reported(story, api):
    def too_long(exchange):
        reply = errs(413, "too large") if b"huge" in exchange.request.body else says("So far.")
        reply(exchange)

    api.replies = [too_long]
    story.says(user("huge"), assistant("ok"))
    turns(story, 20, 10)
    compactor(claude(api), policy(prompting=prompting(template="short", update="", short=""))).compact(
        story.writer
    )
    assert record(story).request["leftOut"] == ["e1"]
    assert record(story).summary == "So far."


# A summary from before


def test_where_only_a_turns_beginning_is_new_the_summary_from_before_stays_as_it_is(story):
    turns(story, 20, 10)
    compactor(Scripted(lambda _: "so far")).compact(story.writer)
    story.says(assistant(long(30)), assistant(long(10)))
    scribe = Scripted(lambda prompt: prompt.template.name)
    compactor(scribe).compact(story.writer)
    assert [prompt.template.name for prompt in scribe.prompts] == ["turn-prefix", "turn-prefix"]
    assert record(story).summary == "so far\n\n---\n\n**Turn Context (split turn):**\n\nturn-prefix"


# Live prefixes


def live_story(story):
    own = {"provider": "anthropic", "model": MODEL}
    for number in range(3):
        (wish,) = story.says(user(f"wish {number} " + long(20)))
        story.says(assistant("I look.", call("bash", f"call-{wish}", command="ls"), **own))
        story.says(result("a.py", call_id=f"call-{wish}"), assistant(f"done {number}", **own))


def messages_of(body):
    return body.split(b'"messages":[', 1)[1]


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2, 3])
def test_what_is_sent_begins_with_the_bytes_of_the_contexts_own_rendering(story, api, times):
    for _ in range(times):
        live_story(story)
        own = messages_of(render(build_context(story.log, "s"), model=MODEL).body)
        assert compactor(claude(api), LIVE).compact(story.writer).outcome == "compacted"
    head = own[: own.rindex(b']},{"role":"assistant","content":[{"type":"text","text":"done 2"')]
    sent = api.requests[-1].body
    assert head.endswith(b'"content":[{"type":"text","text":"a.py"}]}')
    assert messages_of(sent).startswith(head)
    assert validate(sent) == []


def test_a_later_live_prefix_begins_with_the_summary_and_not_with_a_tag_of_it(story, api):
    for _ in range(2):
        live_story(story)
        compactor(claude(api), LIVE).compact(story.writer)
    first = api.requests[1].json["messages"][0]["content"][0]["text"]
    assert "all of it" in first
    assert "<previous-summary>" not in api.asked[1]


def test_the_harnesss_own_system_prompt_and_tools_stand_before_a_live_prefix(story, api):
    live_story(story)
    options = SummaryOptions(system="You are a harness.", tools=TOOLS)
    compactor(claude(api), LIVE).compact(story.writer, options=options)
    body = api.requests[0].json
    assert (body["system"], body["tools"]) == ("You are a harness.", json.loads(TOOLS))


def test_a_prompt_of_a_hook_is_recorded_by_its_own_digest(story):
    turns(story, 20, 10)
    compactor().compact(story.writer, options=SummaryOptions(prompt="Sum up."))
    (request,) = record(story).request["requests"]
    assert request["template"] == "compaction"
    assert request["templateDigest"] == sha256(b"Sum up.").hexdigest()


def test_who_sums_up_without_a_model_is_told_the_summary_before_a_live_prefix_too(story):
    scribe = Scripted(lambda _: "so far")
    for _ in range(2):
        live_story(story)
        compactor(scribe, LIVE).compact(story.writer)
    last = [prompt for prompt in scribe.prompts if not prompt.is_reminder][-1]
    assert (last.previous, last.parts[0].role) == ("so far", "compactionSummary")


# One deadline for all of it

STEP = 4
"""Seconds that each request takes."""


class Unhurried(Scripted):
    """Takes its time for every answer."""

    def __init__(self):
        super().__init__()
        self.clock = Clock()

    def summarize(self, prompt, *, is_cancelled):
        self.clock.wait(STEP)
        return super().summarize(prompt, is_cancelled=is_cancelled)


def folded(story, unhurried, deadline, **fields):
    """The outcome of a compaction that takes three steps."""
    turns(story, *[2_000] * 6, 5)
    asking = chain(unhurried, clock=unhurried.clock, deadline=deadline)
    folding = compactor(policy=policy(prompting=prompting(window=26_000, **fields)))
    return msgspec.structs.replace(folding, chain=asking).compact(story.writer)


def test_all_steps_together_end_at_the_deadline(story):
    unhurried = Unhurried()
    with pytest.raises(SummarizersFailedError) as raised:
        folded(story, unhurried, 2 * STEP)
    (last,) = raised.value.failures
    assert last.problem.startswith(f"no answer in time; a summary may take {2 * STEP:g} s")
    assert len(unhurried.prompts) == 2
    assert len(record(story, "attempt").request["requests"]) == 2


def test_steps_that_end_before_the_deadline_make_a_summary(story):
    unhurried = Unhurried()
    assert folded(story, unhurried, 3 * STEP).outcome == "compacted"
    assert len(unhurried.prompts) == 3


def test_a_short_summary_for_which_no_time_is_left_is_left_out(story):
    unhurried = Unhurried()
    folded(story, unhurried, 3 * STEP, short="short")
    assert (record(story).short_summary, len(unhurried.prompts)) == ("", 3)


def test_the_next_summary_has_time_of_its_own(story):
    unhurried = Unhurried()
    folded(story, unhurried, 3 * STEP)
    assert folded(story, unhurried, 3 * STEP).outcome == "compacted"
