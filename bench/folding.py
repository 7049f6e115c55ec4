"""The peers of a rebuild: what a harness does without a store. Read the whole file, parse it, walk, select, encode.

Both give the bytes that refold gives, which the benches check. One decodes every record with the standard
library; the other knows which fields it needs and leaves messages as they stand, the best that a reader of
JSON lines can do.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

if TYPE_CHECKING:
    from pathlib import Path


def fold_with_json(path: Path) -> bytes:
    """The context at a pi file's leaf, through the standard library's json."""
    entries = []
    with path.open("rb") as file:
        for line in file:
            try:
                entries.append(json.loads(line))
            except ValueError:
                continue
    header, entries = entries[0], entries[1:]
    if "version" not in header:
        _chain(entries)
    by_id = {entry["id"]: entry for entry in entries}
    way, at = [], entries[-1]
    while at is not None:
        way.append(at)
        at = by_id.get(at["parentId"])
    way.reverse()

    level, model, newest = "off", None, None
    for place, entry in enumerate(way):
        match entry["type"]:
            case "thinking_level_change":
                level = entry["thinkingLevel"]
            case "model_change":
                model = {"provider": entry["provider"], "modelId": entry["modelId"]}
            case "message" if entry["message"]["role"] == "assistant":
                model = {"provider": entry["message"]["provider"], "modelId": entry["message"]["model"]}
            case "compaction":
                newest = place

    messages = []
    if newest is not None:
        compaction = way[newest]
        messages.append(
            {
                "role": "compactionSummary",
                "summary": compaction["summary"],
                "tokensBefore": compaction["tokensBefore"],
                "timestamp": _epoch_ms(compaction["timestamp"]),
            }
        )
        first = compaction["firstKeptEntryId"]
        above = (place for place, entry in enumerate(way[:newest]) if entry["id"] == first)
        way = way[next(above, newest + 1) :]
    messages += [entry["message"] for entry in way if entry["type"] == "message"]
    context = {"messages": messages, "thinkingLevel": level, "model": model}
    return json.dumps(context, ensure_ascii=False, separators=(",", ":")).encode()


class _Entry(msgspec.Struct):
    type: str
    id: str = ""
    parentId: str | None = None  # noqa: N815  pi's names
    timestamp: str = ""
    version: int | None = None
    message: Raw = Raw()
    summary: Raw = Raw()
    tokensBefore: Raw = Raw()  # noqa: N815
    firstKeptEntryId: str | None = None  # noqa: N815
    firstKeptEntryIndex: int | None = None  # noqa: N815
    provider: str = ""
    modelId: str = ""  # noqa: N815
    thinkingLevel: str = ""  # noqa: N815


class _Author(msgspec.Struct):
    role: str
    provider: str = ""
    model: str = ""


class _Model(msgspec.Struct):
    provider: str
    modelId: str  # noqa: N815


class _Summary(msgspec.Struct):
    role: str
    summary: Raw
    tokensBefore: Raw  # noqa: N815
    timestamp: int


class _Context(msgspec.Struct):
    messages: list[Raw | _Summary]
    thinkingLevel: str  # noqa: N815
    model: _Model | None


_decode_entry: Final = msgspec.json.Decoder(_Entry).decode
_decode_author: Final = msgspec.json.Decoder(_Author).decode
_encode: Final = msgspec.json.Encoder().encode


def fold_with_msgspec(path: Path) -> bytes:
    """The context at a pi file's leaf, through typed records whose messages stay undecoded."""
    entries = []
    with path.open("rb") as file:
        for line in file:
            try:
                entries.append(_decode_entry(line))
            except msgspec.DecodeError:
                continue
    header, entries = entries[0], entries[1:]
    if header.version is None:
        _chain_structs(entries)
    by_id = {entry.id: entry for entry in entries}
    way, at = [], entries[-1]
    while at is not None:
        way.append(at)
        at = by_id.get(at.parentId)
    way.reverse()

    newest = next((place for place in reversed(range(len(way))) if way[place].type == "compaction"), None)
    levels = (entry.thinkingLevel for entry in reversed(way) if entry.type == "thinking_level_change")
    context = _Context([], next(levels, "off"), _model_in_use(way))
    if newest is not None:
        compaction = way[newest]
        context.messages.append(
            _Summary(
                "compactionSummary",
                compaction.summary,
                compaction.tokensBefore,
                _epoch_ms(compaction.timestamp),
            )
        )
        above = (place for place in range(newest) if way[place].id == compaction.firstKeptEntryId)
        way = way[next(above, newest + 1) :]
    context.messages += [entry.message for entry in way if entry.type == "message"]
    return _encode(context)


def _model_in_use(way: list[_Entry]) -> _Model | None:
    for entry in reversed(way):
        if entry.type == "model_change":
            return _Model(entry.provider, entry.modelId)
        if entry.type == "message":
            author = _decode_author(entry.message)
            if author.role == "assistant":
                return _Model(author.provider, author.model)
    return None


def _chain(entries: list[dict[str, Any]]) -> None:
    """Version 1: each entry is the child of the one before; a compaction names its first kept by place."""
    for place, entry in enumerate(entries, 1):
        entry["id"], entry["parentId"] = str(place), str(place - 1)
        if "firstKeptEntryIndex" in entry:
            entry["firstKeptEntryId"] = str(entry["firstKeptEntryIndex"])


def _chain_structs(entries: list[_Entry]) -> None:
    for place, entry in enumerate(entries, 1):
        entry.id, entry.parentId = str(place), str(place - 1)
        if entry.firstKeptEntryIndex is not None:
            entry.firstKeptEntryId = str(entry.firstKeptEntryIndex)


def _epoch_ms(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
