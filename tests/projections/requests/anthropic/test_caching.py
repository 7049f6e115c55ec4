"""Set cache breakpoints in a request."""

from __future__ import annotations

import pytest

from projections.requests.anthropic import render
from tests.support.contexts import body_of, context_of
from tests.support.talk import assistant, call, result, user

TALK = [
    user("one"),
    assistant("…"),
    user("two"),
    assistant(call("read")),
    result("three"),
    assistant("…"),
    user("four"),
]
TOOLS = b'[{"name":"read","input_schema":{"type":"object"}},{"name":"bash","input_schema":{"type":"object"}}]'
CACHED = {"type": "ephemeral"}


def marked(*talk, **options):
    """Return the places of breakpoints: `tools`, `system`, and the numbers of messages."""
    body = body_of(render(context_of(*talk), **options))
    places = []
    if "tools" in body:
        places += ["tools" for tool in body["tools"][-1:] if tool.get("cache_control") == CACHED]
    if isinstance(body.get("system"), list):
        places += ["system" for block in body["system"] if block.get("cache_control") == CACHED]
    return places + [
        number
        for number, message in enumerate(body["messages"])
        if message["content"][-1].get("cache_control") == CACHED
    ]


def test_none_are_set_unless_asked_for():
    assert marked(*TALK, system="x", tools=TOOLS) == []


@pytest.mark.parametrize(
    ("most", "expected"), [(1, [6]), (2, [4, 6]), (3, [2, 4, 6]), (4, [0, 2, 4, 6]), (9, [0, 2, 4, 6])]
)
def test_they_stand_behind_the_users_newest_messages(most, expected):
    assert marked(*TALK, cache_breakpoints=most) == expected


@pytest.mark.parametrize(
    ("most", "expected"), [(1, [6]), (2, ["system", 6]), (3, ["system", 4, 6]), (4, ["system", 2, 4, 6])]
)
def test_the_second_stands_behind_the_system_prompt_and_covers_the_tools(most, expected):
    assert marked(*TALK, cache_breakpoints=most, system="Be brief.", tools=TOOLS) == expected


def test_without_a_system_prompt_it_stands_behind_the_last_tool():
    assert marked(*TALK, cache_breakpoints=2, tools=TOOLS) == ["tools", 6]


def test_no_breakpoint_stands_behind_a_stand_in_for_a_result_that_may_still_come():
    talk = [*TALK, assistant(call("read", "c2"))]
    assert marked(*talk, cache_breakpoints=1) == [6]
    assert marked(*talk, result("found", call_id="c2"), cache_breakpoints=1) == [8]


def test_a_breakpoint_stands_behind_an_answer_that_nobody_waits_for_any_more():
    talk = [user("one"), assistant(call("read")), user("never mind"), assistant("…")]
    assert marked(*talk, cache_breakpoints=1) == [2]


def test_no_tools_and_no_system_prompt_leave_the_breakpoint_to_messages():
    assert marked(*TALK, cache_breakpoints=2, tools=b"[]") == [4, 6]


def test_breakpoints_that_tools_came_with_count_among_the_four():
    tools = TOOLS.replace(b'{"name":"read"', b'{"cache_control":{"type":"ephemeral"},"name":"read"')
    assert marked(*TALK, system="x", tools=tools, cache_breakpoints=4) == ["system", 4, 6]


def test_the_one_that_the_api_sets_itself_counts_among_the_four():
    assert marked(*TALK, system="x", cache_breakpoints=4, caches_messages=True) == ["system", 4, 6]


def test_the_one_on_a_compaction_block_counts_among_the_four():
    block = {"type": "compaction", "content": "all of it", "cache_control": CACHED}
    talk = [assistant(block, "so"), *TALK]
    assert len(marked(*talk, cache_breakpoints=4)) == 3


def test_a_tool_that_takes_cache_control_as_a_property_can_have_a_breakpoint():
    tools = b'[{"name":"read","input_schema":{"type":"object","properties":{"cache_control":{}}}}]'
    assert "tools" in marked(user("one"), tools=tools, cache_breakpoints=2)
