"""The body around the messages."""

from __future__ import annotations

import subprocess
import sys

import pytest

from eventstore.errors import BadInputError
from eventstore.records import ModelChange
from projections.context.build import build_context
from projections.requests.anthropic import render
from projections.requests.repairs import RepairRule
from projections.settings import Model
from tests.support.contexts import body_of, context_of
from tests.support.talk import assistant, text, thinking, user


def body(*talk, model=None, context_model=None, **options):
    context = context_of(*talk) if context_model is None else context_of(*talk, model=context_model)
    return body_of(render(context, model=model, **options))


def test_a_body_is_a_model_a_limit_and_messages():
    assert body(user("hi")) == {
        "model": "m",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [text("hi")]}],
    }


def test_the_model_is_that_of_the_context(story):
    story.says(user("a"))
    story.add(ModelChange(provider="anthropic", model_id="claude-opus-4-5"))
    assert body_of(render(build_context(story.log, "s")))["model"] == "claude-opus-4-5"


def test_another_model_can_be_named():
    assert body(user("hi"), model="claude-x")["model"] == "claude-x"


def test_thinking_goes_to_a_model_that_is_named_if_it_is_that_models_own():
    own = assistant(thinking("hm", thinkingSignature="seal"), "so", provider="anthropic", model="claude-x")
    others = assistant(thinking("ah", thinkingSignature="seal"), "but")
    blocks = body(user("a"), own, others, model="claude-x")["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text", "text"]


def test_naming_the_contexts_own_model_changes_nothing():
    talk = context_of(user("a"), assistant(thinking("hm", thinkingSignature="seal"), "so"))
    assert render(talk, model="m") == render(talk)


@pytest.mark.parametrize("model", [None, Model(), Model(model_id=7), Model(provider="p", model_id=None)])
def test_a_context_without_a_model_has_an_empty_one(model):
    assert body_of(render(context_of(user("hi"), model=model)))["model"] == ""


def test_the_limit_is_what_was_asked_for():
    assert body(user("hi"), max_tokens=100)["max_tokens"] == 100


def test_a_system_prompt_stands_beside_the_messages():
    assert body(user("hi"), system='Be "brief".')["system"] == 'Be "brief".'


def test_tools_stand_beside_the_messages_as_they_are():
    tools = b'[ {"name":"read", "input_schema":{"type":"object"}} ]'
    assert (
        b'"tools":[{"name":"read", "input_schema":{"type":"object"}}]'
        in render(context_of(), tools=tools).body
    )


@pytest.mark.parametrize("tools", [b"", b"{}", b"[1]", b'["\\ud83d"]', b"\xff", b"[" * 100_000])
def test_tools_that_are_no_list_of_objects_are_refused(tools):
    with pytest.raises(BadInputError) as refused:
        render(context_of(user("hi")), tools=tools)
    assert refused.value.source == "tools"


def test_a_context_without_messages_has_none():
    assert body()["messages"] == []


def test_repairs_name_rule_event_and_action():
    repairs = render(context_of(user("a"), user(" "))).repairs
    assert [(each.rule, each.event) for each in repairs] == [
        (RepairRule.BLANK_TEXT, "e2"),
        (RepairRule.EMPTY_MESSAGE, "e2"),
    ]
    assert all(each.action for each in repairs)


def test_rendering_does_not_load_the_apis_client():
    script = "import sys, projections.requests; sys.exit('anthropic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
