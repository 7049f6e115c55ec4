"""A new event as a log stores it: with its place, its standing on the path, and its link in the chain."""

from __future__ import annotations

from eventstore.chain import link
from eventstore.event import Event, NewEvent
from eventstore.log import Head
from eventstore.standing import stand
from eventstore.undo import ReadFrame


def as_stored(
    new: NewEvent,
    head: Head,
    *,
    parent_seq: int,
    parent: str | None,
    target_seq: int,
    position: int,
    recorded: int,
    read: ReadFrame,
) -> Event:
    """The event that comes next in the session of a head.

    `parent_seq` and `parent` are the entry that it stands below (0, None: none), `target_seq` is the event that it
    points at (0: none), `position` its place in the whole log, `recorded` when it is stored, in epoch
    milliseconds; `read` gives the session's frames by number.
    """
    seq = head.version + 1
    digest = link(
        head.digest,
        body=new.body,
        format=new.format,
        id=new.id,
        parent=parent,
        kind=new.kind,
        time=new.time,
        cause=new.cause,
    )
    return Event(
        session=head.name,
        seq=seq,
        position=position,
        id=new.id,
        parent=parent,
        parent_seq=parent_seq,
        kind=new.kind,
        role=new.facts.role,
        time=new.time,
        recorded=recorded,
        cause=new.cause,
        format=new.format,
        utf16=new.facts.utf16,
        utf8=new.facts.utf8,
        message_span=new.facts.message,
        digest=digest,
        body=new.body,
        **stand(new, seq, parent_seq, target_seq, read)._asdict(),
    )
