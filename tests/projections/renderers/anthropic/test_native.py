"""Blocks of the API's own, in and out unchanged."""

from __future__ import annotations

import pytest

from projections.renderers.anthropic import render
from tests.support.contexts import context_of, repaired, sent
from tests.support.talk import assistant, call, result, text, user

COMPACTION = {"type": "compaction", "content": "what was said", "signature": "seal", "tool_changes": []}
SEARCH = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"q": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}
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


@pytest.mark.parametrize("half", [[SEARCH], [FOUND], [FOUND, {**SEARCH, "id": "srv2"}]])
def test_half_of_a_server_tools_call_and_result_is_left_out(half):
    talk = [user("a"), assistant(*half, "b")]
    assert sent(*talk)[1]["content"] == [text("b")]
    assert repaired(*talk) == [("block", "e2")] * len(half)


@pytest.mark.parametrize(
    "block", [{"type": "document"}, {"type": "search_result", "source": "s"}, {"type": "video"}]
)
def test_a_block_without_what_its_type_needs_is_left_out(block):
    talk = [user([text("a"), block])]
    assert sent(*talk)[0]["content"] == [text("a")]
    assert repaired(*talk) == [("block", "e1")]


def test_a_block_with_text_that_cannot_be_sent_is_left_out():
    broken = {"type": "document", "source": {"type": "text", "data": "\ud83d"}}
    assert repaired(user([text("a"), broken])) == [("block", "e1")]
