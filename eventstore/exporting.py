"""Giving a session back: its file as it came, or as a session file of pi that pi opens and continues."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

from eventstore.errors import CorruptionError, NotFoundError
from eventstore.event import Event, Flag
from eventstore.formats.pi_entry import tolerant_json
from eventstore.formats.pi_file import KINDS, NEWEST_VERSION
from eventstore.frame import decode
from eventstore.glue import segment_bytes
from eventstore.importing import import_parts, newest_import
from eventstore.javascript import iso_time, stringify
from eventstore.log import EventLog, Head, Snapshot
from eventstore.records import FORMAT

CUSTOM_TYPE_PREFIX: Final = "refold."
"""Kinds that pi does not have become its `custom` entries, of this type and the kind's name."""


def export_original(log: EventLog, session: str) -> Iterator[bytes]:
    """The file that a session was imported from, as it was at its newest import, in pieces.

    Raises NotFoundError for a session that was not imported, and at its end CorruptionError if the
    pieces were not the bytes that were read.
    """
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        newest = newest_import(snapshot, head)
        if newest is None:
            raise NotFoundError(
                "imported file of session", session, "it was written here: export it with --format pi"
            )
        parts = import_parts(snapshot, session, newest)
        segments = [*(part.lines for part in reversed(parts)), newest.tail]
        digest = sha256()
        for segment in segments:
            for piece in segment_bytes(snapshot, session, segment):
                digest.update(piece)
                yield bytes(piece)
        if digest.hexdigest() != newest.digest:
            raise CorruptionError(
                session, head.import_seq, "the file put together is not the one that was imported"
            )


def export_pi(log: EventLog, session: str) -> Iterator[bytes]:
    """A session as a pi file of version 3, line by line: what has grown in the store goes with it.

    Off-path events stay behind. Entries of kinds that pi does not know become `custom` entries, so that
    the newest entry, which pi takes for the leaf, stays the newest.
    """
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        yield _line(_header(snapshot, head))
        for frame in snapshot.frames(session):
            event = decode(frame, session)
            if event.is_entry:
                target = snapshot.frame(session, event.target_seq) if event.target_seq else None
                yield _line(pi_entry(event, decode(target, session).id if target is not None else None))


def _line(value: dict[str, Any]) -> bytes:
    return stringify(value).encode() + b"\n"


def _header(snapshot: Snapshot, head: Head) -> dict[str, Any]:
    newest = newest_import(snapshot, head)
    if newest is not None:
        return {**tolerant_json(bytes(newest.header)), "version": NEWEST_VERSION}
    cwd = ""
    if head.info_seq:
        cwd = tolerant_json(decode(snapshot.frame(head.name, head.info_seq), head.name).body).get("cwd", "")
    return {
        "type": "session",
        "version": NEWEST_VERSION,
        "id": head.name,
        "timestamp": iso_time(head.first_time) or iso_time(0),
        "cwd": cwd,
    }


def pi_entry(event: Event, target: str | None) -> dict[str, Any]:
    """An entry as pi's version 3 has it. `target` is the id of the event that this one points at."""
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
        record["fromHook"] = record.pop("fromExtension", False)
    elif kind == "branch_summary":
        record["fromHook"] = record.pop("fromExtension", False)
        record["fromId"] = record.get("fromId") or "root"
    elif kind == "custom_message":
        record.setdefault("display", True)
    return record
