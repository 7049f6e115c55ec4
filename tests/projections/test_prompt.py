"""Read from the log the content that a harness sends before its messages."""

from __future__ import annotations

import json

import pytest

from eventstore.event import NewEvent, Parent
from eventstore.node import PromptView
from eventstore.records import CustomMessage
from projections.context.cursor import resolve_cursor
from projections.settings import harness_prompt
from tests.support.talk import user

READ = {"name": "read", "input_schema": {"type": "object"}}


def begins(story, event_id="init", parent=Parent.LEAF, **fields):
    """A `session_init`, as oh-my-pi writes one."""
    body = json.dumps({"type": "session_init", **fields}).encode()
    story.log.append(
        "s", [NewEvent(id=event_id, kind="session_init", body=body, format="pi/3", parent=parent)]
    )


def logged(story, leaf=None):
    with story.log.snapshot() as snapshot:
        return harness_prompt(snapshot, resolve_cursor(snapshot, "s", leaf=leaf))


def test_a_session_that_says_nothing_of_it_has_none(story):
    story.says(user("hi"))
    assert logged(story) == PromptView()


@pytest.mark.parametrize("given", ["You are pi.\n\nBe brief.", ["You are pi.", "Be brief."]])
def test_a_system_prompt_is_a_text_or_several(story, given):
    begins(story, systemPrompt=given, task="x")
    assert logged(story).system == "You are pi.\n\nBe brief."


def test_definitions_of_tools_are_sent_again(story):
    begins(story, systemPrompt="p", tools=[READ])
    assert json.loads(logged(story).tools) == [READ]


@pytest.mark.parametrize("given", [["read", "bash"], [], "read", [READ, "bash"], [{"name": "read"}], None, 7])
def test_names_of_tools_are_no_definitions(story, given):
    begins(story, systemPrompt="p", tools=given)
    assert logged(story) == PromptView(system="p")


@pytest.mark.parametrize("given", [None, 7, {"text": "x"}])
def test_what_is_no_text_is_no_system_prompt(story, given):
    begins(story, systemPrompt=given)
    assert logged(story).system == ""


def test_the_newest_on_the_path_counts(story):
    begins(story, "one", systemPrompt="first")
    fork = story.says(user("hi"))[0]
    begins(story, "two", systemPrompt="second")
    assert (logged(story).system, logged(story, leaf=fork).system) == ("second", "first")


def test_a_message_that_quotes_one_is_none(story):
    story.add(CustomMessage(custom_type="session_init", content='{"systemPrompt": "x"}'))
    assert logged(story).system == ""


def test_what_one_lacks_is_taken_from_the_other():
    given = PromptView(system="mine")
    assert given.or_else(PromptView(system="theirs", tools=b"[]")) == PromptView(system="mine", tools=b"[]")
