"""Contexts written as files of Codex and opencode, record by record."""

from __future__ import annotations

import json
from typing import Any

from eventstore.harnesses import harness
from eventstore.harnesses.resumable import Resumable, ResumableMessage, ResumableSummary, Written
from eventstore.views import Block, Image, Message, Opaque, Payload, Text, Thinking, ToolCall

Json = dict[str, Any]
TIME = 1_700_000_000_000
ITEM = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}'
PICTURE = Payload(raw=b"", image="aGk=")
NOTHING = Payload(raw=b"")
MODEL = {"provider": "openai", "model": "gpt"}


def user(*blocks: Block, **more: Any) -> ResumableMessage:
    payloads = [PICTURE if isinstance(block, Image) else NOTHING for block in blocks]
    view = Message(role="user", blocks=blocks)
    return ResumableMessage(view=view, payloads=payloads, time=TIME, by_person=True, **more)


def answer(*blocks: Block, **more: Any) -> ResumableMessage:
    view = Message(role="assistant", blocks=blocks, **{**MODEL, **more})
    return ResumableMessage(view=view, time=TIME)


def result(call: str, *blocks: Block, is_error: bool = False) -> ResumableMessage:
    payloads = [PICTURE if isinstance(block, Image) else NOTHING for block in blocks]
    view = Message(role="toolResult", blocks=blocks, tool_call_id=call, is_error=is_error)
    return ResumableMessage(view=view, payloads=payloads, time=TIME)


def call(name: str) -> ToolCall:
    return ToolCall(name, "read", b'{"path":"a.py"}')


def written(form: str, *messages: ResumableMessage, summary: str = "") -> Written:
    made = ResumableSummary(text=summary, shown=f"Earlier: {summary}", time=TIME) if summary else None
    resumable = Resumable(source="s", key=b"key", messages=messages, summary=made, time=TIME, **MODEL)
    found = harness(form).written(resumable)
    assert found is not None
    return found


def payloads(found: Written, type_: str) -> list[Json]:
    lines = map(json.loads, found.pieces)
    return [line["payload"] for line in lines if line["type"] == type_]


def of_opencode(found: Written) -> list[Json]:
    messages: list[Json] = json.loads(b"".join(found.pieces))["messages"]
    return messages


def test_codex_compactions_name_what_they_keep() -> None:
    kept = user(Text("kept"), is_kept=True)
    found = written("codex", kept, user(Text("new")), summary="It went well.")
    (compacted,) = payloads(found, "compacted")
    assert compacted["message"] == "It went well."
    texts = [item["content"][0]["text"] for item in compacted["replacement_history"]]
    assert texts == ["Earlier: It went well.", "kept"]
    assert [item["content"][0]["text"] for item in payloads(found, "response_item")] == ["new"]


def test_codex_items_are_sent_as_recorded() -> None:
    recorded = b'{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"x"}'
    message = ResumableMessage(view=Message(role="assistant", blocks=()), items=(recorded,), time=TIME)
    assert payloads(written("codex", message), "response_item") == [json.loads(recorded)]


def test_codex_has_items_for_all_but_foreign_seals() -> None:
    found = written(
        "codex",
        user(Text("look"), Image("image/png", 4), Opaque("document", 9)),
        answer(Thinking("Hm.", ITEM), Thinking("Hm.", "of Anthropic"), Text("ok"), call(f"{'a' * 99}|fc_1")),
        result("a" * 99, Text("one"), Text("two"), is_error=True),
    )
    said, thought, text, called, output = payloads(found, "response_item")
    assert said["content"][1] == {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
    assert (thought, text["content"][0]["text"]) == (json.loads(ITEM), "ok")
    assert called["call_id"] == output["call_id"]
    assert len(called["call_id"]) == 64
    assert [part["text"] for part in output["output"]] == ["one", "two"]
    assert found.lost == {
        "blocks of type 'document'": 1,
        "thoughts of other APIs": 1,
        "marks of failed results": 1,
    }


def test_opencode_compactions_name_their_tail() -> None:
    found = of_opencode(
        written("opencode", user(Text("kept"), is_kept=True), user(Text("new")), summary="It went well.")
    )
    kept, question, summary, new = found
    (asked,) = question["parts"]
    assert (asked["type"], asked["tail_start_id"]) == ("compaction", kept["info"]["id"])
    assert (summary["info"]["summary"], summary["info"]["parentID"]) == (True, question["info"]["id"])
    assert summary["parts"][1]["text"] == "It went well."
    assert new["parts"][0]["text"] == "new"
    assert (names := [each["info"]["id"] for each in found]) == sorted(names)


def test_opencode_compactions_without_tail_name_none() -> None:
    question, *_ = of_opencode(written("opencode", user(Text("new")), summary="It went well."))
    assert "tail_start_id" not in question["parts"][0]


def test_opencode_calls_have_their_results() -> None:
    found = written(
        "opencode",
        answer(call("1"), call("2"), call("3")),
        result("2", Text("bad"), is_error=True),
        result("1", Text("one"), Text("two"), Image("image/png", 4)),
    )
    (message,) = of_opencode(found)
    states = [part["state"] for part in message["parts"] if part["type"] == "tool"]
    assert [state["status"] for state in states] == ["completed", "error", "pending"]
    assert (states[0]["output"], states[1]["error"]) == ("one\ntwo", "bad")
    (picture,) = states[0]["attachments"]
    assert (picture["url"], picture["messageID"]) == ("data:image/png;base64,aGk=", message["info"]["id"])


def test_opencode_results_of_one_id_stay_apart() -> None:
    turns = [each for text in ("one", "two") for each in (answer(call("1")), result("1", Text(text)))]
    found = of_opencode(written("opencode", *turns))
    assert [each["parts"][1]["state"]["output"] for each in found] == ["one", "two"]


def test_opencode_gets_no_tool_of_the_api() -> None:
    found = written("opencode", answer(ToolCall("1", "tool_search", b'{"query":"a"}')))
    (_, called, _) = of_opencode(found)[0]["parts"]
    assert (called["tool"], called["state"]["input"]) == ("tool_search_call", {"query": "a"})
    assert found.lost == {"names of calls to 'tool_search'": 1}


def test_claude_code_gets_no_unanswered_call() -> None:
    found = written("claude-code", answer(call("1")), result("1", Text("one")), answer(call("1"), Text("ok")))
    contents = [json.loads(line)["message"]["content"][0]["type"] for line in found.pieces]
    assert contents == ["tool_use", "tool_result", "text"]
    assert found.lost == {"calls without a result": 1}


def test_opencode_keeps_thoughts_of_the_model_in_use() -> None:
    found = written(
        "opencode",
        answer(Thinking("Hm.", ITEM), Text("a")),
        answer(Thinking("Oh.", "x"), Text("b"), model="other"),
    )
    kinds = [[part["type"] for part in each["parts"][1:-1]] for each in of_opencode(found)]
    assert kinds == [["reasoning", "text"], ["text"]]
    sealed = of_opencode(found)[0]["parts"][1]["metadata"]["openai"]
    assert sealed == {"itemId": "rs_1", "reasoningEncryptedContent": "sealed"}
    assert found.lost == {"thoughts of other models": 1}
