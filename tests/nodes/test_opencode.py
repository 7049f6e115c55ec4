"""opencode on nodes: what they show is what opencode sent, as of each of its requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.node import Nodes, shown
from tests.nodes.opencode import nodes_of_events, nodes_of_export
from tests.wire.blocks import Block, request_blocks
from tests.wire.recording import RECORDED, requests_in, unpacked

Json = dict[str, Any]


@pytest.mark.parametrize("archive", sorted(RECORDED.glob("opencode-*.zip")), ids=lambda path: path.stem)
def test_recorded_requests_are_what_nodes_show(archive: Path) -> None:
    compared, others = 0, []
    with unpacked(archive) as run:
        for requests in sorted(run.glob("*/requests.jsonl")):
            contexts = list(_contexts(next((requests.parent / "sessions").rglob("*.jsonl"))))
            for request in requests_in(requests):
                if request["api"] != "messages" or request["rule"] != "main":
                    continue
                compared += 1
                if request_blocks("messages", request["body"]) not in contexts:
                    others.append((requests.parent.name, request["number"]))
    assert (compared, others) == (46, [])


def test_exported_messages_are_nodes(corpus: Path) -> None:
    for path in sorted(corpus.glob("opencode/*.json")):
        messages = json.loads(path.read_bytes())["messages"]
        nodes = nodes_of_export(path.stem, [json.dumps(each).encode() for each in messages])
        assert [_message(nodes, n) for n in range(1, len(nodes.made) + 1)] == messages


def test_newer_meaning_is_shown_as_of_its_record() -> None:
    nodes = nodes_of_events("s", [_told("m1", "user"), _part("m1", "old"), _part("m1", "new")])
    assert [_texts(nodes, as_of) for as_of in (1, 2, 3, None)] == [[], ["old"], ["new"], ["new"]]


def test_removed_message_is_gone_from_then_on() -> None:
    removed = _event("message.removed.1", {"messageID": "m2"})
    nodes = nodes_of_events("s", [_told("m1", "user"), _part("m1", "1"), _told("m2", "user"), removed])
    assert [_message(nodes, each)["info"]["id"] for _, each in shown(nodes, nodes.leaf)] == ["m1"]


def _told(name: str, role: str, **more: object) -> bytes:
    return _event("message.updated.1", {"info": {"id": name, "role": role, **more}})


def _part(message: str, text: str) -> bytes:
    return _event(
        "message.part.updated.1", {"part": {"id": "p", "messageID": message, "type": "text", "text": text}}
    )


def _event(kind: str, data: Json) -> bytes:
    return json.dumps({"type": kind, "data": data}).encode()


def _texts(nodes: Nodes, as_of: int | None) -> list[str]:
    found = (_message(nodes, number) for _, number in shown(nodes, nodes.ids["m1"], as_of))
    return [part["text"] for message in found for part in message["parts"]]


def _contexts(path: Path) -> Iterator[list[Block]]:
    """Yield the context as of each event that began an answer."""
    sessions: dict[str, list[bytes]] = {}
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        if row["table"] == "event":
            text = b'{"type":%b,"data":%b}' % (json.dumps(row["type"]).encode(), row["data"].encode())
            sessions.setdefault(row["aggregate_id"], []).append(text)
    for name, records in sessions.items():
        nodes = nodes_of_events(name, records)
        for node in nodes.made:
            if node.role == "assistant" and not node.replaces:
                messages = [_message(nodes, number) for _, number in shown(nodes, node.parent, node.seq - 1)]
                yield request_blocks("messages", {"messages": list(_sent(messages))})


def _message(nodes: Nodes, number: int) -> Json:
    info, *parts = (
        json.loads(nodes.records[each.seq - 1][each.start : each.stop]) for each in nodes[number].blocks
    )
    return {"info": info, "parts": parts}


def _sent(messages: Iterable[Json]) -> Iterator[Json]:
    """Yield what opencode sends of messages to Anthropic's API."""
    for message in messages:
        role = message["info"]["role"]
        parts = message["parts"]
        if message["info"].get("error") and not any(part["type"] in ("text", "tool") for part in parts):
            continue
        results: list[Json] = []
        for part in parts:
            if part["type"] == "step-start":
                yield from results
                results = []
            for block in _block(part):
                yield {"role": role, "content": [block]}
            if part["type"] == "tool":
                results.append({"role": "user", "content": [_result(part)]})
        yield from results


def _block(part: Json) -> Iterator[Json]:
    kind = part["type"]
    if kind == "compaction":
        yield {"type": "text", "text": "What did we do so far?"}
    elif kind == "text" and part["text"] and not part.get("ignored"):
        yield {"type": "text", "text": part["text"]}
    elif kind == "file":
        yield _image(part["url"])
    elif kind == "reasoning":
        signature = ((part.get("metadata") or {}).get("anthropic") or {}).get("signature")
        if signature:
            yield {"type": "thinking", "thinking": part["text"], "signature": signature}
    elif kind == "tool":
        yield {
            "type": "tool_use",
            "id": part["callID"],
            "name": part["tool"],
            "input": part["state"]["input"],
        }


def _result(part: Json) -> Json:
    state, result = part["state"], {"type": "tool_result", "tool_use_id": part["callID"]}
    if state["status"] == "error":
        return {**result, "content": state["error"], "is_error": True}
    if state.get("time", {}).get("compacted"):
        return {**result, "content": "[Old tool result content cleared]"}
    images = [
        _image(each["url"]) for each in state.get("attachments", []) if each["mime"].startswith("image/")
    ]
    return {**result, "content": [{"type": "text", "text": state.get("output", "")}, *images]}


def _image(url: str) -> Json:
    head, _, data = url.partition(";base64,")
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": head.removeprefix("data:"), "data": data},
    }
