"""Write a session as a Codex rollout."""

from __future__ import annotations

from collections.abc import Iterator

from eventstore.event import Event
from eventstore.frame import decode
from eventstore.harnesses.codex.rollout_line import VERSION
from eventstore.javascript import iso_time, stringify, tolerant_json
from eventstore.log import Snapshot


def export_file(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    """Yield the lines of a rollout for a session, including what the store appended.

    Its own records come as they are. Entries of other formats become events for the screen, which Codex tells no model;
    off-path events of other formats stay behind.
    """
    for frame in snapshot.frames(session):
        event = decode(frame, session)
        if event.format == VERSION or event.is_entry:
            yield exported_line(event) + b"\n"


def exported_line(event: Event) -> bytes:
    """Return an event's line in a rollout, without the line end."""
    if event.format == VERSION:
        return event.body
    payload = {"type": "refold", "format": event.format, "kind": event.kind, "id": event.id}
    line = {
        "timestamp": iso_time(event.time) or iso_time(event.recorded),
        "type": "event_msg",
        "payload": {**payload, "data": tolerant_json(event.body)},
    }
    return stringify(line).encode("utf-8", "replace")
