"""Mend items that the API wrote and that a file no longer holds as they were."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Any, Final

import msgspec

from projections.requests.openai.items import CALL, MESSAGE, REASONING, Item
from projections.requests.repairs import Note, RepairRule
from projections.requests.tool_calls import input_json

_OF_USERS: Final = frozenset({"input_text", "input_image", "input_file"})
_PARTS: Final = {
    **dict.fromkeys(("user", "system", "developer"), _OF_USERS),
    "assistant": frozenset({"output_text", "refusal"}),
}
"""Types of a message's parts, by its role."""
_TEXTS: Final = {"input_text": "text", "output_text": "text", "refusal": "refusal"}
"""The field that a part needs, by its type."""
_CALLS: Final = (CALL, "custom_tool_call")


def mended(item: Item, note: Note) -> Item | None:
    """Return an item as the API takes it: unchanged, without what is damaged, or None."""
    if item.type == MESSAGE:
        return _message(item, note)
    if item.type in _CALLS or item.is_output:
        if not isinstance(item.fields.get("call_id"), str) or not item.call_id:
            note(RepairRule.BLOCK, "an item without the id of its call is left out")
            return None
        return _output(item, note) if item.is_output else _call(item, note)
    if item.type == REASONING and not isinstance(item.fields.get("summary", []), list):
        note(RepairRule.BLOCK, "damaged reasoning is left out")
        return None
    return item


def _message(item: Item, note: Note) -> Item | None:
    role, content = item.fields.get("role"), item.fields.get("content")
    if not isinstance(role, str) or role not in _PARTS:
        note(RepairRule.UNKNOWN_ROLE, f"a message of role {str(role)[:80]!r} is left out")
        return None
    sound = _sound(content, _PARTS[role], note)
    if not sound:
        note(RepairRule.EMPTY_MESSAGE, "left out: it is empty")
        return None
    return item if sound == content else item.changed(content=sound)


def _call(item: Item, note: Note) -> Item:
    changes: dict[str, Any] = {}
    if not isinstance(item.fields.get("name"), str):
        changes["name"] = ""  # `paired` names it
    if item.type == CALL and not _decodes(arguments := item.fields.get("arguments")):
        given = arguments if isinstance(arguments, str) else "{}"
        changes["arguments"] = input_json(given.encode("utf-8", "surrogatepass"), note).decode()
    elif item.type != CALL and not isinstance(item.fields.get("input"), str):
        changes["input"] = ""
    return item.changed(**changes) if changes else item


def _decodes(arguments: Any) -> bool:
    try:
        msgspec.json.decode(arguments if isinstance(arguments, str) else "")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _output(item: Item, note: Note) -> Item:
    if item.type == "tool_search_output":
        return item
    output = item.fields.get("output")
    sound = _sound(output, _OF_USERS, note)
    return item if sound is not None and sound == output else item.changed(output=sound or "")


def _sound(content: Any, types: frozenset[str], note: Note) -> Any:
    """Return a text, or the parts of a list that the API takes; None for anything else."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    sound = [part for part in content if isinstance(part, dict) and _is_sound(part, types)]
    if len(sound) < len(content):
        note(RepairRule.BLOCK, "damaged parts are left out")
    return sound


def _is_sound(part: dict[str, Any], types: frozenset[str]) -> bool:
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in types:
        return False
    return _is_image(part) if kind == "input_image" else isinstance(part.get(_TEXTS.get(kind, "type")), str)


def _is_image(part: dict[str, Any]) -> bool:
    """Return True for an image by its address, or with data that can be read."""
    url = part.get("image_url")
    if not isinstance(url, str) or not url.startswith("data:"):
        return isinstance(url, str) or isinstance(part.get("file_id"), str)
    try:
        return bool(b64decode(url.partition(";base64,")[2], validate=True))
    except (binascii.Error, ValueError):
        return False
