"""The events of an answer, put together."""

from __future__ import annotations

import pytest
from anthropic.types import RawMessageStreamEvent
from pydantic import TypeAdapter

from compaction.summarizers.anthropic import read
from eventstore.views import Usage

_EVENT = TypeAdapter(RawMessageStreamEvent)


def begun(**usage):
    message = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1, **usage},
    }
    return _EVENT.validate_python({"type": "message_start", "message": message})


def block(kind, **fields):
    content = {"type": kind, **fields}
    return _EVENT.validate_python({"type": "content_block_start", "index": 0, "content_block": content})


def delta(kind, **fields):
    return _EVENT.validate_python(
        {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **fields}}
    )


def ended(stop="end_turn", **usage):
    given = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 8, **usage}}
    return _EVENT.validate_python({"type": "message_delta", **given})


def test_texts_of_all_blocks_make_one_answer():
    events = [begun(), delta("text_delta", text="It is "), delta("text_delta", text="done."), ended()]
    assert read(events).text == "It is done."


def test_thoughts_and_arguments_are_passed_over():
    events = [delta("thinking_delta", thinking="hm"), delta("input_json_delta", partial_json="{}")]
    assert read(events).text == ""


def test_the_end_counts_the_output_and_the_beginning_the_rest():
    usage = read([begun(cache_read_input_tokens=4, cache_creation_input_tokens=5), ended()]).usage
    assert usage == Usage(input=3, output=8, cache_read=4, cache_write=5, total=20)


def test_what_the_end_counts_again_takes_the_place_of_the_beginning():
    assert read([begun(), ended(input_tokens=30)]).usage == Usage(input=30, output=8, total=38)


def test_an_answer_that_never_began_used_nothing_that_is_known():
    assert read([]).usage is None


def test_an_answer_without_an_end_has_no_reason_for_it():
    assert read([begun(), delta("text_delta", text="It")]).stop_reason == ""


@pytest.mark.parametrize(
    ("stop", "is_cut"),
    [("end_turn", False), ("max_tokens", True), ("model_context_window_exceeded", True), ("refusal", False)],
)
def test_an_answer_is_cut_where_it_got_as_long_as_it_may(stop, is_cut):
    assert read([begun(), ended(stop)]).is_cut is is_cut


def test_a_call_of_a_tool_is_noticed():
    assert read([begun(), block("tool_use", id="t", name="bash", input={}), ended("tool_use")]).calls_tool


def test_a_text_is_no_call():
    assert not read([begun(), block("text", text="", citations=None), ended()]).calls_tool
