"""Write a session as a Claude Code file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eventstore.event import Event
from eventstore.frame import decode
from eventstore.harnesses.claude_code.record import VERSION
from eventstore.javascript import iso_time, stringify, tolerant_json
from eventstore.log import Snapshot


def export_file(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    """Yield the lines of a Claude Code file for a session, including what the store appended.

    Its own records come as they are. Entries of other formats become records of the system, which Claude Code keeps in
    the tree and tells no model; off-path events of other formats stay behind.
    """
    for frame in snapshot.frames(session):
        event = decode(frame, session)
        if event.format == VERSION or event.is_entry:
            yield exported_line(event) + b"\n"


def exported_line(event: Event) -> bytes:
    """Return an event's line in a file of Claude Code, without the line end."""
    return event.body if event.format == VERSION else stringify(_entry(event)).encode()


def _entry(event: Event) -> dict[str, Any]:
    return {
        "parentUuid": event.parent,
        "isSidechain": False,
        "type": "system",
        "subtype": "informational",
        "content": f"{event.format} {event.kind}",
        "data": tolerant_json(event.body),
        "uuid": event.id,
        "timestamp": iso_time(event.time) or iso_time(event.recorded),
        "sessionId": event.session,
    }
