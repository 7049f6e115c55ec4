"""The title of a session."""

from __future__ import annotations

from eventstore.formats import view_of, view_of_event
from eventstore.log import EventLog, Snapshot
from eventstore.paths import event, events, events_of_kinds
from projections.context.parts import is_continuation


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
    """The text of what a person said first in a session: what to show of one that has no title.

    What goes on after a compaction is nobody's request.
    """
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        if not head.user_seq or (as_of is not None and head.user_seq > as_of):
            return ""
        for each in events(snapshot, session, first=head.user_seq, last=as_of):
            if each.role == "user" and each.is_entry and not is_continuation(each):
                message = view_of_event(each)
                return " ".join(message.text.split()) if message else ""
        return ""
