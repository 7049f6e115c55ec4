"""The scripted model: rules answer requests in order, usage grows, and each API streams what it says."""

from __future__ import annotations

import json
from http.client import IncompleteRead
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import pytest

from tests.wire.model import ModelServer, Rule
from tests.wire.replies import OVERLOADED, Call, Reply, Thinking, say
from tests.wire.scenarios.common import ends_with, offers

SAID = say(Thinking("Think."), "Read it.", Call("read", {"path": "a.py"}))
PATHS = {"messages": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}


def request(text: str, *, api: str = "messages", streams: bool = False) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    tools = [{"name": "read"}]
    field = "input" if api == "responses" else "messages"
    return {"model": "stub-1", field: messages, "tools": tools, "stream": streams}


def post(model: ModelServer, body: dict[str, Any], path: str = PATHS["messages"]) -> str:
    data = json.dumps(body).encode()
    with urlopen(HttpRequest(model.url + path, data)) as response:  # noqa: S310  loopback
        return response.read().decode()  # type: ignore[no-any-return]


def always(*replies: Reply) -> Rule:
    return Rule("main", lambda _: True, replies)


@pytest.mark.slow
def test_the_first_rule_that_fits_answers() -> None:
    rules = [
        Rule("fits not", offers("write"), [say("no")]),
        Rule("once", ends_with("first"), [say("one")]),
        always(say("two")),
    ]
    with ModelServer(rules) as model:
        answers = [json.loads(post(model, request(text))) for text in ("first", "first", "first")]
    assert [answer["content"][0]["text"] for answer in answers] == ["one", "two", "OK."]
    assert [(each.rule, each.answer) for each in model.answered] == [
        ("once", "msg_w0001"),
        ("main", "msg_w0002"),
        ("", "msg_w0003"),
    ]


@pytest.mark.slow
def test_usage_grows_and_a_repeated_beginning_is_cached() -> None:
    long = request("x" * 4000)
    longer = {**long, "messages": [*long["messages"], {"role": "user", "content": "y" * 4000}]}
    with ModelServer([], factor=2) as model:
        first, second = (json.loads(post(model, body))["usage"] for body in (long, longer))
    sent = [sum(usage[name] for name in usage if name != "output_tokens") for usage in (first, second)]
    assert sent == [2025, 4041]
    assert [usage["cache_read_input_tokens"] for usage in (first, second)] == [0, 2025]


@pytest.mark.slow
def test_an_error_is_sent_with_its_status() -> None:
    with ModelServer([always(OVERLOADED)]) as model, pytest.raises(HTTPError) as refused:
        post(model, request("hello"))
    assert (refused.value.code, refused.value.headers["retry-after"]) == (529, "1")
    assert json.loads(refused.value.read())["error"]["type"] == "overloaded_error"
    assert [each.answer for each in model.answered] == [""]


@pytest.mark.slow
def test_a_cut_answer_ends_in_the_middle() -> None:
    with ModelServer([always(say("a text", is_cut=True))]) as model, pytest.raises(IncompleteRead) as cut:
        post(model, request("hello", streams=True))
    assert b"message_start" in cut.value.partial
    assert b"message_stop" not in cut.value.partial


def events(stream: str) -> list[dict[str, Any]]:
    data = (line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: "))
    return [json.loads(each) for each in data if each != "[DONE]"]


@pytest.mark.slow
def test_messages_stream_thinking_text_and_calls() -> None:
    with ModelServer([always(SAID)]) as model:
        streamed = events(post(model, request("hello", streams=True)))
    deltas = [event["delta"] for event in streamed if event["type"] == "content_block_delta"]
    assert "".join(delta.get("thinking", "") for delta in deltas) == "Think."
    assert "".join(delta.get("text", "") for delta in deltas) == "Read it."
    assert [json.loads(delta["partial_json"]) for delta in deltas if "partial_json" in delta] == [
        {"path": "a.py"}
    ]
    assert streamed[-2]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.slow
def test_responses_stream_items_and_the_whole_answer() -> None:
    with ModelServer([always(SAID)]) as model:
        body = request("hello", api="responses", streams=True)
        streamed = events(post(model, body, PATHS["responses"]))
    items = [event["item"]["type"] for event in streamed if event["type"] == "response.output_item.done"]
    assert items == ["reasoning", "message", "function_call"]
    assert streamed[-1]["response"]["status"] == "completed"


@pytest.mark.slow
def test_chat_streams_reasoning_text_and_calls() -> None:
    with ModelServer([always(SAID)]) as model:
        streamed = events(post(model, request("hello", streams=True), PATHS["chat"]))
    deltas = [choice["delta"] for event in streamed for choice in event["choices"]]
    assert {name for delta in deltas for name in delta} == {
        "role",
        "reasoning_content",
        "content",
        "tool_calls",
    }
    assert streamed[-2]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.slow
def test_each_api_answers_whole_without_a_stream() -> None:
    for api, path in PATHS.items():
        with ModelServer([always(SAID)]) as model:
            answer = json.loads(post(model, request("hello", api=api), path))
        assert answer["id"] == model.answered[0].answer
        assert "a.py" in json.dumps(answer)
