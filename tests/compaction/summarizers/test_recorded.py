"""Summaries that were made before, made again with no server running."""

from __future__ import annotations

import msgspec
import pytest

from compaction.branching.handoff import hand_off
from compaction.branching.undo import undo
from compaction.compactor import Compactor
from compaction.part import Limits
from compaction.policy.load import load_preset
from compaction.summarizers import SummarizerError
from compaction.summarizers.recorded import RecordedSummarizer
from eventstore.event import Parent
from eventstore.records import Attempt, CustomMessage, Decision, record_of
from eventstore.writing import SessionWriter
from projections.tokens import counter
from tests.compaction.summarizers.prompts import Saying, chain, claude, never, prompt
from tests.support.events import events
from tests.support.messages_api import calls_tool, complete, errs, says
from tests.support.recording_snapshot import RecordingSnapshot
from tests.support.talk import Story, assistant, call, result, user


@pytest.fixture
def story(store):
    """A session that every preset finds large enough to compact."""
    story = Story(store)
    for number in range(6):
        story.says(user(f"wish {number}: " + "please " * 4000))
        story.says(assistant("I look.", call("bash", f"c{number}", command="ls")))
        story.says(result("a.py " * 100, call_id=f"c{number}"), assistant(f"done {number}"))
    return story


def compactor(summarizer, policy="pi"):
    chosen = load_preset(policy)
    return Compactor(
        policy=chosen,
        chain=chain(summarizer),
        limits=Limits(window=40_000),
        tokens=counter("utf16/4"),
    )


def summary(log, session="s"):
    made = [event for event in events(log, session) if event.kind == "compaction"][-1]
    return record_of("compaction", made.body).summary


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["pi", "oh-my-pi", "opencode", "layered"])
def test_a_compaction_that_was_undone_is_made_again_without_a_server(story, messages_api, policy):
    unlike = [0]

    def never_twice(request):
        unlike[0] += 1
        return complete(request).replace("all of it", f"answer {unlike[0]}")

    api = messages_api(says(never_twice))
    compactor(claude(api), policy).compact(story.writer)
    first, asked = summary(story.log), len(api.requests)
    api.close()
    undo(story.writer)
    compactor(RecordedSummarizer(story.log), policy).compact(story.writer)
    assert summary(story.log) == first
    assert "answer 1" in first
    assert len(api.requests) == asked


@pytest.mark.slow
def test_a_copy_of_the_session_is_compacted_the_same_way(story, messages_api):
    copy = SessionWriter(story.log, "copy", clock=lambda: 1)
    for event in events(story.log, "s"):
        copy.append(record_of(event.kind, event.body), parent=Parent.LEAF)
    api = messages_api(says("<thing>"), says(complete))
    compactor(claude(api)).compact(story.writer)
    api.close()
    compactor(RecordedSummarizer(story.log)).compact(copy)
    assert summary(story.log, "copy") == summary(story.log)


@pytest.mark.slow
def test_failures_on_the_way_are_not_needed_again(story, messages_api):
    api = messages_api(errs(529, "Overloaded"), calls_tool, says(complete))
    compactor(claude(api)).compact(story.writer)
    first = summary(story.log)
    api.close()
    undo(story.writer)
    done = compactor(RecordedSummarizer(story.log)).compact(story.writer)
    requests = record_of("compaction", story[done.events[0]].body).request["requests"]
    assert summary(story.log) == first
    assert {(each["summarizer"], each.get("error")) for each in requests} == {("recorded", None)}


@pytest.mark.slow
def test_another_prompt_has_no_answer_and_no_server_is_asked(story, messages_api):
    compactor(claude(messages_api())).compact(story.writer)
    asked = prompt()
    with pytest.raises(SummarizerError) as raised:
        RecordedSummarizer(story.log).summarize(asked, is_cancelled=never)
    assert (raised.value.summarizer, raised.value.is_transient) == ("recorded", False)


def asked(text="Done.", *, is_cut=False):
    """The record of a request that was answered so."""
    (request,) = chain(Saying(text)).summarize(prompt()).requests
    return request | ({"isCut": True} if is_cut else {})


@pytest.mark.parametrize(
    "record",
    [
        Attempt(request={"requests": [asked()]}, error="the second step failed"),
        Decision(outcome="no-gain", reason="too large", numbers={"requests": [asked()]}),
        CustomMessage(custom_type="handoff", content="Done.", details={"requests": [asked()]}),
    ],
)
def test_answers_are_found_wherever_requests_are_recorded(store, record):
    story = Story(store)
    story.says(user("hello"))
    story.add(record)
    assert RecordedSummarizer(store).summarize(prompt(), is_cancelled=never).text == "Done."


def test_a_handoff_is_made_again_without_a_server(story, messages_api):
    api = messages_api(says(complete))
    first = hand_off(story.writer, SessionWriter(story.log, "next"), chain(claude(api)))
    api.close()
    again = hand_off(
        story.writer,
        SessionWriter(story.log, "again"),
        chain(RecordedSummarizer(story.log, session="next")),
    )
    assert again.document == first.document


def test_an_answer_that_broke_off_is_one_again(store):
    Story(store).add(Attempt(request={"requests": [asked(is_cut=True)]}, error="x"))
    assert RecordedSummarizer(store).summarize(prompt(), is_cancelled=never).is_cut


def test_the_newest_answer_to_a_prompt_counts(store):
    story = Story(store)
    for text in ("First.", "Second."):
        story.add(Attempt(request={"requests": [asked(text)]}, error="x"))
    assert RecordedSummarizer(store).summarize(prompt(), is_cancelled=never).text == "Second."


def test_an_empty_answer_that_was_stored_earlier_is_none(store):
    Story(store).add(Attempt(request={"requests": [asked() | {"answer": " "}]}, error="x"))
    with pytest.raises(SummarizerError):
        RecordedSummarizer(store).summarize(prompt(), is_cancelled=never)


def keep(log, session, text):
    """A session that holds such an answer to the prompt."""
    Story(log, session).add(Attempt(request={"requests": [asked(text)]}, error="x"))


def test_the_sessions_own_answer_counts_before_newer_ones_of_others(store):
    keep(store, "s", "Own.")
    keep(store, "a", "Other.")
    keep(store, "t", "Other.")
    assert RecordedSummarizer(store, session="s").summarize(prompt(), is_cancelled=never).text == "Own."


def test_of_others_the_session_that_was_written_to_last_counts(store):
    keep(store, "b", "First.")
    keep(store, "a", "Last.")
    Story(store, "s").says(user("hello"))
    assert RecordedSummarizer(store, session="s").summarize(prompt(), is_cancelled=never).text == "Last."


def test_an_answer_that_came_since_the_last_question_is_found(store):
    summarizer = RecordedSummarizer(store)
    keep(store, "s", "First.")
    assert summarizer.summarize(prompt(), is_cancelled=never).text == "First."
    Story(store, "s").writer.append(
        Attempt(request={"requests": [asked("Second.")]}, error="x"), ids=["newer"]
    )
    assert summarizer.summarize(prompt(), is_cancelled=never).text == "Second."


def test_no_session_is_read_before_a_question_and_no_other_than_its_own_for_what_that_answers(store):
    keep(store, "s", "Own.")
    keep(store, "t", "Other.")
    with store.snapshot() as snapshot:
        asked_of = RecordingSnapshot(snapshot)
        summarizer = RecordedSummarizer(asked_of, session="s")
        assert asked_of.sessions == set()
        summarizer.summarize(prompt(), is_cancelled=never)
    assert asked_of.sessions == {"s"}


def test_records_of_other_shapes_are_passed_over(store):
    story = Story(store)
    story.says(user("hello"))
    details = [None, 3, {"requests": 3}, {"requests": [None, {"promptDigest": 1, "answer": None}]}]
    for each in details:
        story.add(CustomMessage(custom_type="x", content="c", details=each))
    with pytest.raises(SummarizerError):
        RecordedSummarizer(store).summarize(prompt(), is_cancelled=never)


def test_the_model_that_answered_then_is_named_again(store):
    Story(store).add(Attempt(request={"requests": [asked()]}, error="x"))
    answer = RecordedSummarizer(store).summarize(prompt(), is_cancelled=never)
    assert msgspec.structs.asdict(answer) == {"text": "Done.", "model": "m", "usage": None, "is_cut": False}
