"""Rebuild a context without a store: read the whole file, parse, walk, select, encode.

Both ways give the same bytes as refold, which the benches check. One decodes every record with the standard
library. The other knows which fields it needs and leaves messages undecoded, the best that a reader of JSON
lines can do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Raw

FAILED: Final = ("error", "aborted")
"""Why an answer ended that pi does not send again."""


def fold_with_json(path: Path) -> bytes:
    """Return the context at a pi file's leaf with the standard library's json."""
    header, *entries = _decoded_lines(path, json.loads, ValueError)
    if "version" not in header:
        for place, entry in enumerate(entries, 1):
            entry.update(_names_of_version_1(place, entry.get("firstKeptEntryIndex")))
    by_id = {entry["id"]: entry for entry in entries}
    way, at = [], entries[-1]
    while at is not None:
        way.append(at)
        at = by_id.get(at["parentId"])
    way.reverse()

    context = {"messages": [], **_settings_in_use(way)}
    newest = max((place for place, entry in enumerate(way) if entry["type"] == "compaction"), default=None)
    if newest is not None:
        compaction = way[newest]
        context["messages"].append(
            {
                "role": "compactionSummary",
                "summary": compaction["summary"],
                "tokensBefore": compaction["tokensBefore"],
                "timestamp": _epoch_ms(compaction["timestamp"]),
            }
        )
        first = compaction["firstKeptEntryId"]
        above = (place for place in range(newest) if way[place]["id"] == first)
        way = way[next(above, newest + 1) :]
    context["messages"] += [
        entry["message"]
        for entry in way
        if entry["type"] == "message" and entry["message"].get("stopReason") not in FAILED
    ]
    return json.dumps(context, ensure_ascii=False, separators=(",", ":")).encode()


def _settings_in_use(way: list[dict[str, Any]]) -> dict[str, Any]:
    level, model = "off", None
    for entry in way:
        match entry["type"]:
            case "thinking_level_change":
                level = entry["thinkingLevel"]
            case "model_change":
                model = {"provider": entry["provider"], "modelId": entry["modelId"]}
            case "message" if entry["message"]["role"] == "assistant":
                model = {"provider": entry["message"]["provider"], "modelId": entry["message"]["model"]}
    return {"thinkingLevel": level, "model": model}


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
    stopReason: str = ""  # noqa: N815


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
    """Return the context at a pi file's leaf with typed records and undecoded messages."""
    header, *entries = _decoded_lines(path, _decode_entry, msgspec.DecodeError)
    if header.version is None:
        for place, entry in enumerate(entries, 1):
            for name, value in _names_of_version_1(place, entry.firstKeptEntryIndex).items():
                setattr(entry, name, value)
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
    context.messages += [
        entry.message
        for entry in way
        if entry.type == "message" and _decode_author(entry.message).stopReason not in FAILED
    ]
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


def _decoded_lines(path: Path, decode: Callable[[bytes], Any], error: type[Exception]) -> list[Any]:
    """Yield every readable line."""
    decoded = []
    with path.open("rb") as file:
        for line in file:
            try:
                decoded.append(decode(line))
            except error:
                continue
    return decoded


def _names_of_version_1(place: int, first_kept: int | None) -> dict[str, str | None]:
    """Set version 1's ids: each entry is the child of the one before.

    A compaction refers to its first kept entry by index, where the header is 0.
    """
    kept = None if first_kept is None else str(first_kept)
    return {"id": str(place), "parentId": str(place - 1), "firstKeptEntryId": kept}


def _epoch_ms(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
