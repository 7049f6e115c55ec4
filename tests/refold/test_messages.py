"""Messages of the API go into a session and come back, block for block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message, TextBlock
from hypothesis import given, settings
from hypothesis import strategies as st

import refold
from projections.requests import request
from tests.support.examples import examples
from tests.support.pictures import base64, png
from tests.support.talk import assistant, call, image, result, shell, text, thinking, user

MODEL = "claude-test-1"
_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9).map(
    lambda said: f"a{said}z"
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_text, inner, max_size=2),
    max_leaves=4,
)
_object = st.dictionaries(_text, _json, max_size=3)
_texts = st.fixed_dictionaries({"type": st.just("text"), "text": _text})
_cited = st.fixed_dictionaries(
    {
        "type": st.just("text"),
        "text": _text,
        "citations": st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.just("char_location"),
                    "cited_text": _text,
                    "document_index": st.integers(0, 3),
                    "document_title": st.none() | _text,
                    "start_char_index": st.integers(0, 9),
                    "end_char_index": st.integers(10, 19),
                }
            ),
            min_size=1,
            max_size=2,
        ),
    }
)
_thinking = st.fixed_dictionaries({"type": st.just("thinking"), "thinking": _text, "signature": _text})
_redacted = st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": _text})
_calls = st.fixed_dictionaries(
    {"type": st.just("tool_use"), "name": st.sampled_from(["bash", "read"]), "input": _object}
)


def _search(query: str) -> list[dict[str, Any]]:
    """A server tool's call and its result."""
    return [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": query}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {
                    "type": "web_search_result",
                    "encrypted_content": "abc",
                    "page_age": None,
                    "title": query,
                    "url": "https://example.org",
                }
            ],
        },
    ]


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """A Message as the API sends it."""
    blocks = draw(st.lists(_thinking | _redacted | _texts | _cited, max_size=4))
    if draw(st.booleans()):
        blocks += _search(draw(_text))
    blocks += [draw(_texts)]
    calls = draw(st.lists(_calls, max_size=2))
    blocks += [{**call, "id": f"toolu_{number}"} for number, call in enumerate(calls)]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 5},
    }


_PNG = base64(png())
_shown: st.SearchStrategy[dict[str, Any]] = _texts | st.just(
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}}
)
_document = st.just(
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "all"}, "title": "d"}
)
_found = st.just(
    {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "found"}]}
)


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A user's blocks, an answer, and what a user says to that: results of its calls, then other blocks."""
    answer = draw(answers())
    results = []
    for block in answer["content"]:
        if block["type"] != "tool_use":
            continue
        is_error = draw(st.booleans())
        content = draw(st.lists(_texts if is_error else _shown | _document | _found, min_size=1, max_size=2))
        failed = {"is_error": True} if is_error else {}
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": content}
        results.append({**result, **failed})
    begun = {"role": "user", "content": draw(st.lists(_shown | _document, min_size=1, max_size=2))}
    more = draw(st.lists(_shown | _found, min_size=0 if results else 1, max_size=2))
    return [begun, answer, {"role": "user", "content": [*results, *more]}]


@settings(max_examples=examples(200))
@given(turn=turns(), is_object=st.booleans())
def test_the_request_has_the_blocks_that_were_appended(
    turn: list[dict[str, Any]], *, is_object: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with refold.open(tmp_path_factory.mktemp("front") / "store") as store:
        session = store.new()
        for message in turn:
            is_answer = message["role"] == "assistant"
            session.append(Message.model_validate(message) if is_answer and is_object else message)
        context = session.context()
        told: Any = context.messages()
        assert [each["content"] for each in told] == [each["content"] for each in turn]
        assert [each["role"] for each in told] == ["user", "assistant", "user"]
        asked = request(context, "anthropic")
        assert (asked.repairs, asked.violations) == ((), ())


def test_an_answer_is_stored_in_the_shape_of_pi(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "seal"},
        {"type": "redacted_thinking", "data": "secret"},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}, "caller": None},
    ]
    usage = {
        "input_tokens": 7,
        "output_tokens": 3,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 2,
        "cache_creation": {"ephemeral_1h_input_tokens": 1, "ephemeral_5m_input_tokens": 1},
    }
    answer = Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": blocks,
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": usage,
        }
    )
    with refold.open(tmp_path / "store") as store:
        session = store.new()
        session.append({"role": "user", "content": "list"})
        session.append(answer)
        results = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py", "is_error": False}]
        session.append({"role": "user", "content": results})
        context = session.context()
    stored = [json.loads(part.raw) for part in context.parts]
    assert stored == [
        {"role": "user", "content": "list"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"},
                {
                    "type": "thinking",
                    "thinking": "[Reasoning redacted]",
                    "thinkingSignature": "secret",
                    "redacted": True,
                },
                {"type": "toolCall", "id": "toolu_1", "name": "bash", "arguments": {"command": "ls"}},
            ],
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": MODEL,
            "responseId": "msg_1",
            "usage": {
                "input": 7,
                "output": 3,
                "cacheRead": 5,
                "cacheWrite": 2,
                "totalTokens": 17,
                "cacheWrite1h": 1,
            },
            "stopReason": "toolUse",
        },
        {
            "role": "toolResult",
            "toolCallId": "toolu_1",
            "toolName": "bash",
            "content": [{"type": "text", "text": "a.py"}],
            "isError": False,
        },
    ]


@pytest.mark.parametrize(
    "message",
    [
        user("hello"),
        user([text("look"), image()]),
        assistant(thinking("hm", thinkingSignature="s"), call("read", path="a.py"), tokens=40),
        result("what it says", tool="read"),
        shell("make", "done"),
    ],
)
def test_a_message_in_refolds_own_shape_stays_as_it_is(tmp_path: Path, message: dict[str, Any]) -> None:
    with refold.open(tmp_path / "store") as store:
        session = store.new()
        session.append(message)
        assert [json.loads(part.raw) for part in session.context().parts] == [message]


def test_the_clients_own_blocks_may_be_sent_back_in_a_dict(tmp_path: Path) -> None:
    with refold.open(tmp_path / "store") as store:
        session = store.new()
        session.append({"role": "user", "content": "go"})
        session.append(
            {"role": "assistant", "content": [TextBlock(type="text", text="gone", citations=None)]}
        )
        session.append({"role": "user", "content": "on"})
        told: Any = session.context().messages()
    assert told[1] == {"role": "assistant", "content": [{"type": "text", "text": "gone"}]}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": "be kind"},
        {"content": "who says it?"},
        "hello",
        {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://a"}}]},
        {"role": "user", "content": 7},
    ],
)
def test_what_no_session_holds_is_refused_and_nothing_is_stored(tmp_path: Path, message: Any) -> None:
    with refold.open(tmp_path / "store") as store:
        session = store.new("s")
        with pytest.raises(refold.BadInputError):
            session.append(message)
        assert list(store) == []


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_thinking_of_another_provider_is_not_sent(tmp_path: Path, provider: str) -> None:
    told = assistant(thinking("hm", thinkingSignature="seal"), "hello", provider=provider)
    with refold.open(tmp_path / "store") as store:
        session = store.new()
        for message in (user("hi"), told, user("and?")):
            session.append(message)
        sent: Any = session.context().messages()
    kinds = [block["type"] for block in sent[1]["content"]]
    assert kinds == (["text"] if provider == "openai" else ["thinking", "text"])
