"""Sessions as files of pi's version 3, whatever their entries came as."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eventstore.errors import NotFoundError
from eventstore.event import Event, Flag, NewEvent
from eventstore.formats.pi.entry import KINDS
from eventstore.formats.pi.file import NEWEST_VERSION
from eventstore.frame import decode
from eventstore.imports import newest_import, origin_of
from eventstore.javascript import iso_time, stringify, tolerant_json
from eventstore.log import Head, Snapshot
from eventstore.records import FORMAT, embedded

CUSTOM_TYPE_PREFIX: Final = "refold."
"""Kinds that pi does not have become its `custom` entries, of this type and the kind's name."""
_OURS: Final = ("pi/1", "pi/2", "pi/3")


def export_file(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    """Yield a session as a file of version 3, line by line: what has grown in the store goes with it.

    Off-path events stay behind. Entries of kinds that pi does not know become `custom` entries, so that
    the newest entry, which pi takes for the leaf, stays the newest.
    """
    head = snapshot.head(session)
    yield stringify(_header(snapshot, head)).encode() + b"\n"
    for frame in snapshot.frames(session):
        event = decode(frame, session)
        if event.is_entry:
            yield pi_line(snapshot, event) + b"\n"


def is_exported(snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:
    """Return True if a file's record is what an export makes of the event with its id."""
    return stored.is_entry and stringify(tolerant_json(event.body)).encode() == pi_line(snapshot, stored)


def _header(snapshot: Snapshot, head: Head) -> dict[str, Any]:
    newest = newest_import(snapshot, head)
    if newest is not None and newest.source_format in _OURS:
        named = {"type": "session", "id": head.name, **tolerant_json(embedded(newest.header))}
        return {**named, "version": NEWEST_VERSION}
    cwd = ""
    if head.info_seq:
        cwd = tolerant_json(decode(snapshot.frame(head.name, head.info_seq), head.name).body).get("cwd", "")
    parent = _forked_from(snapshot, head)
    if isinstance(parent, Head):
        cwd = cwd or _header(snapshot, parent).get("cwd", "")
    # pi names a parent's file; what has none goes by its name.
    named = {"parentSession": parent.source or parent.name if isinstance(parent, Head) else parent}
    return {
        "type": "session",
        "version": NEWEST_VERSION,
        "id": head.name,
        "timestamp": iso_time(head.first_time) or iso_time(0),
        "cwd": cwd,
        **(named if parent else {}),
    }


def _forked_from(snapshot: Snapshot, head: Head) -> Head | str:
    """Return the session that a fork was made of, by name where it is not in the store; "" for what is no fork."""
    link = origin_of(snapshot, head.name, "fork")
    if link is None:
        return ""
    try:
        return snapshot.head(link.session)
    except NotFoundError:
        return link.session


def pi_line(snapshot: Snapshot, event: Event) -> bytes:
    """Return an entry's line in a file of version 3, without the line end."""
    target = snapshot.frame(event.session, event.target_seq) if event.target_seq else None
    return stringify(_entry(event, decode(target, event.session).id if target is not None else None)).encode()


def _entry(event: Event, target: str | None) -> dict[str, Any]:
    record = tolerant_json(event.body)
    node = {"id": event.id, "parentId": event.parent}
    if event.format in _OURS:
        return {**_migrated(event, record, target), **node}
    stamp = {**node, "timestamp": iso_time(event.time) or iso_time(event.recorded)}
    if event.format != FORMAT:
        return {"type": "custom", **stamp, "customType": f"{event.format}.{event.kind}", "data": record}
    kind = record.pop("type")
    if kind in KINDS:
        return {"type": kind, **stamp, **_as_pi_writes(kind, record)}
    return {"type": "custom", **stamp, "customType": CUSTOM_TYPE_PREFIX + kind, "data": record}


def _migrated(event: Event, record: dict[str, Any], target: str | None) -> dict[str, Any]:
    """Return an older record in version 3, as pi's migration has it: hook messages are custom, an index is an id."""
    if Flag.MIGRATED_ROLE in event.flags:
        record["message"]["role"] = "custom"
    if event.format == "pi/1" and event.kind == "compaction":
        record.pop("firstKeptEntryIndex", None)
        if target is not None:
            record["firstKeptEntryId"] = target
    return record


def _as_pi_writes(kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of refold's without what pi would not expect, and with what it does."""
    if kind == "message":
        record.pop("shape", None)
    elif kind == "compaction":
        _by_whom(record)
    elif kind == "branch_summary":
        _by_whom(record)
        record["fromId"] = record.get("fromId") or "root"
    elif kind == "custom_message":
        record.setdefault("display", True)
    return record


def _by_whom(record: dict[str, Any]) -> None:
    """Say of a summary whether an extension wrote it, with what that gave among the `details`, as pi has it."""
    record["fromHook"] = record.pop("fromExtension", False)
    if given := record.pop("extensionDetails", None):
        record["details"] = {**given, **(record.get("details") or {})}
