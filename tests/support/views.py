"""Every view of a session at once, to hold one log against another."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from eventstore import EventLog, NewEvent
from eventstore.event import Event
from eventstore.harnesses import as_new
from projections.context.build import build_context, context_json
from projections.context.cursor import Leaf, resolve_cursor
from projections.files import files_at
from projections.settings import settings
from projections.tree import tree


def javascript(raw: bytes | str) -> Any:
    """A JSON text as JavaScript parses it: every number a double."""
    return json.loads(raw, parse_int=float)


def as_javascript(value: Any) -> Any:
    """A value as JavaScript would hold it after a trip through JSON."""
    return javascript(json.dumps(value))


def views_at(
    log: EventLog, session: str, *, leaf: Leaf = None, as_of: int | None = None
) -> dict[str, object]:
    """Return every view at a leaf as of an event."""
    where: dict[str, Any] = {"leaf": leaf, "as_of": as_of}
    with log.snapshot() as snapshot:
        files = files_at(snapshot, resolve_cursor(snapshot, session, **where)).lists()
    return {
        "context": msgspec.structs.replace(build_context(log, session, **where), as_of=0),
        "bytes": context_json(log, session, **where),
        "settings": settings(log, session, **where),
        "files": files,
        "tree": tree(log, session, as_of=as_of),
    }


def replayed(events: list[Event]) -> list[NewEvent]:
    """Stored events as ones to append to another log."""
    id_of = {event.seq: event.id for event in events}
    return [as_new(event, parent=event.parent, target=id_of.get(event.target_seq)) for event in events]
