"""The validator of Messages API bodies: each rule, broken alone, is found, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.pictures import base64, gif, png
from tests.support.talk import Json, text
from tests.support.validator import ApiRule, validate

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

BROKEN: list[tuple[ApiRule, Any]] = [
    (ApiRule.JSON, b"{"),
    (ApiRule.JSON, b"[]"),
    (ApiRule.JSON, json.dumps(body(user(text("\ud83d")))).encode()),
    (ApiRule.JSON, b'{"model":"\xff"}'),
    (ApiRule.JSON, b"[" * 100_000),
    (ApiRule.REQUEST_SIZE, body(user(text("x" * 32 * 2**20)))),
    (ApiRule.JSON, {**WHOLE, "metadata": {"when": object()}}),
    (ApiRule.JSON, {**WHOLE, "metadata": {"share": float("nan")}}),
    (ApiRule.FIELDS, {**WHOLE, "session": "s"}),
    (ApiRule.FIELDS, body({**user(text("hi")), "timestamp": 1})),
    (ApiRule.FIELDS, {**WHOLE, "compaction": {"type": "summarize"}, "context_management": {"edits": []}}),
    (ApiRule.STREAM, {**WHOLE, "stream": "yes"}),
    (ApiRule.STREAM, {**WHOLE, "stream": None}),
    (ApiRule.TOOL_CHOICE, {**WHOLE, "tool_choice": "none"}),
    (ApiRule.TOOL_CHOICE, {**WHOLE, "tool_choice": {"type": "some"}}),
    (ApiRule.TOOL_CHOICE, {**WHOLE, "tool_choice": {"type": ["none"]}}),
    (ApiRule.TOOL_CHOICE, {**WHOLE, "tool_choice": {"type": "tool"}}),
    (ApiRule.TOOL_CHOICE, {**WHOLE, "tool_choice": {"type": "tool", "name": "write"}}),
    (ApiRule.TOOL_CHOICE, body(user(text("hi")), tool_choice={"type": "none"})),
    (ApiRule.TOOL_CHOICE, body(user(text("hi")), tools=[], tool_choice={"type": "none"})),
    (ApiRule.MODEL, without(WHOLE, "model")),
    (ApiRule.MODEL, {**WHOLE, "model": ""}),
    (ApiRule.MODEL, {**WHOLE, "model": 7}),
    (ApiRule.MAX_TOKENS, without(WHOLE, "max_tokens")),
    (ApiRule.MAX_TOKENS, {**WHOLE, "max_tokens": -1}),
    (ApiRule.MAX_TOKENS, {**WHOLE, "max_tokens": 1.5}),
    (ApiRule.MAX_TOKENS, {**WHOLE, "max_tokens": True}),
    (ApiRule.SYSTEM, {**WHOLE, "system": " \n"}),
    (ApiRule.SYSTEM, {**WHOLE, "system": None}),
    (ApiRule.SYSTEM, {**WHOLE, "system": [picture()]}),
    (ApiRule.SYSTEM, {**WHOLE, "system": [{"type": "text"}]}),
    (ApiRule.TOOLS, {**WHOLE, "tools": {}}),
    (ApiRule.TOOLS, {**WHOLE, "tools": ["read"]}),
    (ApiRule.TOOLS, {**WHOLE, "tools": [{"name": "re:ad", "input_schema": SCHEMA}]}),
    (ApiRule.TOOLS, {**WHOLE, "tools": [{"input_schema": SCHEMA}]}),
    (ApiRule.TOOLS, {**WHOLE, "tools": [{"name": "read"}]}),
    (ApiRule.TOOLS, {**WHOLE, "tools": [{"name": "read", "input_schema": {"type": "string"}}]}),
    (ApiRule.TOOLS, {**WHOLE, "tools": [TOOLS[0], TOOLS[0]]}),
    (ApiRule.MESSAGES, without(WHOLE, "messages")),
    (ApiRule.MESSAGES, body()),
    (ApiRule.MESSAGES, body(*[user(text("hi")), assistant(text("hi"))] * 50_001)),
    (ApiRule.MESSAGES, {**WHOLE, "messages": ["hi"]}),
    (ApiRule.ROLE, body(user(text("hi")), {"role": "system", "content": "Be brief."})),
    (ApiRule.ROLE, body({"content": "hi"})),
    (ApiRule.FIRST_MESSAGE, body(assistant(text("hi")), user(text("hi")))),
    (ApiRule.FIRST_MESSAGE, body(assistant({**COMPACTION, "content": None}, text("so")), user(text("hi")))),
    (ApiRule.ALTERNATION, body(user(text("hi")), user(text("hi")))),
    (ApiRule.ALTERNATION, body(user(text("hi")), assistant(text("a")), assistant(text("b")))),
    (ApiRule.CONTENT, body({"role": "user", "content": ""})),
    (ApiRule.CONTENT, body(user())),
    (ApiRule.CONTENT, body({"role": "user"})),
    (ApiRule.BLOCK_TYPE, body(user({"type": "video"}))),
    (ApiRule.BLOCK_TYPE, body(user({"text": "hi"}))),
    (ApiRule.BLOCK_TYPE, body({"role": "user", "content": ["hi"]})),
    (ApiRule.BLOCK_TYPE, body(user(used()))),
    (ApiRule.BLOCK_TYPE, body(user(thought(), text("hi")))),
    (ApiRule.BLOCK_TYPE, talk(picture(), text("hi"))),
    (ApiRule.BLOCK_TYPE, talk(answered(), text("hi"))),
    (ApiRule.BLOCK_TYPE, body(user(text("hi")), assistant(used()), user(answered("c1", thought())))),
    (ApiRule.BLOCK_SHAPE, body(user({"type": "text"}))),
    (ApiRule.BLOCK_SHAPE, body(user({"type": "text", "text": 7}))),
    (ApiRule.BLOCK_SHAPE, body(user({"type": "text", "text": "hi", "textSignature": "x"}))),
    (ApiRule.BLOCK_SHAPE, body(user({"type": "image", "data": "QUJD"}))),
    (ApiRule.BLOCK_SHAPE, call_of({**used(), "input": []})),
    (ApiRule.BLOCK_SHAPE, call_of(without(used(), "name"))),
    (ApiRule.BLOCK_SHAPE, talk(without(thought(), "signature"), text("hi"))),
    (ApiRule.BLOCK_SHAPE, talk({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, text("hi"))),
    (ApiRule.BLOCK_SHAPE, body(user(text("hi")), assistant(used()), user(answered("c1", is_error="yes")))),
    (ApiRule.BLOCK_SHAPE, body(user({**COMPACTION, "content": ""}))),
    (ApiRule.BLOCK_SHAPE, body(assistant({**COMPACTION, "signature": 7}, text("so")), user(text("hi")))),
    (ApiRule.BLOCK_SHAPE, body(assistant({**COMPACTION, "tool_changes": "none"}), user(text("hi")))),
    (ApiRule.BLOCK_SHAPE, body(user({**DOCUMENT, "title": 7}))),
    *((ApiRule.BLOCK_SHAPE, body(user({"type": "document", "source": source}))) for source in UNREADABLE),
    (ApiRule.BLOCK_SHAPE, body(user({**FOUND_TEXT, "content": []}))),
    (ApiRule.BLOCK_SHAPE, body(user({**FOUND_TEXT, "content": [text(" ")]}))),
    (ApiRule.BLOCK_SHAPE, body(user({**FOUND_TEXT, "content": [picture()]}))),
    (ApiRule.BLOCK_SHAPE, body(user({**FOUND_TEXT, "source": ""}))),
    (ApiRule.BLOCK_SHAPE, talk(SEARCH, {**FOUND, "content": "none"}, text("hi"))),
    (ApiRule.BLOCK_SHAPE, body(user({"type": "container_upload"}))),
    (ApiRule.BLOCK_SHAPE, talk({"type": "container_upload", "file_id": ""}, text("hi"))),
    (
        ApiRule.BLOCK_SHAPE,
        body(user(text("hi")), assistant(used()), user(answered("c1", {"type": "tool_reference"}))),
    ),
    (ApiRule.BLOCK_TYPE, body(user({"type": "tool_reference", "tool_name": "read"}))),
    (ApiRule.BLANK_TEXT, body(user(text("")))),
    (ApiRule.BLANK_TEXT, body(user(text(" \n")))),
    (ApiRule.BLANK_TEXT, body({"role": "user", "content": " "})),
    (ApiRule.BLANK_TEXT, body(user(text("hi")), assistant(used()), user(answered("c1", text(""))))),
    (ApiRule.FINAL_SPACE, talk(text("go on: "))),
    (ApiRule.FINAL_SPACE, body(user(text("hi")), {"role": "assistant", "content": "go on:\n"})),
    (ApiRule.CALL_ID, call_of(used("call|1"))),
    (ApiRule.CALL_ID, call_of(used("c1\n"))),
    (ApiRule.CALL_ID, call_of(used(""))),
    (ApiRule.CALL_ID, call_of(used("x" * 65))),
    (ApiRule.DUPLICATE_CALL_ID, body(*[*TALK[:3], *TALK[1:3]])),
    (ApiRule.DUPLICATE_CALL_ID, body(user(text("hi")), assistant(used(), used()), user(answered()))),
    (ApiRule.TOOL_NAME, call_of(used(name="re:ad"))),
    (ApiRule.TOOL_NAME, call_of(used(name=""))),
    (ApiRule.TOOL_NAME, call_of(used(name="n" * 129))),
    (ApiRule.MISSING_RESULT, talk(used())),
    (ApiRule.MISSING_RESULT, body(user(text("hi")), assistant(used()), user(text("go on")))),
    (ApiRule.MISSING_RESULT, body(user(text("hi")), assistant(used(), used("c2")), user(answered("c2")))),
    (ApiRule.ORPHAN_RESULT, body(user(answered()))),
    (ApiRule.ORPHAN_RESULT, body(*TALK[:4], user(answered("c1")))),
    (ApiRule.DUPLICATE_RESULT, body(user(text("hi")), assistant(used()), user(answered(), answered()))),
    (ApiRule.RESULT_ORDER, body(user(text("hi")), assistant(used()), user(text("a"), answered()))),
    (
        ApiRule.RESULT_ORDER,
        body(user(text("hi")), assistant(used(), used("c2")), user(answered(), text("a"), answered("c2"))),
    ),
    (ApiRule.EMPTY_ERROR, body(user(text("hi")), assistant(used()), user(answered(is_error=True)))),
    (
        ApiRule.EMPTY_ERROR,
        body(user(text("hi")), assistant(used()), user({**answered(is_error=True), "content": ""})),
    ),
    (
        ApiRule.EMPTY_ERROR,
        body(user(text("hi")), assistant(used()), user(without(answered(is_error=True), "content"))),
    ),
    (
        ApiRule.IMAGE_IN_ERROR,
        body(user(text("hi")), assistant(used()), user(answered("c1", picture(), is_error=True))),
    ),
    (ApiRule.IMAGE_TYPE, body(user(picture(media_type="image/bmp")))),
    (ApiRule.IMAGE_TYPE, body(user(picture(media_type="image/jpeg")))),
    (ApiRule.IMAGE_DATA, body(user(picture("QUJD")))),
    (ApiRule.IMAGE_DATA, body(user(picture("no base64!")))),
    (
        ApiRule.IMAGE_DATA,
        body(user({"type": "image", "source": {"type": "base64", "media_type": "image/png"}})),
    ),
    (ApiRule.IMAGE_DATA, body(user({"type": "image", "source": {}}))),
    (ApiRule.IMAGE_SIZE, body(user(LARGE))),
    (ApiRule.IMAGE_SIZE, body(user(picture(base64(png(8001, 1)))))),
    (ApiRule.IMAGE_SIZE, body(user(*[picture()] * 20, picture(base64(png(1, 2001)))))),
    (ApiRule.IMAGE_SIZE, body(user(text("hi")), assistant(used()), user(answered("c1", LARGE)))),
    (ApiRule.IMAGE_SIZE, body(user(text("hi")), assistant(used()), user(answered("c1", drawn(LARGE))))),
    (ApiRule.IMAGE_COUNT, body(user(*[picture()] * 101))),
    (ApiRule.IMAGE_COUNT, body(user(*[picture()] * 100, drawn(picture())))),
    (ApiRule.UNSIGNED_THINKING, talk(thought(""), text("hi"))),
    (ApiRule.UNSIGNED_THINKING, talk({**HIDDEN, "data": ""}, text("hi"))),
    (ApiRule.FINAL_THINKING, talk(text("hi"), thought())),
    (ApiRule.FINAL_THINKING, body(user(text("hi")), assistant(HIDDEN), user(text("hi")))),
    (ApiRule.COMPACTION_BLOCK, talk(COMPACTION, text("hi"))),
    (ApiRule.COMPACTION_BLOCK, body(user(text("hi"), COMPACTION))),
    (ApiRule.COMPACTION_BLOCK, body(assistant(COMPACTION, COMPACTION, text("hi")))),
    (ApiRule.SERVER_TOOL, talk(SEARCH, text("hi"))),
    (ApiRule.SERVER_TOOL, talk(FOUND, text("hi"))),
    (ApiRule.SERVER_TOOL, talk(FOUND, SEARCH, text("hi"))),
    (ApiRule.SERVER_TOOL, talk({**SEARCH, "id": "call_1"}, {**FOUND, "tool_use_id": "call_1"}, text("hi"))),
    (ApiRule.SERVER_TOOL, talk({**SEARCH, "name": "read_minds"}, FOUND, text("hi"))),
    (ApiRule.CACHE_BREAKPOINTS, body(user(*[cached(text("a"))] * 5))),
    (ApiRule.CACHE_BREAKPOINTS, body(user(*[cached(text("a"))] * 4), cache_control={"type": "ephemeral"})),
    (ApiRule.CACHE_BREAKPOINTS, body(user(cached(text("a")), lasting(text("b"))))),
    (ApiRule.CACHE_BREAKPOINTS, body(user(lasting(text("b"))), system=[cached(text("Be brief."))])),
    (ApiRule.CACHE_BREAKPOINTS, body(user({**text("a"), "cache_control": {"type": "forever"}}))),
    (ApiRule.CACHE_BREAKPOINTS, body(user({**text("a"), "cache_control": True}))),
    (
        ApiRule.CACHE_BREAKPOINTS,
        body(user({**text("a"), "cache_control": {"type": "ephemeral", "ttl": "1d"}})),
    ),
    (ApiRule.CACHE_BREAKPOINTS, body(user({**FOUND_TEXT, "content": [cached(text("a"))] * 5}))),
    (
        ApiRule.CACHE_BREAKPOINTS,
        body(user({**DOCUMENT, "source": {"type": "content", "content": [cached(text("a"))] * 5}})),
    ),
    (
        ApiRule.CACHE_BREAKPOINTS,
        body(
            user(cached(text("hi"))),
            assistant(used()),
            user(cached(answered("c1", cached(text("found"))))),
            system=[cached(text("Be brief."))],
            tools=[cached(TOOLS[0])],
        ),
    ),
    (ApiRule.CACHE_BREAKPOINTS, talk(cached(thought()), text("hi"))),
]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ApiRule)
def test_a_body_that_breaks_one_rule_is_found_to_break_that_one(rule: ApiRule) -> None:
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
    assert rules(broken) == {ApiRule.MODEL, ApiRule.BLANK_TEXT, ApiRule.CALL_ID, ApiRule.TOOL_NAME}


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
    assert all(violation.rule in set(ApiRule) for violation in found)
