"""The title of a session."""

from __future__ import annotations

from eventstore.formats import view_of_event
from eventstore.formats.pi_entry import tolerant_json
from eventstore.frame import body_of, decode, header_of
from eventstore.javascript import trim
from eventstore.kinds import SESSION_INFO
from eventstore.log import EventLog, Snapshot


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
    """The text of the session's first user message: what to show of a session that has no title."""
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        if not head.user_seq or (as_of is not None and head.user_seq > as_of):
            return ""
        message = view_of_event(decode(snapshot.frame(session, head.user_seq), session))
        return " ".join(message.text.split()) if message else ""
