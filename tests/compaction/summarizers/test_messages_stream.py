"""Streamed answers, put together, from a server that may count and order them as it likes."""

from __future__ import annotations

import pytest

from compaction.summarizers import SummarizerError
from eventstore.views import Usage
from tests.compaction.summarizers.prompts import claude, never, prompt
from tests.support.messages_api import streams


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
    return {"type": "message_start", "message": message}


def block(kind, *, index=0, **fields):
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def delta(kind, *, index=0, **fields):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def said(text, *, index=0):
    end = {"type": "content_block_stop", "index": index}
    return [block("text", index=index, text=""), delta("text_delta", index=index, text=text), end]


def ended(stop="end_turn", **usage):
    given = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 8, **usage}}
    return {"type": "message_delta", **given}


STOP = {"type": "message_stop"}


@pytest.fixture
def summarized(messages_api):
    return lambda *events: claude(messages_api(streams(*events))).summarize(prompt(), is_cancelled=never)


def test_texts_of_all_blocks_make_one_answer(summarized):
    answer = summarized(begun(), *said("It is "), *said("done.", index=1), ended(), STOP)
    assert answer.text == "It is done."


def test_the_end_counts_the_output_and_the_beginning_the_rest(summarized):
    begin = begun(cache_read_input_tokens=4, cache_creation_input_tokens=5)
    answer = summarized(begin, *said("Done."), ended(), STOP)
    assert answer.usage == Usage(input=3, output=8, cache_read=4, cache_write=5, total=20)


def test_what_the_end_counts_again_takes_the_place_of_the_beginning(summarized):
    answer = summarized(begun(), *said("Done."), ended(input_tokens=30), STOP)
    assert answer.usage == Usage(input=30, output=8, total=38)


def test_counts_that_a_server_leaves_out_are_none(summarized):
    answer = summarized(begun(input_tokens=None), *said("Done."), ended(), STOP)
    assert answer.usage == Usage(output=8, total=8)


def test_an_answer_with_a_text_and_a_call_is_its_text(summarized):
    call = block("tool_use", index=1, id="t", name="bash", input={})
    assert summarized(begun(), *said("Done."), call, ended("tool_use"), STOP).text == "Done."


@pytest.mark.parametrize(
    "events",
    [
        [],
        [STOP],
        [ended(), STOP],
        [begun(), delta("text_delta", text="Done."), ended(), STOP],
        [begun(), block("text", text=""), delta("text_delta", index=7, text="Done."), ended(), STOP],
        [begun(), block("text", text=""), delta("text_delta", text=None), ended(), STOP],
        [begun(), block("text", text=""), {"type": "content_block_delta", "index": 0}, STOP],
        [
            begun(),
            block("tool_use", id="t", name="n", input={}),
            delta("input_json_delta", partial_json="{]"),
            STOP,
        ],
        [{"type": "message_start", "message": None}, ended(), STOP],
        [{"type": "message_start"}, *said("Done."), ended(), STOP],
        [begun(), *said("Done."), {"type": "message_delta", "delta": None, "usage": None}, STOP],
        [begun(), {"type": "content_block_start", "index": 0, "content_block": None}, ended(), STOP],
        [begun(), {"type": "no such event"}, STOP],
    ],
)
def test_events_that_make_no_answer_are_a_failure_of_the_summarizer(summarized, events):
    with pytest.raises(SummarizerError):
        summarized(*events)
