"""Render what is asked for with a request, and report what no repair can fix."""

from __future__ import annotations

import pytest

from eventstore.errors import BadInputError
from projections.requests.anthropic import render
from tests.support.contexts import body_of, context_of
from tests.support.talk import assistant, user
from tests.support.validator import validate

TOOLS = b'[{"name":"bash","input_schema":{"type":"object"}},{"type":"mcp_toolset","mcp_server_name":"m"}]'


def broken(rendered):
    """The violations of a request; the validator finds them too, and no others."""
    found = [(each.rule, each.path) for each in rendered.violations]
    assert [(each.rule, each.path) for each in validate(rendered.body)] == found
    return found


def test_a_context_without_messages_is_a_violation():
    assert broken(render(context_of())) == [("messages", "messages")]


def test_a_request_without_a_model_is_a_violation():
    assert broken(render(context_of(user("a")), model=" ")) == [("model", "model")]


@pytest.mark.slow
def test_a_body_over_32_mb_is_a_violation():
    assert broken(render(context_of(user("a" * 32 * 2**20)))) == [("request-size", "")]


@pytest.mark.slow
def test_more_than_100_000_messages_are_a_violation():
    assert broken(render(context_of(*[user("a"), assistant("b")] * 50_001))) == [("messages", "messages")]


def test_all_that_is_asked_for_is_valid():
    rendered = render(
        context_of(user("a")), tools=TOOLS, forbids_tools=True, caches_messages=True, streams=True
    )
    assert rendered.body.endswith(
        b'"tool_choice":{"type":"none"},"cache_control":{"type":"ephemeral"},"stream":true}'
    )
    assert validate(rendered.body) == []


@pytest.mark.parametrize("system", ["", " \n\ufeff"])
def test_a_blank_system_prompt_is_left_out(system):
    assert "system" not in body_of(render(context_of(user("a")), system=system, cache_breakpoints=1))


def test_without_tools_there_is_nothing_to_forbid():
    for tools in (None, b"[]"):
        assert b"tool_choice" not in render(context_of(user("a")), tools=tools, forbids_tools=True).body


@pytest.mark.parametrize(
    ("tools", "source", "problem"),
    [
        ('{"name":"a"}', "tools", "list of objects"),
        ('["read"]', "tools", "list of objects"),
        ('[{"name":"a","input_schema":{"type":"object"}},{"name":"b"}]', "tools[1]", "input_schema"),
        ('[{"name":"a","input_schema":{"type":"string"}}]', "tools[0]", "input_schema"),
        ('[{"name":"a b","input_schema":{"type":"object"}}]', "tools[0]", "name"),
        ('[{"input_schema":{"type":"object"}}]', "tools[0]", "name"),
        ('[{"type":"bash_20250124","name":"b"},{"type":"x","name":"b"}]', "tools[1]", "'b'"),
    ],
)
def test_invalid_tools_are_an_error(tools, source, problem):
    with pytest.raises(BadInputError) as refused:
        render(context_of(user("a")), tools=tools.encode())
    assert (refused.value.source, problem in str(refused.value)) == (source, True)
