"""The rules of pi 0.73 (`buildSessionContext`): what a path looks like to a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.formats.pi_entry import tolerant_json
from eventstore.kinds import BRANCH_SUMMARY, CUSTOM_MESSAGE, MESSAGE
from eventstore.records import Shown
from projections.rules.rules import HarnessRules


class _Fields(msgspec.Struct, frozen=True):
    summary: Raw | UnsetType = UNSET
    tokensBefore: Raw | UnsetType = UNSET  # noqa: N815  pi's names
    fromId: Raw | UnsetType = UNSET  # noqa: N815
    customType: Raw | UnsetType = UNSET  # noqa: N815
    content: Raw | UnsetType = UNSET
    display: Raw | UnsetType = UNSET
    details: Raw | UnsetType = UNSET


_decode_fields: Final = msgspec.json.Decoder(_Fields).decode
_FALSY: Final = (b"", b'""', b"null", b"false", b"0")


def _message(role: str, record: bytes, names: Sequence[str], time: int | None) -> bytes:
    """A message of fields of a record, as they stand there; a field that the record lacks is left out."""
    try:
        fields = _decode_fields(record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        fields = _decode_fields(readable(record))
    parts = [b'{"role":"%s"' % role.encode()]
    for name in names:
        value = getattr(fields, name)
        if not isinstance(value, UnsetType):
            parts.append(b'"%s":%s' % (name.encode(), bytes(value)))
    parts.append(b'"timestamp":%s}' % (b"null" if time is None else b"%d" % time))
    return b",".join(parts)


def show_compaction(record: bytes, time: int | None) -> bytes:
    """The compaction in effect, as the first message."""
    return _message("compactionSummary", record, ("summary", "tokensBefore"), time)


def show_branch_summary(record: bytes, time: int | None) -> bytes | None:
    """A branch summary; one without a summary shows nothing."""
    fields = _decode_fields(readable(record))
    if isinstance(fields.summary, UnsetType) or bytes(fields.summary) in _FALSY:
        return None
    return _message("branchSummary", record, ("summary", "fromId"), time)


def show_custom_message(record: bytes, time: int | None) -> bytes:
    """A message of an extension."""
    return _message("custom", record, ("customType", "content", "display", "details"), time)


def readable(raw: bytes) -> bytes:
    """A JSON text as JavaScript reads it: bytes that are no UTF-8 replaced."""
    return raw.decode("utf-8", "replace").encode()


def show_mended(record: bytes, _time: int | None) -> bytes | None:
    """The message of a record of an older version, or with damaged text: hook messages are custom ones."""
    message = tolerant_json(record).get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        message["role"] = "custom"
    return None if message is None else _encode(message)


def rewrite(message: bytes, shown: Sequence[Shown]) -> bytes:
    """A message whose content, or some blocks of it, show another text. What else it says stays as it was."""
    decoded = tolerant_json(message)
    content = decoded.get("content")
    for change in shown:
        block = {"type": "text", "text": change.shown}
        if change.block is not None and isinstance(content, list) and change.block < len(content):
            content = [*content[: change.block], block, *content[change.block + 1 :]]
        else:
            content = change.shown if isinstance(content, str) else [block]
    return _encode({**decoded, "content": content})


def _encode(value: Any) -> bytes:
    # A lone surrogate has no UTF-8: it stays the escape that it came as.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return (
        text.encode()
        if text.isascii() or not _has_surrogate(text)
        else json.dumps(value, separators=(",", ":")).encode()
    )


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


RULES: Final = HarnessRules(
    name="pi",
    summary=show_compaction,
    shown={
        MESSAGE: show_mended,
        BRANCH_SUMMARY: show_branch_summary,
        CUSTOM_MESSAGE: show_custom_message,
    },
    rewrite=rewrite,
    default_thinking_level="off",
)
