"""Blocks of the API's own, in and out unchanged."""

from __future__ import annotations

import pytest

from projections.requests.anthropic import render
from tests.support.contexts import context_of, repaired, sent
from tests.support.talk import assistant, call, result, text, user

COMPACTION = {"type": "compaction", "content": "what was said", "signature": "seal", "tool_changes": []}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}


def test_a_compaction_block_stands_first_byte_for_byte():
    block = b'{"type":"compaction", "content":"caf\\u00e9","encrypted_content" : "x","signature":"s"}'
    raw = b'{"role":"assistant","content":[%s,{"type":"text","text":"on"}]}' % block
    rendered = render(context_of(raw, user("go")))
    assert b'"messages":[{"role":"assistant","content":[%s,' % block in rendered.body
    assert rendered.repairs == ()


def test_what_a_compaction_block_stands_for_is_left_out():
    talk = [user("a"), assistant("b", COMPACTION, "c"), user("d")]
    assert sent(*talk) == [
        {"role": "assistant", "content": [COMPACTION, text("c")]},
        {"role": "user", "content": [text("d")]},
    ]
    assert repaired(*talk) == [("compaction-block", "e2")]


def test_a_compaction_block_may_stand_in_an_extensions_message():
    talk = [user("a"), {"role": "custom", "content": [COMPACTION, text("on")]}]
    assert sent(*talk) == [{"role": "user", "content": [COMPACTION, text("on")]}]


def test_of_several_compaction_blocks_the_newest_stands():
    newest = {**COMPACTION, "content": "all of it"}
    talk = [user("a"), assistant(COMPACTION, "b"), user("c"), assistant(COMPACTION, newest, "d")]
    assert sent(*talk)[0]["content"] == [newest, text("d")]


def test_a_result_whose_call_a_compaction_block_stands_for_is_text():
    talk = [user("a"), assistant(call("bash")), assistant(COMPACTION, "b"), result("late")]
    assert sent(*talk)[1]["content"] == [text("Result of an earlier call of the tool bash:"), text("late")]


@pytest.mark.parametrize("content", [None, "", 7])
def test_a_compaction_block_without_a_summary_is_left_out(content):
    talk = [user("a"), assistant({**COMPACTION, "content": content}, "b")]
    assert sent(*talk)[1]["content"] == [text("b")]
    assert repaired(*talk) == [("block", "e2")]


def test_a_compaction_block_in_a_result_is_left_out():
    talk = [user("a"), assistant(call("bash")), result("found", COMPACTION)]
    assert sent(*talk)[2]["content"][0]["content"] == [text("found")]
    assert repaired(*talk) == [("block", "e3")]


@pytest.mark.parametrize(
    "block", [DOCUMENT, {"type": "search_result", "source": "s", "title": "t", "content": [text("x")]}]
)
def test_documents_and_search_results_go_as_they_came(block):
    assert sent(user([text("a"), block]))[0]["content"] == [text("a"), block]
    assert sent(user("a"), assistant(call("bash")), result(block))[2]["content"][0]["content"] == [block]


def test_a_document_in_a_failed_calls_result_is_left_out():
    talk = [user("a"), assistant(call("bash")), result("no", DOCUMENT, is_error=True)]
    assert sent(*talk)[2]["content"][0]["content"] == [text("no")]


def test_encrypted_thinking_of_the_apis_own_shape_goes_as_it_came():
    hidden = {"type": "redacted_thinking", "data": "encrypted"}
    assert sent(user("a"), assistant(hidden, "b"))[1]["content"] == [hidden, text("b")]


def test_encrypted_thinking_of_another_model_is_left_out():
    talk = [user("a"), assistant({"type": "redacted_thinking", "data": "encrypted"}, "b", model="n")]
    assert sent(*talk)[1]["content"] == [text("b")]
    assert repaired(*talk) == [("foreign-thinking", "e2")]


def test_a_server_tools_call_and_result_go_as_they_came():
    assert sent(user("a"), assistant(SEARCH, FOUND, "b"))[1]["content"] == [SEARCH, FOUND, text("b")]


@pytest.mark.parametrize("half", [[SEARCH], [FOUND], [FOUND, {**SEARCH, "id": "srvtoolu_2"}]])
def test_half_of_a_server_tools_call_and_result_is_left_out(half):
    talk = [user("a"), assistant(*half, "b")]
    assert sent(*talk)[1]["content"] == [text("b")]
    assert repaired(*talk) == [("block", "e2")] * len(half)


@pytest.mark.parametrize(
    "source",
    [
        {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
        {"type": "url", "url": "https://x"},
        {"type": "file", "file_id": "f1"},
        {"type": "content", "content": "c"},
        {"type": "content", "content": [text("c")]},
    ],
)
def test_a_document_goes_as_it_came_wherever_it_is_from(source):
    document = {"type": "document", "source": source, "title": "t"}
    assert sent(user([document]))[0]["content"] == [document]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document"},
        {"type": "document", "source": {}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": " "}},
        {"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": "d"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "image", "source": {}}]}},
        {**DOCUMENT, "title": 7},
        {"type": "search_result", "source": "s"},
        {"type": "search_result", "source": "s", "title": "t", "content": []},
        {"type": "search_result", "source": "s", "title": "t", "content": [text("\n")]},
        {"type": "container_upload", "file_id": ""},
        {"type": "tool_reference", "tool_name": "of results alone"},
        {"type": "video"},
    ],
)
def test_a_block_without_what_its_type_needs_is_left_out(block):
    talk = [user([text("a"), block])]
    assert sent(*talk)[0]["content"] == [text("a")]
    assert repaired(*talk) == [("block", "e1")]


@pytest.mark.parametrize("wrong", [{"id": "call_1"}, {"id": "srvtoolu_1\n"}, {"name": "read_minds"}])
def test_a_server_tools_call_of_another_provider_is_left_out_with_its_result(wrong):
    search = {**SEARCH, **wrong}
    talk = [user("a"), assistant(search, {**FOUND, "tool_use_id": search["id"]}, "b")]
    assert sent(*talk)[1]["content"] == [text("b")]
    assert repaired(*talk) == [("block", "e2")] * 2


@pytest.mark.parametrize("wrong", [{"signature": 7}, {"encrypted_content": []}, {"tool_changes": "none"}])
def test_a_compaction_block_of_another_shape_stands_for_nothing(wrong):
    talk = [user("a"), assistant({**COMPACTION, **wrong}, "b")]
    assert [message["content"] for message in sent(*talk)] == [[text("a")], [text("b")]]


MARK = {"cache_control": {"type": "ephemeral"}}
LISTED = {"type": "search_result", "source": "s", "title": "t", "content": [text("x")]}


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ({**DOCUMENT, **MARK}, DOCUMENT),
        ({**LISTED, **MARK}, LISTED),
        ({**LISTED, "content": [{**text("x"), **MARK}]}, LISTED),
        (
            {"type": "document", "source": {"type": "content", "content": [{**text("x"), **MARK}]}},
            {"type": "document", "source": {"type": "content", "content": [text("x")]}},
        ),
    ],
)
def test_a_cache_breakpoint_of_an_earlier_request_is_left_out(marked, plain):
    talk = [user([marked])]
    assert sent(*talk)[0]["content"] == [plain]
    assert repaired(*talk) == [("cache-breakpoints", "e1")]


def test_a_cache_breakpoint_on_encrypted_thinking_is_left_out():
    hidden = {"type": "redacted_thinking", "data": "encrypted"}
    assert sent(user("a"), assistant({**hidden, **MARK}, "b"))[1]["content"][0] == hidden


def test_what_a_server_tool_is_given_stays_also_where_it_looks_like_a_breakpoint():
    search = {**SEARCH, "input": {"q": "x", **MARK}}
    talk = [user("a"), assistant(search, FOUND, "b")]
    assert sent(*talk)[1]["content"][0] == search
    assert repaired(*talk) == []


def test_a_block_that_is_nested_too_deeply_is_left_out():
    deep = b'{"type":"document","source":%s}' % (b"[" * 200 + b"]" * 200)
    raw = b'{"role":"user","content":[%s,{"type":"text","text":"a"}]}' % deep
    assert sent(raw)[0]["content"] == [text("a")]


def test_a_block_with_text_that_cannot_be_sent_is_left_out():
    broken = {"type": "document", "source": {"type": "text", "data": "\ud83d"}}
    assert repaired(user([text("a"), broken])) == [("block", "e1")]


def test_a_call_goes_back_with_its_caller_to_the_model_that_made_it_alone():
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    answer = assistant({**call("bash"), "caller": caller, "toolset_name": "shell"})
    talk = [user("a"), answer, result("done")]
    (own,) = sent(*talk)[1]["content"]
    assert (own["caller"], own["toolset_name"]) == (caller, "shell")
    (foreign,) = sent(*talk, model="claude-other")[1]["content"]
    assert not {"caller", "toolset_name"} & foreign.keys()


@pytest.mark.parametrize("caller", [7, ["direct"], {"type": 7}, None])
def test_a_caller_that_is_none_is_left_out(caller):
    answer = assistant({**call("bash"), "caller": caller})
    (own,) = sent(user("a"), answer, result("done"))[1]["content"]
    assert "caller" not in own
