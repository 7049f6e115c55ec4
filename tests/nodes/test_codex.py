"""Codex on nodes: what they show is what Codex sent, and what a fold of the records alone gives."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.codex import nodes_of, session_name
from tests.nodes.node import Nodes, shown
from tests.wire.blocks import Block, request_blocks
from tests.wire.recording import RECORDED, requests_in, unpacked

Json = dict[str, Any]
_ANSWER = re.compile(r"[a-z]+_(w[0-9]{4})[0-9]{2}")
"""The id of an item of a scripted answer."""
_NOT_SENT = ("internal_chat_message_metadata_passthrough", "metadata")
"""Fields of an item that Codex keeps for itself."""


def test_corpus_contexts_equal_a_plain_fold(corpus: Path) -> None:
    compared = 0
    for path in sorted(corpus.glob("codex/*.jsonl")):
        records = path.read_bytes().splitlines()
        nodes = nodes_of(path.stem, records)
        places = [n for n, node in enumerate(nodes.made, 1) if not node.off]
        for at in {*places[::20], *places[-1:]}:
            assert _items(nodes, at) == _folded(records[: nodes[at].seq]), (path, at)
            compared += 1
    assert compared > 200


def test_items_of_one_record_are_nodes(corpus: Path) -> None:
    for path in corpus.glob("codex/*-[12]c.jsonl"):
        records = path.read_bytes().splitlines()
        nodes = nodes_of(path.stem, records)
        for node in nodes.made:
            if node.compaction:
                history = json.loads(records[node.seq - 1])["payload"]["replacement_history"]
                assert [_content(nodes, n) for n in node.compaction.kept or ()] == history


def test_rolled_back_compaction_is_no_base() -> None:
    records = _records(
        *(said("one"), answered("1"), said("two"), answered("2")),
        ("compacted", {"message": "", "replacement_history": [said("kept")[1]]}),
        answered("3"),
        ("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        said("other"),
    )
    assert _texts(nodes_of("s", records)) == ["one", "1", "other"]


def test_history_of_another_session_is_its_parent() -> None:
    base = _records(said("one"), answered("1"), said("two"), answered("2"))
    begins = {"id": "t", "history_base": {"thread_id": "base", "end_ordinal_exclusive": 2}}
    own = _records(("session_meta", begins), said("other"), first=2)
    nodes = nodes_of("own", own, {"base": nodes_of("base", base)})
    assert _texts(nodes) == ["one", "1", "other"]


def test_missing_history_is_named() -> None:
    begins = {"id": "t", "history_base": {"thread_id": "gone", "end_ordinal_exclusive": 3}}
    assert nodes_of("own", _records(("session_meta", begins)))[1].missing == "gone"


def test_compaction_without_history_keeps_what_was_said() -> None:
    records = _records(said("one"), answered("1"), ("compacted", {"message": "short"}), said("two"))
    assert _texts(nodes_of("s", records)) == ["one", "two"]


@pytest.mark.parametrize("archive", sorted(RECORDED.glob("codex-*.zip")), ids=lambda path: path.stem)
def test_recorded_requests_are_what_nodes_show(archive: Path) -> None:
    compared, others = 0, []
    with unpacked(archive) as run:
        for requests in sorted(run.glob("*/requests.jsonl")):
            contexts = _contexts(requests.parent / "sessions")
            for request in requests_in(requests):
                if (context := contexts.get(request["answer"][-5:])) is None:
                    continue
                compared += 1
                # What asks for a summary, the last item, is in no record.
                sent = request["body"]["input"][: -1 if request["rule"] == "compaction" else None]
                if _blocks(context) != _blocks(sent):
                    others.append((requests.parent.name, request["number"]))
    assert (compared, others) == (57, [])


def _blocks(items: Sequence[Json]) -> list[Block]:
    sent = [{name: value for name, value in item.items() if name not in _NOT_SENT} for item in items]
    return request_blocks("responses", {"input": sent})


def _contexts(folder: Path) -> dict[str, list[Any]]:
    """Return the items above the first of each scripted answer, by the number in its id."""
    sessions: dict[str, Nodes] = {}
    found: dict[str, list[Any]] = {}
    for path in sorted(folder.rglob("rollout-*.jsonl"), key=session_name):
        nodes = nodes_of(session_name(path), path.read_bytes().splitlines(), sessions)
        sessions[nodes.name] = nodes
        for node in nodes.made:
            if (answer := _ANSWER.fullmatch(node.id)) and answer[1] not in found:
                found[answer[1]] = _items(nodes, node.parent, of=node.of)
    return found


def _folded(records: Sequence[bytes]) -> list[Any]:
    history: list[Any] = []
    for record in map(json.loads, records):
        payload = record["payload"]
        if record["type"] == "response_item" and payload["type"] != "ghost_snapshot":
            history.append(payload)
        elif record["type"] == "compacted":
            history = payload["replacement_history"]
    return history


def _items(nodes: Nodes, leaf: int, of: str = "") -> list[Any]:
    places = shown(nodes.session(of), leaf)
    return [
        _content(nodes.session(each.session), each.number)
        for each in places
        if nodes.session(each.session)[each.number].kind == "message"
    ]


def _content(nodes: Nodes, number: int) -> Any:
    node = nodes[number]
    return json.loads(nodes.records[node.seq - 1][slice(*node.span)])


def _texts(nodes: Nodes) -> list[str]:
    return [item["content"][0]["text"] for item in _items(nodes, nodes.leaf)]


def said(text: str, role: str = "user") -> tuple[str, Json]:
    return "response_item", {
        "type": "message",
        "role": role,
        "content": [{"type": "input_text", "text": text}],
    }


def answered(text: str) -> tuple[str, Json]:
    return said(text, "assistant")


def _records(*given: tuple[str, Json], first: int = 0) -> list[bytes]:
    return [
        json.dumps({"ordinal": first + n, "type": kind, "payload": payload}).encode()
        for n, (kind, payload) in enumerate(given)
    ]
