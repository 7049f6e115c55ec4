"""Parse entries in pi's shape, which refold's own records share."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.estimates import estimates
from eventstore.event import ROLES, EventFacts, Flag
from eventstore.formats.names import stored_id
from eventstore.formats.pi.message import (
    WireMessage,
    content_blocks,
    decode_wire,
    estimates_of_wire,
    view_of_wire,
    wire_of,
)
from eventstore.javascript import is_utf8, stringify, tolerant_json
from eventstore.views import Message, Text

KINDS: Final = frozenset(
    {
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom_message",
        "custom",
        "label",
        "session_info",
    }
)
"""The types of entries that pi itself writes."""

_LARGEST_ESTIMATE: Final = 0xFFFFFFFF
"""The largest number that fits into a frame."""


class Entry(msgspec.Struct, frozen=True, dict=True):
    """The fields of an entry that matter to the log; others stay in the record."""

    type: Any = None
    id: Any = UNSET
    parentId: Any = UNSET  # noqa: N815  pi's names
    timestamp: Any = None
    message: Raw | UnsetType = UNSET
    firstKeptEntryId: Any = None  # noqa: N815
    firstKeptEntryIndex: Any = None  # noqa: N815
    targetId: Any = None  # noqa: N815
    summary: Any = None
    content: Raw | UnsetType = UNSET
    version: Any = None

    @property
    def is_plain(self) -> bool:
        """True for a message's record as pi writes it, with valid ids."""
        return "span" in self.__dict__

    @cached_property
    def wire(self) -> WireMessage | None:
        """The decoded message, None if the record has none."""
        return None if isinstance(self.message, UnsetType) else wire_of(bytes(self.message))


_decode_entry: Final = msgspec.json.Decoder(Entry).decode
MENDED: Final = Flag.MIGRATED_ROLE | Flag.REPLACED_TEXT
"""Records that their harness reads differently from how they are written."""
_KNOWN_ROLES: Final = frozenset(ROLES) - {"", "other"}
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


def entry_of(body: bytes) -> Entry:
    """Parse a record. Raises msgspec.DecodeError unless it is a JSON object."""
    return _plain_message(body) or _any_entry(body)


def _plain_message(body: bytes) -> Entry | None:
    """Parse a message's record as pi writes it in one pass; return None for any other."""
    parts = plain_parts(body)
    if parts is None:
        return None
    own, parent, time, start, stop = parts
    raw = body[start:stop]
    try:
        wire = decode_wire(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    entry = Entry(
        type="message",
        id=UNSET if own is None else own.decode(),
        parentId=UNSET if own is None else parent and parent.decode(),
        timestamp=time.decode(),
        message=Raw(raw),
    )
    entry.__dict__.update(wire=wire, span=(start, stop))
    return entry


def _any_entry(body: bytes) -> Entry:
    try:
        return _decode_entry(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decoded = tolerant_json(body)
        if not isinstance(decoded, dict):
            raise msgspec.DecodeError("not a JSON object") from None
        raw = {
            name: Raw(stringify(decoded[name]).encode()) for name in ("message", "content") if name in decoded
        }
        known = {name: decoded[name] for name in Entry.__struct_fields__ if name in decoded}
        return Entry(**{**known, **raw})


def facts_of(
    kind: str, body: bytes, entry: Entry, *, renames_hook_role: bool = False, is_own: bool = True
) -> EventFacts:
    """Extract the facts that the log stores beside a record; `is_own`: refold wrote it."""
    flags = utf16 = utf8 = 0
    role = ""
    message: WireMessage | Message | None
    if kind == "message":
        message = entry.wire
        utf16, utf8 = estimates_of_wire(message) if message is not None else (0, 0)
    else:
        message = message_of(kind, entry)
        utf16, utf8 = estimates(message.role, message.blocks) if message is not None else (0, 0)
    if message is not None:
        role = message.role if message.role in _KNOWN_ROLES else "other"
        if role == "hookMessage" and kind == "message" and renames_hook_role:
            role, flags = "custom", Flag.MIGRATED_ROLE
    if kind == "model_change" or (kind == "message" and role == "assistant"):
        flags |= Flag.SETS_MODEL
    elif kind == "thinking_level_change":
        flags |= Flag.SETS_THINKING
    if not is_utf8(body):
        flags |= Flag.REPLACED_TEXT
    target = entry.firstKeptEntryId if kind == "compaction" else entry.targetId
    if isinstance(target, str) and not is_own:
        target = stored_id(target)
    return EventFacts(
        role=role,
        message=_span(body, entry) if kind == "message" and not flags & MENDED else (0, 0),
        utf16=min(utf16, _LARGEST_ESTIMATE),
        utf8=min(utf8, _LARGEST_ESTIMATE),
        target=target if isinstance(target, str) and target else None,
        flags=flags,
    )


def _span(body: bytes, entry: Entry) -> tuple[int, int]:
    """Return the span of a message's bytes in its record; equal bytes elsewhere will do."""
    if isinstance(entry.message, UnsetType):
        return (0, 0)
    known: tuple[int, int] | None = entry.__dict__.get("span")
    if known is not None:
        return known
    raw = bytes(entry.message)
    start = body.find(b'"message":') + len(b'"message":')
    if not body.startswith(raw, start):
        start = body.find(raw)
    return (start, start + len(raw)) if start >= 0 else (0, 0)


def message_of(kind: str, entry: Entry) -> Message | None:
    """Return the message that an entry is or contains, None if the model gets none."""
    if kind == "message":
        return None if entry.wire is None else view_of_wire(entry.wire)
    if kind == "custom_message":
        content = b"null" if isinstance(entry.content, UnsetType) else bytes(entry.content)
        return Message(role="custom", blocks=content_blocks(content))
    if kind in ("compaction", "branch_summary"):
        role = "compactionSummary" if kind == "compaction" else "branchSummary"
        return Message(role=role, blocks=(Text(entry.summary),) if isinstance(entry.summary, str) else ())
    return None
