"""The content blocks of a pi message as they were recorded."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Raw

from eventstore.javascript import stringify, tolerant_json
from eventstore.views import Payload


class _Content(msgspec.Struct, frozen=True):
    content: list[Raw]


class _Block(msgspec.Struct, frozen=True):
    type: Any = None
    data: Any = None
    redacted: Any = None


_decode: Final = msgspec.json.Decoder(_Content).decode
_decode_block: Final = msgspec.json.Decoder(_Block).decode


def payloads(message: bytes) -> list[Payload]:
    """What the view of a message leaves out, block for block; nothing for content that is a text.

    What in a list of blocks is no object is no block.
    """
    try:
        # The decoder looks at no byte of what stays raw.
        message.decode()
        recorded = [bytes(block) for block in _decode(message).content]
    except (msgspec.DecodeError, UnicodeDecodeError):
        recorded = _mended(tolerant_json(message))
    return [_payload(block) for block in recorded if block.startswith(b"{")]


def _mended(message: Any) -> list[bytes]:
    content = message.get("content") if isinstance(message, dict) else None
    return [stringify(block).encode() for block in content] if isinstance(content, list) else []


def _payload(raw: bytes) -> Payload:
    try:
        block = _decode_block(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        decoded = tolerant_json(raw)
        block = _Block(**{name: decoded[name] for name in _Block.__struct_fields__ if name in decoded})
    is_image = block.type == "image" and isinstance(block.data, str)
    return Payload(raw=raw, image=block.data if is_image else "", is_redacted=block.redacted is True)
