"""The validator of Messages API bodies: each rule, broken alone, is found, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.requests.anthropic.validator import Rule, validate
from tests.support.examples import examples
from tests.support.pictures import base64, gif, png
from tests.support.talk import Json, text

SCHEMA = {"type": "object", "properties": {}}


def used(call_id: str = "c1", name: str = "read", **fields: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, **fields}


def answered(call_id: str = "c1", *content: Json, **fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": list(content), **fields}


def picture(data: str = base64(png()), media_type: str = "image/png") -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def drawn(*images: Json) -> Json:
    return {"type": "document", "source": {"type": "content", "content": list(images)}}


def thought(signature: str = "seal") -> Json:
    return {"type": "thinking", "thinking": "hm", "signature": signature}


def cached(block: Json) -> Json:
    return {**block, "cache_control": {"type": "ephemeral"}}


def lasting(block: Json) -> Json:
    return {**block, "cache_control": {"type": "ephemeral", "ttl": "1h"}}


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def assistant(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content)}


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
COMPACTION = {"type": "compaction", "content": "what was said", "signature": "seal"}
HIDDEN = {"type": "redacted_thinking", "data": "encrypted"}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
SOURCES: list[Json] = [
    {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
    {"type": "url", "url": "https://x"},
    {"type": "file", "file_id": "f1"},
    {"type": "content", "content": "c"},
    {"type": "content", "content": [text("c"), picture()]},
]
FOUND_TEXT = {"type": "search_result", "source": "s", "title": "t", "content": [text("x")]}

TALK = [
    user(text("hi"), picture(), DOCUMENT),
    assistant(thought(), HIDDEN, text("I look."), used("c1"), used("c2", "bash")),
    user(answered("c2", text("no"), is_error=True), answered("c1", picture()), cached(text("go on"))),
    assistant(SEARCH, FOUND, text("done")),
    user(text("thanks ")),
]
TOOLS: list[Json] = [{"name": "read", "input_schema": SCHEMA}, {"type": "bash_20250124", "name": "bash"}]


def body(*messages: Json, **fields: Any) -> Json:
    return {"model": "claude", "max_tokens": 100, "messages": list(messages), **fields}


WHOLE = body(*TALK, system=[cached(text("Be brief."))], tools=TOOLS)


def rules(of: Any) -> set[str]:
    return {violation.rule for violation in validate(of)}


VALID = [
    WHOLE,
    body({"role": "user", "content": "hi"}),
    body(user(text("hi")), assistant(text("go on:"))),
    body(assistant(COMPACTION, text("so")), user(text("hi"))),
    body(user(COMPACTION, text("hi"))),
    body(user(text("hi")), assistant({**COMPACTION, "content": None}, text("so")), user(text("hi"))),
    body(user(text("hi")), assistant(used()), user({"type": "tool_result", "tool_use_id": "c1"})),
    body(user(text("hi")), assistant(used()), user({**answered(), "content": "found"})),
    body(user({"type": "image", "source": {"type": "url", "url": "https://x"}})),
    body(user({**DOCUMENT, "new": "field"})),
    body(user({"type": "search_result", "source": "s", "title": "t", "content": [text("x")]})),
    body(user(*[picture()] * 100)),
    body(user(*[picture(base64(gif(2000, 1)), "image/gif")] * 21)),
    body(user(*[picture(base64(png(8000, 1)))] * 20)),
    body(user(*[cached(text("a"))] * 4)),
    body(user(text("hi")), system="Be brief."),
    body(user(text("hi")), tools=[]),
    body(user(text("hi")), tools=TOOLS, tool_choice={"type": "none"}, stream=True),
    body(user(text("hi")), tools=TOOLS, tool_choice={"type": "tool", "name": "bash"}, stream=False),
    body(user(text("hi")), thinking={"type": "adaptive"}, metadata={"user_id": "u"}, stop_sequences=["x"]),
    body(user(text("hi")), compaction={"type": "summarize"}, context_management=None),
    body(user(*[cached(text("a"))] * 3), cache_control={"type": "ephemeral"}),
    body(user(lasting(text("a")), cached(text("b"))), system=[lasting(text("Be brief."))]),
    body(user(text("hi")), assistant(used()), user(answered(is_error=False))),
    body(user(text("hi")), assistant(used()), user({**answered(is_error=True), "content": "no"})),
    *(body(user({"type": "document", "source": source})) for source in SOURCES),
    body(assistant({**COMPACTION, "encrypted_content": None, "tool_changes": []}), user(text("hi"))),
]


@pytest.mark.parametrize("given", [lambda valid: valid, lambda valid: json.dumps(valid).encode()])
def test_a_body_that_breaks_no_rule_is_not_found_fault_with(given: Callable[[Json], Any]) -> None:
    assert {number: found for number, valid in enumerate(VALID) if (found := validate(given(valid)))} == {}


def without(value: Json, name: str) -> Json:
    return {key: each for key, each in value.items() if key != name}


def talk(*content: Json) -> Json:
    """A body in which the assistant says this last."""
    return body(user(text("hi")), assistant(*content))


def call_of(call: Json) -> Json:
    """A body with a call and its result."""
    return body(user(text("hi")), assistant(call), user(answered(call["id"])))


LARGE = picture(base64(png(size=5 * 2**20 * 3 // 4)))

UNREADABLE: list[Any] = [
    {},
    "https://x",
    {"type": "video", "data": "d"},
    {"type": "text", "media_type": "text/plain", "data": " "},
    {"type": "text", "media_type": "text/html", "data": "d"},
    {"type": "base64", "media_type": "image/png", "data": "d"},
    {"type": "url"},
    {"type": "file", "file_id": ""},
    {"type": "content", "content": ""},
    {"type": "content", "content": []},
    {"type": "content", "content": [text(" ")]},
    {"type": "content", "content": [{"type": "image"}]},
    {"type": "content", "content": [used()]},
]

BROKEN: list[tuple[Rule, Any]] = [
    (Rule.JSON, b"{"),
    (Rule.JSON, b"[]"),
    (Rule.JSON, json.dumps(body(user(text("\ud83d")))).encode()),
    (Rule.JSON, b'{"model":"\xff"}'),
    (Rule.JSON, b"[" * 100_000),
    (Rule.REQUEST_SIZE, body(user(text("x" * 32 * 2**20)))),
    (Rule.JSON, {**WHOLE, "metadata": {"when": object()}}),
    (Rule.JSON, {**WHOLE, "metadata": {"share": float("nan")}}),
    (Rule.FIELDS, {**WHOLE, "session": "s"}),
    (Rule.FIELDS, body({**user(text("hi")), "timestamp": 1})),
    (Rule.FIELDS, {**WHOLE, "compaction": {"type": "summarize"}, "context_management": {"edits": []}}),
    (Rule.STREAM, {**WHOLE, "stream": "yes"}),
    (Rule.STREAM, {**WHOLE, "stream": None}),
    (Rule.TOOL_CHOICE, {**WHOLE, "tool_choice": "none"}),
    (Rule.TOOL_CHOICE, {**WHOLE, "tool_choice": {"type": "some"}}),
    (Rule.TOOL_CHOICE, {**WHOLE, "tool_choice": {"type": ["none"]}}),
    (Rule.TOOL_CHOICE, {**WHOLE, "tool_choice": {"type": "tool"}}),
    (Rule.TOOL_CHOICE, {**WHOLE, "tool_choice": {"type": "tool", "name": "write"}}),
    (Rule.TOOL_CHOICE, body(user(text("hi")), tool_choice={"type": "none"})),
    (Rule.TOOL_CHOICE, body(user(text("hi")), tools=[], tool_choice={"type": "none"})),
    (Rule.MODEL, without(WHOLE, "model")),
    (Rule.MODEL, {**WHOLE, "model": ""}),
    (Rule.MODEL, {**WHOLE, "model": 7}),
    (Rule.MAX_TOKENS, without(WHOLE, "max_tokens")),
    (Rule.MAX_TOKENS, {**WHOLE, "max_tokens": -1}),
    (Rule.MAX_TOKENS, {**WHOLE, "max_tokens": 1.5}),
    (Rule.MAX_TOKENS, {**WHOLE, "max_tokens": True}),
    (Rule.SYSTEM, {**WHOLE, "system": " \n"}),
    (Rule.SYSTEM, {**WHOLE, "system": None}),
    (Rule.SYSTEM, {**WHOLE, "system": [picture()]}),
    (Rule.SYSTEM, {**WHOLE, "system": [{"type": "text"}]}),
    (Rule.TOOLS, {**WHOLE, "tools": {}}),
    (Rule.TOOLS, {**WHOLE, "tools": ["read"]}),
    (Rule.TOOLS, {**WHOLE, "tools": [{"name": "re:ad", "input_schema": SCHEMA}]}),
    (Rule.TOOLS, {**WHOLE, "tools": [{"input_schema": SCHEMA}]}),
    (Rule.TOOLS, {**WHOLE, "tools": [{"name": "read"}]}),
    (Rule.TOOLS, {**WHOLE, "tools": [{"name": "read", "input_schema": {"type": "string"}}]}),
    (Rule.TOOLS, {**WHOLE, "tools": [TOOLS[0], TOOLS[0]]}),
    (Rule.MESSAGES, without(WHOLE, "messages")),
    (Rule.MESSAGES, body()),
    (Rule.MESSAGES, body(*[user(text("hi")), assistant(text("hi"))] * 50_001)),
    (Rule.MESSAGES, {**WHOLE, "messages": ["hi"]}),
    (Rule.ROLE, body(user(text("hi")), {"role": "system", "content": "Be brief."})),
    (Rule.ROLE, body({"content": "hi"})),
    (Rule.FIRST_MESSAGE, body(assistant(text("hi")), user(text("hi")))),
    (Rule.FIRST_MESSAGE, body(assistant({**COMPACTION, "content": None}, text("so")), user(text("hi")))),
    (Rule.ALTERNATION, body(user(text("hi")), user(text("hi")))),
    (Rule.ALTERNATION, body(user(text("hi")), assistant(text("a")), assistant(text("b")))),
    (Rule.CONTENT, body({"role": "user", "content": ""})),
    (Rule.CONTENT, body(user())),
    (Rule.CONTENT, body({"role": "user"})),
    (Rule.BLOCK_TYPE, body(user({"type": "video"}))),
    (Rule.BLOCK_TYPE, body(user({"text": "hi"}))),
    (Rule.BLOCK_TYPE, body({"role": "user", "content": ["hi"]})),
    (Rule.BLOCK_TYPE, body(user(used()))),
    (Rule.BLOCK_TYPE, body(user(thought(), text("hi")))),
    (Rule.BLOCK_TYPE, talk(picture(), text("hi"))),
    (Rule.BLOCK_TYPE, talk(answered(), text("hi"))),
    (Rule.BLOCK_TYPE, body(user(text("hi")), assistant(used()), user(answered("c1", thought())))),
    (Rule.BLOCK_SHAPE, body(user({"type": "text"}))),
    (Rule.BLOCK_SHAPE, body(user({"type": "text", "text": 7}))),
    (Rule.BLOCK_SHAPE, body(user({"type": "text", "text": "hi", "textSignature": "x"}))),
    (Rule.BLOCK_SHAPE, body(user({"type": "image", "data": "QUJD"}))),
    (Rule.BLOCK_SHAPE, call_of({**used(), "input": []})),
    (Rule.BLOCK_SHAPE, call_of(without(used(), "name"))),
    (Rule.BLOCK_SHAPE, talk(without(thought(), "signature"), text("hi"))),
    (Rule.BLOCK_SHAPE, talk({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, text("hi"))),
    (Rule.BLOCK_SHAPE, body(user(text("hi")), assistant(used()), user(answered("c1", is_error="yes")))),
    (Rule.BLOCK_SHAPE, body(user({**COMPACTION, "content": ""}))),
    (Rule.BLOCK_SHAPE, body(assistant({**COMPACTION, "signature": 7}, text("so")), user(text("hi")))),
    (Rule.BLOCK_SHAPE, body(assistant({**COMPACTION, "tool_changes": "none"}), user(text("hi")))),
    (Rule.BLOCK_SHAPE, body(user({**DOCUMENT, "title": 7}))),
    *((Rule.BLOCK_SHAPE, body(user({"type": "document", "source": source}))) for source in UNREADABLE),
    (Rule.BLOCK_SHAPE, body(user({**FOUND_TEXT, "content": []}))),
    (Rule.BLOCK_SHAPE, body(user({**FOUND_TEXT, "content": [text(" ")]}))),
    (Rule.BLOCK_SHAPE, body(user({**FOUND_TEXT, "content": [picture()]}))),
    (Rule.BLOCK_SHAPE, body(user({**FOUND_TEXT, "source": ""}))),
    (Rule.BLOCK_SHAPE, talk(SEARCH, {**FOUND, "content": "none"}, text("hi"))),
    (Rule.BLANK_TEXT, body(user(text("")))),
    (Rule.BLANK_TEXT, body(user(text(" \n")))),
    (Rule.BLANK_TEXT, body({"role": "user", "content": " "})),
    (Rule.BLANK_TEXT, body(user(text("hi")), assistant(used()), user(answered("c1", text(""))))),
    (Rule.FINAL_SPACE, talk(text("go on: "))),
    (Rule.FINAL_SPACE, body(user(text("hi")), {"role": "assistant", "content": "go on:\n"})),
    (Rule.CALL_ID, call_of(used("call|1"))),
    (Rule.CALL_ID, call_of(used("c1\n"))),
    (Rule.CALL_ID, call_of(used(""))),
    (Rule.CALL_ID, call_of(used("x" * 65))),
    (Rule.DUPLICATE_CALL_ID, body(*[*TALK[:3], *TALK[1:3]])),
    (Rule.DUPLICATE_CALL_ID, body(user(text("hi")), assistant(used(), used()), user(answered()))),
    (Rule.TOOL_NAME, call_of(used(name="re:ad"))),
    (Rule.TOOL_NAME, call_of(used(name=""))),
    (Rule.TOOL_NAME, call_of(used(name="n" * 129))),
    (Rule.MISSING_RESULT, talk(used())),
    (Rule.MISSING_RESULT, body(user(text("hi")), assistant(used()), user(text("go on")))),
    (Rule.MISSING_RESULT, body(user(text("hi")), assistant(used(), used("c2")), user(answered("c2")))),
    (Rule.ORPHAN_RESULT, body(user(answered()))),
    (Rule.ORPHAN_RESULT, body(*TALK[:4], user(answered("c1")))),
    (Rule.DUPLICATE_RESULT, body(user(text("hi")), assistant(used()), user(answered(), answered()))),
    (Rule.RESULT_ORDER, body(user(text("hi")), assistant(used()), user(text("a"), answered()))),
    (
        Rule.RESULT_ORDER,
        body(user(text("hi")), assistant(used(), used("c2")), user(answered(), text("a"), answered("c2"))),
    ),
    (Rule.EMPTY_ERROR, body(user(text("hi")), assistant(used()), user(answered(is_error=True)))),
    (
        Rule.EMPTY_ERROR,
        body(user(text("hi")), assistant(used()), user({**answered(is_error=True), "content": ""})),
    ),
    (
        Rule.EMPTY_ERROR,
        body(user(text("hi")), assistant(used()), user(without(answered(is_error=True), "content"))),
    ),
    (
        Rule.IMAGE_IN_ERROR,
        body(user(text("hi")), assistant(used()), user(answered("c1", picture(), is_error=True))),
    ),
    (Rule.IMAGE_TYPE, body(user(picture(media_type="image/bmp")))),
    (Rule.IMAGE_TYPE, body(user(picture(media_type="image/jpeg")))),
    (Rule.IMAGE_DATA, body(user(picture("QUJD")))),
    (Rule.IMAGE_DATA, body(user(picture("no base64!")))),
    (Rule.IMAGE_DATA, body(user({"type": "image", "source": {"type": "base64", "media_type": "image/png"}}))),
    (Rule.IMAGE_DATA, body(user({"type": "image", "source": {}}))),
    (Rule.IMAGE_SIZE, body(user(LARGE))),
    (Rule.IMAGE_SIZE, body(user(picture(base64(png(8001, 1)))))),
    (Rule.IMAGE_SIZE, body(user(*[picture()] * 20, picture(base64(png(1, 2001)))))),
    (Rule.IMAGE_SIZE, body(user(text("hi")), assistant(used()), user(answered("c1", LARGE)))),
    (Rule.IMAGE_SIZE, body(user(text("hi")), assistant(used()), user(answered("c1", drawn(LARGE))))),
    (Rule.IMAGE_COUNT, body(user(*[picture()] * 101))),
    (Rule.IMAGE_COUNT, body(user(*[picture()] * 100, drawn(picture())))),
    (Rule.UNSIGNED_THINKING, talk(thought(""), text("hi"))),
    (Rule.UNSIGNED_THINKING, talk({**HIDDEN, "data": ""}, text("hi"))),
    (Rule.FINAL_THINKING, talk(text("hi"), thought())),
    (Rule.FINAL_THINKING, body(user(text("hi")), assistant(HIDDEN), user(text("hi")))),
    (Rule.COMPACTION_BLOCK, talk(COMPACTION, text("hi"))),
    (Rule.COMPACTION_BLOCK, body(user(text("hi"), COMPACTION))),
    (Rule.COMPACTION_BLOCK, body(assistant(COMPACTION, COMPACTION, text("hi")))),
    (Rule.SERVER_TOOL, talk(SEARCH, text("hi"))),
    (Rule.SERVER_TOOL, talk(FOUND, text("hi"))),
    (Rule.SERVER_TOOL, talk(FOUND, SEARCH, text("hi"))),
    (Rule.SERVER_TOOL, talk({**SEARCH, "id": "call_1"}, {**FOUND, "tool_use_id": "call_1"}, text("hi"))),
    (Rule.SERVER_TOOL, talk({**SEARCH, "name": "read_minds"}, FOUND, text("hi"))),
    (Rule.CACHE_BREAKPOINTS, body(user(*[cached(text("a"))] * 5))),
    (Rule.CACHE_BREAKPOINTS, body(user(*[cached(text("a"))] * 4), cache_control={"type": "ephemeral"})),
    (Rule.CACHE_BREAKPOINTS, body(user(cached(text("a")), lasting(text("b"))))),
    (Rule.CACHE_BREAKPOINTS, body(user(lasting(text("b"))), system=[cached(text("Be brief."))])),
    (Rule.CACHE_BREAKPOINTS, body(user({**text("a"), "cache_control": {"type": "forever"}}))),
    (Rule.CACHE_BREAKPOINTS, body(user({**text("a"), "cache_control": True}))),
    (
        Rule.CACHE_BREAKPOINTS,
        body(user({**text("a"), "cache_control": {"type": "ephemeral", "ttl": "1d"}})),
    ),
    (Rule.CACHE_BREAKPOINTS, body(user({**FOUND_TEXT, "content": [cached(text("a"))] * 5}))),
    (
        Rule.CACHE_BREAKPOINTS,
        body(user({**DOCUMENT, "source": {"type": "content", "content": [cached(text("a"))] * 5}})),
    ),
    (
        Rule.CACHE_BREAKPOINTS,
        body(
            user(cached(text("hi"))),
            assistant(used()),
            user(cached(answered("c1", cached(text("found"))))),
            system=[cached(text("Be brief."))],
            tools=[cached(TOOLS[0])],
        ),
    ),
    (Rule.CACHE_BREAKPOINTS, talk(cached(thought()), text("hi"))),
]


@pytest.mark.parametrize("rule", Rule)
def test_a_body_that_breaks_one_rule_is_found_to_break_that_one(rule: Rule) -> None:
    bodies = {number: broken for number, (broken_rule, broken) in enumerate(BROKEN) if broken_rule == rule}
    assert bodies
    assert {number: found for number, broken in bodies.items() if (found := rules(broken)) != {rule}} == {}


PLACES = [
    (without(WHOLE, "model"), "model"),
    ({**WHOLE, "tools": [TOOLS[0], TOOLS[0]]}, "tools[1]"),
    (talk(text("a"), text("")), "messages[1].content[1]"),
    (body({"role": "user", "content": ""}), "messages[0].content"),
    (call_of(used("a b")), "messages[1].content[0].id"),
    (
        body(user(text("hi")), assistant(used()), user(answered("c1", text("")))),
        "messages[2].content[0].content[0]",
    ),
    (body(user(picture(media_type="image/bmp"))), "messages[0].content[0].source.media_type"),
    (body(user({"type": "text", "text": 7})), "messages[0].content[0].text"),
    (talk(used()), "messages[1].content[0]"),
]


def test_a_violation_names_its_place() -> None:
    found = [[violation.path for violation in validate(broken)] for broken, _ in PLACES]
    assert found == [[path] for _, path in PLACES]


def test_a_body_that_breaks_several_rules_is_found_to_break_each() -> None:
    broken = body(user(text("")), assistant(used("a b", "re:ad")), user(answered("a b")), model="")
    assert rules(broken) == {Rule.MODEL, Rule.BLANK_TEXT, Rule.CALL_ID, Rule.TOOL_NAME}


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=examples(300))
@given(data=st.data())
def test_whatever_stands_in_a_body_it_is_judged(data: st.DataObject) -> None:
    changed = deepcopy(WHOLE)
    value: Any = changed
    while True:
        key = data.draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
        if isinstance(value[key], dict | list) and value[key] and data.draw(st.booleans()):
            value = value[key]
        else:
            break
    value[key] = data.draw(_json)
    found = validate(changed)
    assert validate(json.dumps(changed).encode()) == found
    assert all(violation.rule in set(Rule) for violation in found)
