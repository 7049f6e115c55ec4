"""Giving a session back: its file as it came, or as a session file of pi that pi opens and continues."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from eventstore.errors import CorruptionError, NotFoundError
from eventstore.files.glue import segment_bytes
from eventstore.files.sources import import_parts, newest_import
from eventstore.formats.pi.export import pi_line
from eventstore.formats.pi.file import NEWEST_VERSION
from eventstore.frame import decode
from eventstore.javascript import iso_time, stringify, tolerant_json
from eventstore.log import EventLog, Head, Snapshot
from eventstore.records import Link, embedded, record_of


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
        yield stringify(_header(snapshot, head)).encode() + b"\n"
        for frame in snapshot.frames(session):
            event = decode(frame, session)
            if event.is_entry:
                yield pi_line(snapshot, event) + b"\n"


def _header(snapshot: Snapshot, head: Head) -> dict[str, Any]:
    newest = newest_import(snapshot, head)
    if newest is not None:
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
    """The session that a fork was made of, by name where it is not in the store; "" for what is no fork."""
    first = decode(snapshot.frame(head.name, 1), head.name)
    link = record_of("link", first.body) if first.kind == "link" else None
    if not isinstance(link, Link) or link.relation != "fork":
        return ""
    try:
        return snapshot.head(link.session)
    except NotFoundError:
        return link.session
