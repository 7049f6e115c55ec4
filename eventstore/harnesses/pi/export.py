"""Export sessions as files of version 3 of pi or of a dialect, whatever their format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eventstore.errors import NotFoundError
from eventstore.event import Event, Flag, NewEvent
from eventstore.frame import decode
from eventstore.harnesses import format_of
from eventstore.harnesses.pi.dialects import NEWEST_VERSION, PI, Dialect
from eventstore.harnesses.pi.entry import KINDS
from eventstore.imports import newest_import, origin_of
from eventstore.javascript import exact_json, iso_time, stringify, tolerant_json
from eventstore.log import Head, Snapshot
from eventstore.records import FORMAT, embedded

CUSTOM_TYPE_PREFIX: Final = "refold."
"""Prefix of the types of `custom` entries that replace kinds unknown to pi."""


def export_file(snapshot: Snapshot, session: str, dialect: Dialect = PI) -> Iterator[bytes]:
    """Yield a session as a file of version 3, line by line, including later events.

    Off-path events are omitted. Entries of unknown kinds become `custom` entries, so that the newest entry,
    which the harness takes for the leaf, stays the newest.
    """
    head = snapshot.head(session)
    yield stringify(_header(snapshot, head, dialect)).encode() + b"\n"
    for frame in snapshot.frames(session):
        event = decode(frame, session)
        if event.is_entry:
            yield pi_line(snapshot, event, dialect) + b"\n"


def is_exported(snapshot: Snapshot, event: NewEvent, stored: Event, dialect: Dialect) -> bool:
    """Return True if a file's record equals an export of the event with its id."""
    if not stored.is_entry:
        return False
    return stringify(exact_json(event.body)).encode() == pi_line(snapshot, stored, dialect)


def _header(snapshot: Snapshot, head: Head, dialect: Dialect) -> dict[str, Any]:
    newest = newest_import(snapshot, head)
    if newest is not None and (its := _dialect_of(newest.source_format)) is not None:
        named = {"type": "session", "id": head.name, **tolerant_json(embedded(newest.header))}
        unknown = its.header_fields - dialect.header_fields
        named = {name: value for name, value in named.items() if name not in unknown}
        return {**named, "version": NEWEST_VERSION}
    cwd = ""
    if head.info_seq:
        cwd = tolerant_json(decode(snapshot.frame(head.name, head.info_seq), head.name).body).get("cwd", "")
    parent = _forked_from(snapshot, head)
    if isinstance(parent, Head):
        cwd = cwd or _header(snapshot, parent, dialect).get("cwd", "")
    # pi names a parent's file; a parent without one is given by its name.
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
    """Return the file or name of a fork's parent session, "" for no fork."""
    link = origin_of(snapshot, head.name, "fork")
    if link is None:
        return ""
    try:
        return snapshot.head(link.session)
    except NotFoundError:
        return link.session


def pi_line(snapshot: Snapshot, event: Event, dialect: Dialect = PI) -> bytes:
    """Return an entry's line in a file of version 3, without the line end."""
    target = snapshot.frame(event.session, event.target_seq) if event.target_seq else None
    named = decode(target, event.session).id if target is not None else None
    return stringify(_entry(event, named, dialect)).encode()


def _dialect_of(version: str) -> Dialect | None:
    """Return the dialect of a harness's records, None for another shape and for refold's own."""
    its = None if version == FORMAT else getattr(format_of(version), "dialect", None)
    return its if isinstance(its, Dialect) else None


def _entry(event: Event, target: str | None, dialect: Dialect) -> dict[str, Any]:
    record = exact_json(event.body)
    node = {"id": event.id, "parentId": event.parent}
    if (its := _dialect_of(event.format)) is not None:
        return translated({**_migrated(event, record, target), **node}, its, dialect)
    stamp = {**node, "timestamp": iso_time(event.time) or iso_time(event.recorded)}
    if not event.is_own:
        return {"type": "custom", **stamp, "customType": f"{event.format}.{event.kind}", "data": record}
    kind = record.pop("type")
    if kind in KINDS:
        return translated({"type": kind, **stamp, **_as_pi_writes(kind, record)}, PI, dialect)
    return {"type": "custom", **stamp, "customType": CUSTOM_TYPE_PREFIX + kind, "data": record}


def _migrated(event: Event, record: dict[str, Any], target: str | None) -> dict[str, Any]:
    """Convert an older record to version 3 as pi does: hook messages become custom, indexes ids."""
    if event.flags & Flag.MIGRATED_ROLE:
        record["message"]["role"] = "custom"
    if event.format.endswith("/1") and event.kind == "compaction":
        record.pop("firstKeptEntryIndex", None)
        if target is not None:
            record["firstKeptEntryId"] = target
    return record


def translated(record: dict[str, Any], its: Dialect, dialect: Dialect) -> dict[str, Any]:
    """Convert an entry from one dialect to another; one without a counterpart is `custom`."""
    if its is dialect:
        return record
    translated = record
    for conversions in (its.to_pi, dialect.from_pi):
        convert = conversions.get(str(translated.get("type")))
        translated = translated if convert is None else {**_node(translated), **convert(translated)}
    if str(translated.get("type")) in dialect.kinds:
        return translated
    rest = {name: value for name, value in record.items() if name not in _NODE}
    named = f"{its.harness}.{record.get('type')}"
    return {**_node(record), "type": "custom", "customType": named, "data": rest}


_NODE: Final = ("type", "id", "parentId", "timestamp")


def _node(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in _NODE if name in record}


def _as_pi_writes(kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """Convert a record of refold's to the fields that pi expects."""
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
    """Mark a summary by an extension, and put its data into `details`, as pi does."""
    record["fromHook"] = record.pop("fromExtension", False)
    if given := record.pop("extensionDetails", None):
        record["details"] = {**given, **(record.get("details") or {})}
