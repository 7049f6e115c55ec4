"""Answers of OpenAI's Responses API are stored as they came."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eventstore.errors import BadInputError
from eventstore.harnesses.refold.messages import stored_messages

SEAL = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "x",
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}


def stored(*output: Any, **fields: Any) -> dict[str, Any]:
    response = {"id": "resp_1", "object": "response", "model": "gpt", "output": [*output], **fields}
    (message,) = stored_messages(response, lambda _: "")
    return message


def test_items_become_blocks() -> None:
    thought, text, call = stored(SEAL, SAID, CALL)["content"]
    assert (thought["thinking"], json.loads(thought["thinkingSignature"])) == ("hm", SEAL)
    assert text == {"type": "text", "text": "Yes."}
    assert call == {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}


def test_a_refusal_is_a_text() -> None:
    said = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    assert stored(said)["content"] == [{"type": "text", "text": "No."}]


def test_arguments_that_are_no_json_stay() -> None:
    assert stored({**CALL, "arguments": "{"})["content"][0]["arguments"] == "{"


@pytest.mark.parametrize(
    ("output", "fields", "stop"),
    [
        ([SAID], {"status": "completed"}, "stop"),
        ([CALL], {"status": "completed"}, "toolUse"),
        ([SAID], {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ([], {"status": "failed"}, "error"),
    ],
)
def test_stop_reasons_are_pis(output: list[Any], fields: dict[str, Any], stop: str) -> None:
    assert stored(*output, **fields)["stopReason"] == stop


def test_cached_tokens_are_counted_once() -> None:
    usage = {"input_tokens": 90, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 70}}
    counts = stored(SAID, usage=usage)["usage"]
    assert counts == {"input": 20, "output": 5, "cacheRead": 70, "cacheWrite": 0, "totalTokens": 95}


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ([SAID, {"type": "web_search_call"}], "message.output[1]"),
        ([{**CALL, "name": 3}], "message.output[0].name"),
        ([{"type": "message", "content": "a"}], "message.output[0].content"),
    ],
)
def test_items_that_cannot_be_stored_are_named(output: list[Any], source: str) -> None:
    with pytest.raises(BadInputError) as refused:
        stored(*output)
    assert refused.value.source == source
