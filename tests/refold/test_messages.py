"""Messages of the API go into a session and come back, block for block."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import pytest
from anthropic.types import ContentBlock, ContentBlockParam, Message, ServerToolUseBlock, TextBlock
from anthropic.types.tool_result_block_param import Content
from hypothesis import given, settings
from hypothesis import strategies as st

import refold
from eventstore.harnesses.refold import messages
from projections.requests.anthropic import render
from tests.support.examples import examples
from tests.support.pictures import base64, png
from tests.support.talk import assistant, call, image, result, shell, text, thinking, user
from tests.support.validator import validate

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
_callers = st.fixed_dictionaries({"type": st.just("direct")}) | st.fixed_dictionaries(
    {"type": st.just("code_execution_20250825"), "tool_id": st.just("srvtoolu_9")}
)
_calls = st.fixed_dictionaries(
    {"type": st.just("tool_use"), "name": st.sampled_from(["bash", "read"]), "input": _object},
    optional={"caller": _callers, "toolset_name": _text},
)
_RUN = {"content": [], "return_code": 0, "stderr": "", "stdout": "done"}
_PAGE = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "all"},
    "title": None,
}
SERVER_TOOLS: Final[dict[str, tuple[str, list[Any]]]] = {
    "web_search": (
        "web_search_tool_result",
        [
            [
                {
                    "type": "web_search_result",
                    "encrypted_content": "abc",
                    "page_age": None,
                    "title": "t",
                    "url": "https://example.org",
                }
            ],
            {"type": "web_search_tool_result_error", "error_code": "unavailable"},
        ],
    ),
    "web_fetch": (
        "web_fetch_tool_result",
        [
            {
                "type": "web_fetch_result",
                "url": "https://example.org",
                "retrieved_at": None,
                "content": {**_PAGE, "citations": {"enabled": True}},
            },
            {"type": "web_fetch_tool_result_error", "error_code": "unavailable"},
        ],
    ),
    "code_execution": ("code_execution_tool_result", [{"type": "code_execution_result", **_RUN}]),
    "bash_code_execution": (
        "bash_code_execution_tool_result",
        [{"type": "bash_code_execution_result", **_RUN}],
    ),
    "text_editor_code_execution": (
        "text_editor_code_execution_tool_result",
        [{"type": "text_editor_code_execution_create_result", "is_file_update": False}],
    ),
    "tool_search_tool_regex": (
        "tool_search_tool_result",
        [
            {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "read"}],
            }
        ],
    ),
    "tool_search_tool_bm25": (
        "tool_search_tool_result",
        [{"type": "tool_search_tool_result_error", "error_code": "unavailable", "error_message": None}],
    ),
}
"""From tools that the API runs itself to the type of their results, and contents that those have."""


@st.composite
def served(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A call of a tool that the API runs itself, and its result."""
    name = draw(st.sampled_from(sorted(SERVER_TOOLS)))
    type_, contents = SERVER_TOOLS[name]
    caller = draw(st.just({}) | st.fixed_dictionaries({"caller": _callers}))
    return [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": draw(_object), **caller},
        {"type": type_, "tool_use_id": "srvtoolu_1", "content": draw(st.sampled_from(contents))},
    ]


_uploads = st.fixed_dictionaries({"type": st.just("container_upload"), "file_id": _text})


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """A Message as the API sends it."""
    blocks = draw(st.lists(_thinking | _redacted | _texts | _cited | _uploads, max_size=4))
    if draw(st.booleans()):
        blocks += draw(served())
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
        "usage": {
            "input_tokens": 7,
            "output_tokens": 3,
            "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 2,
        },
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


_referred = st.fixed_dictionaries({"type": st.just("tool_reference"), "tool_name": _text})
_RESULTS = _shown | _document | _found | _referred
_TURNS = _shown | _document | _found | _uploads


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A user's blocks, an answer, and what a user says to that: results of its calls, then other blocks."""
    answer = draw(answers())
    results = []
    for block in answer["content"]:
        if block["type"] != "tool_use":
            continue
        is_error = draw(st.booleans())
        content = draw(st.lists(_texts if is_error else _RESULTS, min_size=1, max_size=2))
        failed = {"is_error": True} if is_error else {}
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": content}
        results.append({**result, **failed})
    begun = {"role": "user", "content": draw(st.lists(_TURNS, min_size=1, max_size=2))}
    more = draw(st.lists(_TURNS, min_size=0 if results else 1, max_size=2))
    return [begun, answer, {"role": "user", "content": [*results, *more]}]


def types_of(*union: Any) -> set[str]:
    """The types of blocks in a union of the client."""
    members = [get_args(each)[0] if get_origin(each) is Annotated else each for each in union]
    blocks = [block for each in members for block in (get_args(each) or (each,))]
    return {get_args(annotation(block, "type"))[0] for block in blocks}


def annotation(block: Any, field: str) -> Any:
    if hasattr(block, "model_fields"):
        return block.model_fields[field].annotation
    return get_type_hints(block)[field]


def test_the_property_is_tried_on_every_block_that_the_client_may_answer_with() -> None:
    server_tools = {"server_tool_use", *(type_ for type_, _ in SERVER_TOOLS.values())}
    tried = {"text", "thinking", "redacted_thinking", "tool_use", "container_upload"} | server_tools
    assert types_of(ContentBlock) == tried
    names = get_args(annotation(ServerToolUseBlock, "name"))
    assert set(names) == set(SERVER_TOOLS)


def test_every_block_that_the_client_sends_is_known_but_for_the_state_of_a_browser() -> None:
    assert types_of(ContentBlockParam) <= {*messages._TURN, *messages._ANSWER}
    assert types_of(Content) - set(messages._RESULT) == {"browser_state"}


@pytest.mark.slow
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
        asked = render(context)
        assert (asked.repairs, validate(asked.body)) == ((), [])


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


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


def used(input_: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "a", "name": "b", "input": input_}


NOT_MESSAGES: Final[list[tuple[Any, str]]] = [
    ("hello", "a message of type str"),
    (b"hello", "a message of type bytes"),
    ({"role": "system", "content": "be kind"}, "message of role 'system'"),
    ({"role": ["user"], "content": "x"}, "message of role ['user']"),
    ({"content": "who says it?"}, "message"),
    ({"role": "assistant"}, "message"),
    ({"role": "user"}, "message"),
    ({"role": "toolResult", "content": "x"}, "message"),
    ({"role": "bashExecution"}, "message"),
    ({"role": "bashExecution", "command": 7}, "message.command"),
    ({"role": "assistant", "content": "x", "usage": 7}, "message.usage"),
    ({"role": "assistant", "content": "x", "usage": {"input_tokens": "many"}}, "message.usage.input_tokens"),
    ({"role": "assistant", "content": "x", "model": 7}, "message.model"),
    ({"role": "assistant", "content": "x", "stop_reason": ["x"]}, "message.stop_reason"),
    ({"role": "assistant", "content": [used({"a": nested(3000)})]}, "message"),
]
NOT_CONTENT: Final[list[tuple[str, Any, str]]] = [
    *(("user", content, "") for content in (7, b"x", "", " \n", [], {"type": "text", "text": "a"})),
    *(("user", [block], "[0]") for block in (7, None, "x", b"x", {}, {"type": 7}, {"type": ["text"]})),
    ("user", [{"type": "text", "text": "a"}, {"type": "video"}], "[1]"),
    ("user", [{"type": "text"}], "[0]"),
    ("user", [{"type": "text", "text": 7}], "[0].text"),
    ("user", [{"type": "text", "text": b"x"}], "[0].text"),
    ("user", [{"type": "text", "text": " "}], "[0].text"),
    ("user", [{"type": "tool_result"}], "[0]"),
    ("user", [{"type": "tool_result", "tool_use_id": 7}], "[0].tool_use_id"),
    ("user", [{"type": "tool_result", "tool_use_id": "a", "content": 7}], "[0].content"),
    ("user", [{"type": "tool_result", "tool_use_id": "a", "content": [7]}], "[0].content[0]"),
    ("user", [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "video"}]}], "[0].content[0]"),
    ("user", [{"type": "tool_result", "tool_use_id": "a", "is_error": "no"}], "[0].is_error"),
    ("user", [{"type": "image"}], "[0]"),
    ("user", [{"type": "image", "data": "abc"}], "[0]"),
    ("user", [{"type": "image", "data": "!!!", "mimeType": "image/png"}], "[0].data"),
    (
        "user",
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "!!!"}}],
        "[0].source.data",
    ),
    ("user", [{"type": "tool_result", "tool_use_id": "unknown"}], "[0].tool_use_id"),
    ("user", [{"type": "image", "source": {"type": "url", "url": "https://a"}}], "[0].source"),
    ("user", [{"type": "image", "source": {"type": "base64", "media_type": "image/png"}}], "[0].source"),
    ("user", [{"type": "document", "source": {"type": "text"}}], "[0].source"),
    ("user", [used({})], "[0]"),
    ("assistant", 7, ""),
    ("assistant", [{"type": "video"}], "[0]"),
    ("assistant", [{"type": "tool_use", "name": "b", "input": {}}], "[0]"),
    ("assistant", [used(7)], "[0].input"),
    ("assistant", [{"type": "tool_result", "tool_use_id": "a"}], "[0]"),
    ("assistant", [{"type": "thinking", "thinking": "x", "signature": 7}], "[0].signature"),
    ("assistant", [{"type": "redacted_thinking"}], "[0]"),
    ("assistant", [{"type": "server_tool_use"}], "[0]"),
    *(("assistant", [used({"a": bad})], "[0].input.a") for bad in (b"x", {1}, object(), math.nan, math.inf)),
    ("assistant", [used({7: "a"})], "[0].input"),
]


@pytest.mark.parametrize(
    ("message", "source"),
    [
        *NOT_MESSAGES,
        *(({"role": role, "content": value}, f"message.content{path}") for role, value, path in NOT_CONTENT),
    ],
)
def test_what_no_request_can_carry_is_refused_with_its_place_and_nothing_is_stored(
    tmp_path: Path, message: Any, source: str
) -> None:
    with refold.open(tmp_path / "store") as store:
        session = store.new("s")
        with pytest.raises(refold.BadInputError) as refused:
            session.append(message)
        assert refused.value.source == source
        assert list(store) == []


def test_an_answer_may_be_empty_and_so_may_a_result(tmp_path: Path) -> None:
    with refold.open(tmp_path / "store") as store:
        session = store.new()
        silent = {"type": "tool_result", "tool_use_id": "a", "content": ""}
        session.append({"role": "user", "content": "go"})
        session.append({"role": "assistant", "content": [used({})]})
        session.append({"role": "user", "content": [silent]})
        session.append({"role": "assistant", "content": []})
        sent: Any = session.context().messages()
    assert sent[2]["content"] == [{"type": "tool_result", "tool_use_id": "a"}]


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


def test_messages_go_to_openai_too(tmp_path: Path) -> None:
    with refold.open(tmp_path / "store") as store:
        session = store.new()
        session.append({"role": "user", "content": "hi"})
        context = session.context()
        assert context.messages("openai-chat") == [{"role": "user", "content": "hi"}]
        parts = [{"type": "input_text", "text": "hi"}]
        assert context.messages("openai-responses") == [{"type": "message", "role": "user", "content": parts}]
        with pytest.raises(refold.BadInputError):
            context.messages("gemini")  # type: ignore[arg-type]
