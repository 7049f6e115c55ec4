"""Split and size a message's record as pi writes almost all, without reading it in full."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import UNSET

from eventstore.estimates import MessageSize
from eventstore.harnesses.pi.message import FAILED
from eventstore.javascript import lengths, stringify

_ID: Final = rb'"id":"([\w-]{1,200})","parentId":(?:null|"([\w-]{1,200})")'
_BEGINNING: Final = re.compile(
    rb'\{"type":"message",(?:%b,)?"timestamp":"([\w:.+-]+)","message":(?=\{)' % _ID  # pi puts the ids first
).match
_END: Final = re.compile(rb",%b\}" % _ID).fullmatch
"""The end of a record to which a migration gave its ids."""
_LONGEST_END: Final = 450


def plain_parts(body: bytes) -> tuple[bytes | None, bytes | None, bytes, int, int] | None:
    """Split a message's record as pi writes it: id, parent, time, and the message's span.

    The message itself is not parsed. A record of version 1 has no id. Returns None for any other record.
    """
    found = _BEGINNING(body)
    if found is None:
        return None
    own, parent, time = found.groups()
    stop = len(body) - 1
    if not body.endswith(b"}}"):
        stop = body.rfind(b'},"id":"', -_LONGEST_END) + 1
        end = _END(body, stop) if own is None and stop else None
        if end is None:
            return None
        own, parent = end.groups()
    return own, parent, time, found.end(), stop


_SIZED_ROLES: Final = frozenset({"user", "assistant", "toolResult"})


class _SizedBlock(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    thinkingSignature: str | None = None  # noqa: N815
    name: str | None = None
    arguments: Any = UNSET


class _SizedMessage(msgspec.Struct, frozen=True, gc=False):
    role: str = ""
    content: str | list[_SizedBlock] | None = None
    stopReason: str | None = None  # noqa: N815


_decode_sized: Final = msgspec.json.Decoder(_SizedMessage).decode


def measure(raw: bytes) -> tuple[str, MessageSize] | None:
    """Return a message's role and size, None if it must be read in full.

    The size is that of its view; only what counts is decoded. Raises msgspec.DecodeError,
    UnicodeDecodeError and RecursionError.
    """
    message = _decode_sized(raw)
    role, content = message.role, message.content
    if role not in _SIZED_ROLES or message.stopReason in FAILED:
        return None
    size = MessageSize(role)
    if isinstance(content, str):
        size.add_text(content)
        return role, size
    for block in content or ():
        kind = block.type
        if kind == "text":
            size.add_text(block.text or "")
        elif kind == "toolCall":
            arguments = {} if block.arguments is UNSET else block.arguments
            size.add_call(block.name or "", lengths(stringify(arguments)))
        elif kind == "thinking":
            size.add_thinking(block.thinking or "", block.thinkingSignature or "")
        elif kind == "image":
            size.add_image()
        else:
            return None
    return role, size
