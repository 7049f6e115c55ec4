"""Render conversations for OpenAI's APIs: known bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eventstore.errors import BadInputError
from projections.requests.openai import render_chat, render_responses
from projections.settings import Model
from tests.support.contexts import context_of
from tests.support.pictures import base64, png
from tests.support.talk import assistant, call, image, result, text, thinking, user

SEAL = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
PICTURE = image(base64(png()))
DATA = f"data:image/png;base64,{base64(png())}"


def items(*said: Any, **options: Any) -> list[dict[str, Any]]:
    return json.loads(render_responses(context_of(*said), **options).body)["input"]


def messages(*said: Any, **options: Any) -> list[dict[str, Any]]:
    return json.loads(render_chat(context_of(*said), **options).body)["messages"]


def rules(*said: Any) -> list[str]:
    return [repair.rule for repair in render_responses(context_of(*said)).repairs]


TURN = (
    user("read it"),
    assistant("Yes.", call("read", "c1", path="a"), stop="toolUse"),
    result(text("one"), text("two"), call_id="c1", is_error=False),
    assistant("Done."),
)


def test_a_turn_becomes_items() -> None:
    assert items(*TURN) == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "read it"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "a"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "one\ntwo"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]


def test_a_turn_becomes_chat_messages() -> None:
    function = {"name": "read", "arguments": '{"path": "a"}'}
    assert messages(*TURN) == [
        {"role": "user", "content": "read it"},
        {
            "role": "assistant",
            "content": "Yes.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one\ntwo"},
        {"role": "assistant", "content": "Done."},
    ]


def test_images_of_results_stay_in_outputs() -> None:
    output = items(*TURN[:2], result(text("a"), PICTURE, call_id="c1", is_error=False))[-1]["output"]
    assert [(part["type"], part.get("image_url")) for part in output] == [
        ("input_text", None),
        ("input_image", DATA),
    ]


def test_images_of_results_follow_them_in_chats() -> None:
    sent = messages(*TURN[:2], result(PICTURE, call_id="c1", is_error=False))
    assert sent[2]["content"] == "[images of this result follow]"
    assert sent[3] == {"role": "user", "content": [{"type": "image_url", "image_url": {"url": DATA}}]}


def test_sealed_reasoning_goes_back_to_its_model() -> None:
    thought = thinking("hm", thinkingSignature=json.dumps(SEAL))
    said = user("go"), assistant(thought, "so", provider="openai", model="gpt")
    context = context_of(*said, model=Model(provider="openai", model_id="gpt"))
    assert SEAL in json.loads(render_responses(context).body)["input"]
    assert SEAL not in items(*said)


def test_a_call_without_a_result_gets_one() -> None:
    sent = items(*TURN[:2], user("go on"))
    assert [each["type"] for each in sent] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert rules(*TURN[:2], user("go on")) == ["missing-result"]


def test_a_result_without_a_call_is_text() -> None:
    alone = result(text("one"), call_id="c9", is_error=False)
    content = [
        {"type": "input_text", "text": "Result of an earlier call:"},
        {"type": "input_text", "text": "one"},
    ]
    assert items(alone) == [{"type": "message", "role": "user", "content": content}]


def test_prompt_and_tools_stand_beside_the_input() -> None:
    tools = b'[{"name":"read","description":"d","input_schema":{"type":"object"}}]'
    function = {"name": "read", "description": "d", "parameters": {"type": "object"}}
    responses = json.loads(render_responses(context_of(user("a")), system="Be.", tools=tools).body)
    assert (responses["instructions"], responses["tools"]) == ("Be.", [{"type": "function", **function}])
    chat = json.loads(render_chat(context_of(user("a")), system="Be.", tools=tools).body)
    assert chat["messages"][0] == {"role": "system", "content": "Be."}
    assert chat["tools"] == [{"type": "function", "function": function}]


@pytest.mark.parametrize("tools", [b"{}", b'["a"]', b'[{"name":1}]', b"\xff"])
def test_tools_that_are_none_are_refused(tools: bytes) -> None:
    with pytest.raises(BadInputError):
        render_responses(context_of(user("a")), tools=tools)


def test_nothing_to_send_is_a_violation() -> None:
    assert [each.rule for each in render_responses(context_of()).violations] == ["input"]
    assert [each.rule for each in render_chat(context_of(), model="").violations] == ["model", "messages"]
