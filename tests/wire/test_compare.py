"""The comparer finds known differences, and forgives the gaps of its list only."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.wire.blocks import Block, as_held_by, request_blocks
from tests.wire.compare import Counts, compare, differences_of
from tests.wire.contexts import contexts_in
from tests.wire.masking import mask, mask_prompts
from tests.wire.recording import record, requests_in, unpacked

Json = dict[str, Any]
SESSION = [
    {
        "type": "session",
        "version": 3,
        "id": "s",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/mnt/project",
    },
    {"id": "a", "parentId": None, "message": {"role": "user", "content": "Read a.py.", "timestamp": 1}},
    {
        "id": "b",
        "parentId": "a",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "seal"},
                {"type": "toolCall", "id": "t", "name": "read", "arguments": {"path": "a.py"}},
            ],
            "responseId": "msg_w0001",
            "timestamp": 2,
        },
    },
    {
        "id": "c",
        "parentId": "b",
        "message": {
            "role": "toolResult",
            "toolCallId": "t",
            "toolName": "read",
            "content": [{"type": "text", "text": "return 1"}],
            "isError": False,
            "timestamp": 3,
        },
    },
    {
        "id": "d",
        "parentId": "c",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "One."}],
            "responseId": "msg_w0002",
            "timestamp": 4,
        },
    },
]
ASKED: Json = {"role": "user", "content": "Read a.py."}
CALLED: Json = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "seal"},
        {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a.py"}},
    ],
}
REMINDER = "<system-reminder>\nToday is Monday.\n</system-reminder>"


def result(content: str | list[Json] = "return 1", **more: object) -> Json:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t", "content": content, **more}],
    }


def sent(number: int, *messages: Json, api: str = "messages") -> Json:
    answer = f"msg_w{number:04}"
    return {"number": number, "rule": "", "answer": answer, "api": api, "body": {"messages": list(messages)}}


def run_of(folder: Path, *requests: Json, entries: list[Json] = SESSION) -> Path:
    sessions = folder / "one" / "sessions"
    sessions.mkdir(parents=True)
    entries = [
        entries[0],
        *({"type": "message", "timestamp": "2026-01-01T00:00:00.000Z", **e} for e in entries[1:]),
    ]
    (sessions / "s.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in entries))
    (folder / "one" / "requests.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in requests))
    return folder


def never(_: str) -> bool:
    return False


@pytest.fixture
def context(tmp_path: Path) -> list[Block]:
    """The context of the second answer."""
    return contexts_in(run_of(tmp_path) / "one")["msg_w0002"]


def test_equal_requests_are_counted_as_equal(tmp_path: Path) -> None:
    requests = (sent(1, ASKED), sent(2, ASKED, CALLED, result()), sent(3, ASKED))
    assert compare(run_of(tmp_path, *requests)) == Counts(3, 2, 2, Counter())


@pytest.mark.parametrize(
    ("messages", "kinds"),
    [
        ([ASKED, CALLED, result("return 2")], {"results ≠"}),
        ([ASKED, CALLED, result(is_error=True)], {"results ≠"}),
        ([ASKED, CALLED], {"results +"}),
        ([{**ASKED, "role": "assistant"}, CALLED, result()], {"texts ≠"}),
        ([ASKED, ASKED, CALLED, result()], {"texts \N{MINUS SIGN}"}),
        ([ASKED, {**CALLED, "content": CALLED["content"][:1]}, result()], {"calls +"}),
    ],
)
def test_a_difference_is_named_after_its_blocks(
    context: list[Block], messages: list[Json], kinds: set[str]
) -> None:
    assert differences_of(sent(2, *messages), context, never) == kinds


def test_a_reminder_is_a_gap_unless_recorded(context: list[Block]) -> None:
    reminded = {
        "role": "user",
        "content": [{"type": "text", "text": REMINDER}, {"type": "text", "text": "Read a.py."}],
    }
    request = sent(2, reminded, CALLED, result(f"return 1\n\n{REMINDER}"))
    assert differences_of(request, context, never) == set()
    found = differences_of(request, context, lambda text: text == "Today is Monday.")
    assert found == {
        "reminders \N{MINUS SIGN}",
        "results with reminders \N{MINUS SIGN}",
        "results +",
    }


def test_a_prompt_in_a_reminder_is_compared(context: list[Block]) -> None:
    wrapped = "<system-reminder>\nThe user said:\nRead a.py.\n\nGo on.\n</system-reminder>"
    request = sent(2, {"role": "user", "content": wrapped}, CALLED, result())
    assert differences_of(request, context, lambda text: text == "Read a.py.") == set()
    built = [context[0]._replace(text="Other."), *context[1:]]
    assert differences_of(request, built, lambda text: text == "Read a.py.") == {"texts ≠"}


def test_a_reminder_that_refold_makes_up_differs(context: list[Block]) -> None:
    built = [Block("user", "text", REMINDER), *context]
    assert differences_of(sent(2, ASKED, CALLED, result()), built, never) == {"reminders +"}


def test_a_result_rewritten_later_is_a_gap(tmp_path: Path) -> None:
    requests = (sent(1, ASKED), sent(2, ASKED, CALLED, result("return 2")))
    pruned = {**SESSION[3], "message": {**SESSION[3]["message"], "prunedAt": 1_767_225_600_001}}
    run = run_of(tmp_path, *requests, entries=[*SESSION[:3], pruned, SESSION[4]])
    assert compare(run).equal == 2
    assert compare(run_of(tmp_path / "unpruned", *requests)).equal == 1


def test_a_prefix_of_tools_is_a_gap(context: list[Block]) -> None:
    call = {**CALLED["content"][1], "name": "_read"}
    prefixed = {**CALLED, "content": [CALLED["content"][0], call]}
    assert differences_of(sent(2, ASKED, prefixed, result()), context, never) == set()


def test_images_after_results_are_a_gap_of_chat() -> None:
    image = {"type": "image", "source": {"media_type": "image/png", "data": "eA=="}}
    held = request_blocks("messages", {"messages": [result([{"type": "text", "text": "An image."}, image])]})
    request = sent(
        1,
        {"role": "tool", "tool_call_id": "t", "content": "An image."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Attached image(s) from tool result:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}},
            ],
        },
        api="chat",
    )
    assert differences_of(request, held, never) == set()


def test_three_apis_say_the_same_blocks() -> None:
    chat = [
        ASKED,
        {
            "role": "assistant",
            "reasoning_content": "Hm.",
            "tool_calls": [{"id": "t", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}],
        },
        {"role": "tool", "tool_call_id": "t", "content": "return 1"},
    ]
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Read a.py."}]},
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "seal",
        },
        {"type": "function_call", "call_id": "t", "name": "read", "arguments": '{"path":"a.py"}'},
        {"type": "function_call_output", "call_id": "t", "output": "return 1"},
    ]
    blocks = request_blocks("messages", {"messages": [ASKED, CALLED, result()]})
    assert request_blocks("chat", {"messages": chat}) == as_held_by("chat", blocks)
    assert request_blocks("responses", {"input": items}) == as_held_by("responses", blocks)


def test_a_digest_is_masked_no_further() -> None:
    long = "A sentence of a harness that is longer than any scripted line of a scenario."
    output = "\n".join(f"line {number}" for number in range(20))
    masked = mask({"text": f"<system-reminder>{long}</system-reminder>\nshort", "output": output})
    assert masked == {
        "text": "<system-reminder>[#71a87c871e1b-76]</system-reminder>\nshort",
        "output": "[#89ab53625049-149]",
    }
    assert mask(masked) == masked
    assert mask_prompts({"system": "Be good.", "tools": [{"name": "read"}]}) == {
        "system": "[#8b979bed848c-8]",
        "tools": [{"name": "read"}],
    }


def test_a_recorded_run_gives_its_requests_back(tmp_path: Path) -> None:
    requests = (sent(1, ASKED), sent(2, ASKED, CALLED, result()), sent(3, ASKED, CALLED))
    run = run_of(tmp_path / "run", *requests)
    record(run, tmp_path / "kept.zip")
    with unpacked(tmp_path / "kept.zip") as again:
        kept = requests_in(again / "one" / "requests.jsonl")
        assert compare(again) == compare(run)
    assert [each["body"]["messages"] for each in kept] == [each["body"]["messages"] for each in requests]
    assert [(each["like"], each["keep"]) for each in kept] == [(0, 0), (1, 1), (2, 2)]
