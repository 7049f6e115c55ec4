"""Link sessions: those that a call started to it, and forks to what they were copied from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eventstore.event import NewEvent
from eventstore.harnesses.names import is_name
from eventstore.harnesses.opencode.session_records import Json, fields, text
from eventstore.harnesses.refold.events import compose
from eventstore.harnesses.source import DerivedEvent, KnownEvents
from eventstore.imports import Origin, origin_link, started_link
from eventstore.records import Link, own_record


def child_links(
    own: str, place: int, event_id: str, parts: tuple[Json, ...], places: Mapping[str, int]
) -> Iterator[DerivedEvent]:
    """Yield the links between the calls of a record and the sessions that they started.

    The call is in the session `own`, at this `place`; `places` are those of the source's sessions by name.
    """
    for part in parts:
        child = text(fields(fields(part.get("state")).get("metadata")).get("sessionId"))
        if part.get("tool") != "task" or not is_name(child) or child == own:
            continue
        link = Link(relation="child", session=child, event=event_id)
        yield DerivedEvent(compose(link, id=started_link(child), time=None), session=place)
        back = origin("subagent", own, event_id)
        if child in places:
            yield DerivedEvent(back, session=places[child])
        else:
            yield DerivedEvent(back, into=child)


def parent_links(info: Json, place: int, known: KnownEvents) -> Iterator[DerivedEvent]:
    """Yield the link of a session to the one that started it, and to the known call."""
    own, parent = text(info.get("id")), text(info.get("parentID"))
    if is_name(parent) and parent != own:
        started = known.event(parent, started_link(own))
        link = own_record(started) if started else None
        call = link.event if isinstance(link, Link) else ""
        yield DerivedEvent(origin("subagent", parent, call), session=place)


def origin(relation: Origin, session: str, event_id: str = "") -> NewEvent:
    """Return the link of a session to the one that it came from."""
    link = Link(relation=relation, session=session, event=event_id)
    return compose(link, id=origin_link(relation, event_id), time=None)
