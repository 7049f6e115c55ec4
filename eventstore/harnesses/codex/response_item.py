"""Read the items of the Responses API, in which Codex records its history, as messages."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final

import msgspec

from eventstore.harnesses.codex.rollout_line import Json, object_in, object_of, parts_of, role_of
from eventstore.harnesses.encrypted import tokens_of_encrypted
from eventstore.javascript import DEEPEST_RECORD, is_deeper, stringify
from eventstore.views import Block, Image, Message, Opaque, Payload, Text, Thinking, ToolCall

_IMAGE: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")
_EXIT: Final = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)$", re.MULTILINE)
_OUTPUT: Final = "\nOutput:\n"
"""Ends what Codex says about a command, above the command's own output."""
_OLD_OUTPUT: Final = '{"output":'
_NOT_SENT: Final = ("internal_chat_message_metadata_passthrough", "metadata")
"""Fields of an item that Codex keeps for itself."""


class _Content(msgspec.Struct, frozen=True, gc=False):
    """A block; its part of the item, None for all of it; an image's base64 text."""

    block: Block
    part: Json | None = None
    image: str = ""


def sent_item(raw: bytes) -> bytes:
    """Return an item as it is sent, without what Codex notes in it; b"" for what is no item."""
    fields = object_in(raw)
    if not isinstance(fields.get("type"), str):
        return b""
    if not any(name in fields for name in _NOT_SENT):
        return raw
    return stringify({name: value for name, value in fields.items() if name not in _NOT_SENT}).encode()


def message_of(item: Json, raw: bytes) -> Message:
    """Return the view of an item; `raw` is its JSON."""
    role = role_of(item)
    blocks = tuple([content.block for content in _contents(item, raw)])
    if role != "toolResult":
        return Message(role=role, blocks=blocks)
    return Message(role=role, blocks=blocks, tool_call_id=call_id(item), is_error=_is_failed(blocks))


def payloads_of(raw: bytes) -> list[Payload]:
    """Return the recorded contents of an item, block by block."""
    return [
        Payload(raw=raw if content.part is None else _json(content.part), image=content.image)
        for content in _contents(object_in(raw), raw)
    ]


def call_id(item: Json) -> str:
    """Return the id of the call that an item makes or answers, "" for none."""
    found = item.get("call_id")
    return found if isinstance(found, str) else ""


def _contents(item: Json, raw: bytes) -> list[_Content]:
    type_ = _text(item, "type")
    if type_ in ("message", "agent_message"):
        return _of_parts(item.get("content"))
    if type_ == "reasoning":
        return [_Content(_thinking(item))]
    if type_ in _CALLS:
        name = _text(item, "name") or _CALLS[type_]
        if space := _text(item, "namespace"):
            name = f"{space}{'' if name.startswith('_') else '__'}{name}"
        return [_Content(ToolCall(call_id(item), name, _arguments(item)))]
    if type_.endswith("_output"):
        output = item.get("output")
        if output is None and "tools" in item:
            output = stringify(item["tools"])
        return _of_parts(output if not isinstance(output, dict) else output.get("content"))
    return [_Content(Opaque(type_, _size(item, raw)))]


_CALLS: Final = {
    "function_call": "",
    "custom_tool_call": "",
    "local_shell_call": "local_shell",
    "tool_search_call": "tool_search",
}
"""The types of items that call a tool of Codex, with the tool's name if the item has none."""


def _of_parts(content: Any) -> list[_Content]:
    return [_of_part(part) for part in parts_of(content)]


def _of_part(part: Json) -> _Content:
    text, url = part.get("text"), part.get("image_url")
    if isinstance(text, str):
        return _Content(Text(text), part)
    if isinstance(url, str) and (found := _IMAGE.match(url)):
        data = url[found.end() :]
        return _Content(Image(found[1], len(data)), part, data)
    return _Content(Opaque(str(part.get("type")), len(_json(part))), part)


def _thinking(item: Json) -> Thinking:
    parts = [*parts_of(item.get("summary")), *parts_of(item.get("content"))]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return Thinking("\n\n".join(texts), _text(item, "encrypted_content"))


def _arguments(item: Json) -> bytes:
    """Return the arguments of a call as an object; a text that is none is its `input`."""
    names = {"custom_tool_call": "input", "local_shell_call": "action"}
    given = item.get(names.get(item["type"], "arguments"))
    if isinstance(given, str) and item["type"] != "custom_tool_call":
        text = given.encode("utf-8", "replace")
        with suppress(msgspec.DecodeError):
            object_in(text)
            if text.startswith(b"{") and not is_deeper(text, DEEPEST_RECORD):
                return text
    return _json(given if isinstance(given, dict) else {} if given is None else {"input": given})


def _is_failed(blocks: tuple[Block, ...]) -> bool:
    """Return True if an output begins with an exit code other than 0."""
    text = next((block.text for block in blocks if isinstance(block, Text)), "")
    if text.startswith(_OLD_OUTPUT):
        noted = object_of(text).get("metadata")
        return isinstance(noted, dict) and noted.get("exit_code") not in (None, 0)
    head, is_command, _ = text.partition(_OUTPUT)
    found = _EXIT.search(head) if is_command else None
    return found is not None and found[1] != "0"


def _size(item: Json, raw: bytes) -> int:
    """Return the bytes that an item counts as; what is encrypted is smaller than its text."""
    return tokens_of_encrypted(item) * 4 if _text(item, "encrypted_content") else len(raw)


def _text(item: Json, name: str) -> str:
    found = item.get(name)
    return found if isinstance(found, str) else ""


def _json(value: Any) -> bytes:
    return stringify(value).encode("utf-8", "replace")
