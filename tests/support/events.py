"""Events in as few words as a test can say them, and what a log holds as plain lists."""

from __future__ import annotations

import json
from typing import Any

from eventstore import Event, EventLog, NewEvent, Parent
from eventstore.facts import facts_of_node
from eventstore.frame import decode
from eventstore.harnesses import format_of

NOW = 1_700_000_000_000
"""The time at which everything that a test stores is recorded."""


def event(
    event_id: str,
    kind: str = "custom",
    *,
    parent: str | Parent | None = Parent.LEAF,
    time: int | None = 1000,
    cause: str = "",
    format: str = "refold/1",
    **fields: Any,
) -> NewEvent:
    """An event whose body is a record of these fields, and whose facts are what the body says."""
    if kind == "custom":
        fields = {"customType": "x", **fields}
    body = json.dumps({"type": kind, **fields}).encode()
    return NewEvent(
        id=event_id,
        kind=kind,
        body=body,
        format=format,
        parent=parent,
        time=time,
        cause=cause,
        facts=facts_of_node(format_of(format).node(format, kind, body), kind, body),
    )


def message(event_id: str, text: str = "hello", *, role: str = "user", **options: Any) -> NewEvent:
    return event(event_id, "message", message={"role": role, "content": text}, **options)


def compaction(event_id: str, first_kept: str = "", **options: Any) -> NewEvent:
    fields = {"summary": "what was before", "firstKeptEntryId": first_kept, "tokensBefore": 10}
    return event(event_id, "compaction", **fields, **options)


def undone(event_id: str, target: str, **options: Any) -> NewEvent:
    return event(event_id, "undone", targetId=target, **options)


def model_change(event_id: str, **options: Any) -> NewEvent:
    return event(event_id, "model_change", provider="p", modelId="m", **options)


def thinking_change(event_id: str, **options: Any) -> NewEvent:
    return event(event_id, "thinking_level_change", thinkingLevel="high", **options)


def decision(event_id: str, **options: Any) -> NewEvent:
    """An event that is not in the tree."""
    return event(event_id, "decision", outcome="skip", reason="below the threshold", **options)


def frames(log: EventLog, session: str) -> list[bytes]:
    with log.snapshot() as snapshot:
        return [bytes(frame) for frame in snapshot.frames(session)]


def events(log: EventLog, session: str) -> list[Event]:
    return [decode(frame, session) for frame in frames(log, session)]


def stored(log: EventLog, session: str, event_id: str) -> Event:
    with log.snapshot() as snapshot:
        return decode(bytes(snapshot.frame(session, snapshot.locate(session, event_id))), session)


def path_ids(log: EventLog, session: str, leaf: str, *, first: int = 1) -> list[str]:
    with log.snapshot() as snapshot:
        walked = snapshot.path(session, snapshot.locate(session, leaf), first=first)
        return [decode(bytes(frame), session).id for frame in walked]


def version(log: EventLog, session: str) -> int:
    with log.snapshot() as snapshot:
        return snapshot.head(session).version


def session_names(log: EventLog) -> list[str]:
    with log.snapshot() as snapshot:
        return [head.name for head in snapshot.heads()]


def leaf(log: EventLog, session: str) -> str:
    """The id of the entry where a session stands."""
    with log.snapshot() as snapshot:
        seq = snapshot.head(session).leaf
    return events(log, session)[seq - 1].id
