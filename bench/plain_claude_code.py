"""Build a Claude Code session's context by decoding its whole file, without a store.

It knows no rewrites, no kept messages, no sidechains and no resumed processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from eventstore.harnesses.claude_code.attachments import attachment_text

Json = dict[str, Any]


def plain_context(file: bytes) -> bytes:
    """Return the context at the newest record of a session file."""
    records = [
        record for line in file.splitlines() if line.strip() and isinstance(record := json.loads(line), dict)
    ]
    tree = {record["uuid"]: record for record in records if "uuid" in record and "parentUuid" in record}
    way: list[str] = []
    at: Any = next((name for name in reversed(tree) if tree[name]["type"] != "progress"), None)
    while at in tree:
        way.append(at)
        at = tree[at]["parentUuid"]
    beside = _beside(tree, way)
    shown = [tree[name] for name in tree if name in beside]
    messages = [_message(record) for record in shown]
    return json.dumps(
        {"messages": request_messages(each for each in messages if each)},
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode("utf-8", "surrogatepass")


def _beside(tree: dict[str, Json], way: Sequence[str]) -> set[str]:
    """Return a path's ids, with those of its messages' further blocks and of their results."""
    found, joined = set(way), set[str]()
    for name, record in tree.items():
        parent = tree.get(record["parentUuid"])
        while parent is not None and parent["type"] == "progress":
            parent = tree.get(parent["parentUuid"])
        if name in found or parent is None or parent["uuid"] not in found:
            continue
        is_answer = record["type"] == "assistant" and _group(record) == _group(_answer(tree, parent))
        is_result = _is_result(record) and parent["type"] == "assistant"
        if is_answer or is_result or (record["type"] == "attachment" and parent["uuid"] in joined):
            found.add(name)
            joined.add(name)
    return found


def _answer(tree: dict[str, Json], record: Json) -> Json:
    while record["type"] != "assistant" and (
        _is_result(record) or record["type"] in ("attachment", "progress")
    ):
        record = tree.get(record["parentUuid"], {"type": "assistant"})
    return record


def _group(record: Json) -> str | None:
    return record["message"]["id"] if record["type"] == "assistant" and "message" in record else None


def _is_result(record: Json) -> bool:
    content = record["message"]["content"] if record["type"] == "user" else None
    return isinstance(content, list) and any(block["type"] == "tool_result" for block in content)


def _message(record: Json) -> Json | None:
    if record["type"] == "attachment":
        text = attachment_text(record["attachment"])
        return None if text is None else {"role": "user", "content": text}
    if record["type"] == "system":
        is_shown = record.get("subtype") == "local_command"
        return {"role": "user", "content": record["content"]} if is_shown else None
    message: Json | None = record.get("message") if record["type"] in ("user", "assistant") else None
    return None if message is None or message.get("model") == "<synthetic>" else message


def request_messages(messages: Iterable[Json]) -> list[Json]:
    """Return messages as one request has them: alternating roles, tool results first."""
    groups: dict[str, Json] = {}
    found: list[Json] = []
    for message in messages:
        group = message.get("id") if message["role"] == "assistant" else None
        if group in groups:
            groups[group]["content"] += message["content"]
        elif message["role"] == "user" and found and found[-1]["role"] == "user":
            found[-1]["content"] = _blocks(found[-1]["content"]) + _blocks(message["content"])
        else:
            content = message["content"]
            turn = {"role": message["role"], "content": content if isinstance(content, str) else [*content]}
            found.append(turn)
            if group:
                groups[group] = turn
    for turn in found:
        if turn["role"] == "user" and isinstance(turn["content"], list):
            turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    return found


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
