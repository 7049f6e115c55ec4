"""Entries as pi's version 3 has them, whatever they came as."""

from __future__ import annotations

from typing import Any, Final

from eventstore.event import Event, Flag
from eventstore.formats.pi.entry import KINDS
from eventstore.frame import decode
from eventstore.javascript import iso_time, stringify, tolerant_json
from eventstore.log import Snapshot
from eventstore.records import FORMAT

CUSTOM_TYPE_PREFIX: Final = "refold."
"""Kinds that pi does not have become its `custom` entries, of this type and the kind's name."""


def pi_line(snapshot: Snapshot, event: Event) -> bytes:
    """An entry's line in a file of version 3, without the line end."""
    target = snapshot.frame(event.session, event.target_seq) if event.target_seq else None
    return stringify(_entry(event, decode(target, event.session).id if target is not None else None)).encode()


def _entry(event: Event, target: str | None) -> dict[str, Any]:
    record = tolerant_json(event.body)
    node = {"id": event.id, "parentId": event.parent}
    if event.format != FORMAT:
        return {**_migrated(event, record, target), **node}
    kind = record.pop("type")
    stamp = {**node, "timestamp": iso_time(event.time) or iso_time(event.recorded)}
    if kind in KINDS:
        return {"type": kind, **stamp, **_as_pi_writes(kind, record)}
    return {"type": "custom", **stamp, "customType": CUSTOM_TYPE_PREFIX + kind, "data": record}


def _migrated(event: Event, record: dict[str, Any], target: str | None) -> dict[str, Any]:
    """An older record as pi's own migration leads it to version 3: hook messages are custom ones, an index an id."""
    if Flag.MIGRATED_ROLE in event.flags:
        record["message"]["role"] = "custom"
    if event.format == "pi/1" and event.kind == "compaction":
        record.pop("firstKeptEntryIndex", None)
        if target is not None:
            record["firstKeptEntryId"] = target
    return record


def _as_pi_writes(kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """A record of refold's without what pi would not expect, and with what it does."""
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
