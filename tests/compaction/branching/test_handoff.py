"""A new session that gets a document of the one before."""

from __future__ import annotations

import json

import pytest

from compaction.branching.handoff import hand_off
from compaction.summarizers import SummarizerError
from compaction.summarizers.anthropic import AnthropicSummarizer
from compaction.summarizers.chain import SummarizerChain, SummarizersFailedError
from compaction.summarizers.recorded import RecordedSummarizer
from eventstore.errors import BadInputError, VersionConflictError
from eventstore.event import NewEvent
from eventstore.records import ThinkingLevelChange, record_of
from eventstore.writing import SessionWriter
from projections.context.build import build_context, context_json
from projections.descriptions import title
from projections.settings import settings
from tests.compaction.scripted import Scripted, complete, record
from tests.support.events import events
from tests.support.messages_api import MessagesApi
from tests.support.talk import assistant, texts_of, user


@pytest.fixture
def worked(story):
    story.says(user("build it"), assistant("half done"))
    return story


def handed(story, scribe=None, new="next", **options):
    chain = SummarizerChain(summarizers=[scribe or Scripted()], wait=lambda _: None)
    return hand_off(story.writer, SessionWriter(story.log, new), chain, **options)


def test_the_new_session_begins_with_the_document(worked):
    done = handed(worked, Scripted(lambda _: "the document"))
    assert texts_of(build_context(worked.log, "next")) == [done.document] == ["the document"]


def test_the_document_is_a_message_that_people_see(worked):
    done = handed(worked)
    record = record_of("custom_message", events(worked.log, "next")[-1].body)
    assert (record.custom_type, record.display, record.content) == ("handoff", True, done.document)


def test_the_new_session_says_where_it_comes_from(worked):
    handed(worked)
    link = record_of("link", events(worked.log, "next")[0].body)
    assert (link.relation, link.session, link.event) == ("parent", "s", "e2")


def test_a_handoff_of_a_handoff_has_the_same_title(worked):
    handed(worked)
    hand_off(
        SessionWriter(worked.log, "next"),
        SessionWriter(worked.log, "third"),
        SummarizerChain(summarizers=[Scripted()]),
    )
    assert title(worked.log, "third") == title(worked.log, "next") == "Handoff of build it"


def test_the_new_session_has_the_model_of_the_old_one(worked):
    handed(worked)
    assert str(settings(worked.log, "next").model) == "p/m"


def test_the_new_session_keeps_the_thinking_level(worked):
    worked.writer.append(ThinkingLevelChange(thinking_level="high"))
    handed(worked)
    assert settings(worked.log, "next").thinking_level == "high"


def test_a_session_without_a_thinking_level_gives_none(worked):
    handed(worked)
    assert [each.kind for each in events(worked.log, "next")] == [
        "link",
        "session_info",
        "model_change",
        "custom_message",
    ]


def test_the_session_itself_stays_as_it_is(worked):
    before = context_json(worked.log, "s"), len(events(worked.log, "s"))
    handed(worked)
    assert (context_json(worked.log, "s"), len(events(worked.log, "s"))) == before


def test_the_model_is_sent_the_real_messages_and_the_template_behind_them(worked):
    scribe = Scripted()
    handed(worked, scribe, system="You are pi.")
    (prompt,) = scribe.prompts
    assert ([part.id for part in prompt.prefix], prompt.system) == (["e1", "e2"], "You are pi.")
    assert prompt.text == prompt.template.text


def test_a_failure_begins_no_session_and_is_recorded(worked):
    def fails(_prompt):
        raise SummarizerError("scripted", "no such model")

    with pytest.raises(SummarizersFailedError):
        handed(worked, Scripted(fails))
    with worked.log.snapshot() as snapshot:
        assert [head.name for head in snapshot.heads()] == ["s"]
    assert events(worked.log, "s")[-1].kind == "attempt"


def test_a_session_that_is_there_is_not_written_over(worked):
    handed(worked)
    with pytest.raises(VersionConflictError):
        handed(worked)


def test_nobody_is_asked_for_a_document_of_a_session_that_is_there(worked):
    SessionWriter(worked.log, "next").message(user("theirs"))
    scribe = Scripted()
    with pytest.raises(VersionConflictError):
        handed(worked, scribe)
    assert (scribe.prompts, events(worked.log, "s")[-1].kind) == ([], "message")


def test_a_document_whose_session_comes_to_be_meanwhile_is_kept_and_can_be_had_again(worked):
    def taken(prompt):
        SessionWriter(worked.log, "next").message(user("theirs"))
        return complete(prompt)

    with pytest.raises(VersionConflictError):
        handed(worked, Scripted(taken))
    attempt = record(worked, "attempt")
    assert (attempt.request["reason"], len(attempt.request["requests"])) == ("handoff", 1)
    again = handed(worked, RecordedSummarizer(worked.log, session="s"), "another")
    assert again.document == attempt.request["requests"][0]["answer"]


def test_a_session_without_messages_has_nothing_to_hand_off(story):
    story.add(record_of("custom", b'{"type":"custom","customType":"x"}'))
    with pytest.raises(BadInputError) as refused:
        handed(story)
    assert refused.value.source == f"session {story.session!r}"


TOOLS = b'[{"name":"read","input_schema":{"type":"object"}}]'


@pytest.fixture
def begun(story):
    """A session whose log says what its harness sends before the messages."""
    record = {"type": "session_init", "systemPrompt": "You are omp.", "tools": json.loads(TOOLS)}
    body = json.dumps(record).encode()
    story.log.append("s", [NewEvent(id="init", kind="session_init", body=body, format="pi/3")])
    story.says(user("build it"), assistant("half done"))
    return story


def test_system_prompt_and_tools_are_those_of_the_log(begun):
    scribe = Scripted()
    handed(begun, scribe)
    (prompt,) = scribe.prompts
    assert (prompt.system, json.loads(prompt.tools)) == ("You are omp.", json.loads(TOOLS))


def test_a_caller_who_knows_better_leads_over_the_log(begun):
    scribe = Scripted()
    handed(begun, scribe, system="You are pi.", tools=b"[]")
    assert (scribe.prompts[0].system, scribe.prompts[0].tools) == ("You are pi.", b"[]")


def test_the_document_has_80_percent_of_the_reserve_at_most(worked):
    scribe = Scripted()
    handed(worked, scribe)
    handed(worked, scribe, "another", reserve=1_000)
    assert [prompt.max_tokens for prompt in scribe.prompts] == [13_107, 800]


def test_a_provider_is_sent_the_prefix_that_it_knows_and_told_to_call_nothing(begun, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with MessagesApi() as api:
        handed(begun, AnthropicSummarizer(model="m", base_url=api.url, api_key="key"))
    asked = api.requests[0].json
    assert (asked["system"], asked["tools"]) == ("You are omp.", json.loads(TOOLS))
    assert asked["tool_choice"] == {"type": "none"}
    assert [message["role"] for message in asked["messages"]] == ["user", "assistant", "user"]


def test_without_tools_there_is_no_choice_of_them(worked, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with MessagesApi() as api:
        handed(worked, AnthropicSummarizer(model="m", base_url=api.url, api_key="key"))
    assert not {"tools", "tool_choice"} & set(api.requests[0].json)
