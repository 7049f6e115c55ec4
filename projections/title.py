"""The title of a session."""

from __future__ import annotations

from typing import Final

from eventstore.event import ROLES
from eventstore.formats import view_of_event
from eventstore.frame import body_of, decode, header_of
from eventstore.javascript import tolerant_json, trim
from eventstore.kinds import SESSION_INFO
from eventstore.log import EventLog, Snapshot
from projections.continuation import is_continuation

_USER: Final = ROLES.index("user")


def title(log: EventLog | Snapshot, session: str, *, as_of: int | None = None) -> str:
    """The session's title, "" where it has none: the name in the newest `session_info`, trimmed (pi).

    Newest in order of the log, not along a path. Raises NotFoundError.
    """
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        seq = head.info_seq
        if as_of is not None and seq > as_of:
            seq = next(
                (
                    header_of(frame).seq
                    for frame in snapshot.frames(session, last=as_of, backward=True)
                    if frame[1] == SESSION_INFO
                ),
                0,
            )
        if not seq:
            return ""
        name = tolerant_json(bytes(body_of(snapshot.frame(session, seq)))).get("name")
        return trim(name) if isinstance(name, str) else ""


def first_request(log: EventLog | Snapshot, session: str, *, as_of: int | None = None) -> str:
    """The text of what a person said first in a session: what to show of one that has no title.

    What goes on after a compaction is nobody's request.
    """
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        if not head.user_seq or (as_of is not None and head.user_seq > as_of):
            return ""
        for frame in snapshot.frames(session, first=head.user_seq, last=as_of):
            event = decode(frame, session) if header_of(frame).role == _USER else None
            if event and event.is_entry and not is_continuation(event):
                message = view_of_event(event)
                return " ".join(message.text.split()) if message else ""
        return ""
