"""The title of a session."""

from __future__ import annotations

from eventstore.formats import view_of
from eventstore.formats.base import NOTHING
from eventstore.log import EventLog, Snapshot
from eventstore.paths import event, events, events_of_kinds


def title(log: EventLog | Snapshot, session: str, *, as_of: int | None = None) -> str:
    """The session's title, "" where it has none: the name in the newest `session_info`, trimmed (pi).

    Newest in order of the log, not along a path. Raises NotFoundError.
    """
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        seq = head.info_seq
        if as_of is not None and seq > as_of:
            newest_first = events_of_kinds(snapshot, session, {"session_info"}, last=as_of, backward=True)
            seq = next((info.seq for info in newest_first), 0)
        if not seq:
            return ""
        found = view_of(event(snapshot, session, seq)).title
        return found.text if found else ""


def first_request(log: EventLog | Snapshot, session: str, *, as_of: int | None = None) -> str:
    """Return the text of the first message of a session that a person wrote: to show for one without a title."""
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        if not head.user_seq or (as_of is not None and head.user_seq > as_of):
            return ""
        for each in events(snapshot, session, first=head.user_seq, last=as_of):
            view = view_of(each) if each.role == "user" and each.is_entry else NOTHING
            if view.by_person:
                return " ".join(view.messages[0].text.split())
        return ""
