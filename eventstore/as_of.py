"""Show a session as it stood before a parent came late, with the places of that time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eventstore.errors import no_event
from eventstore.frame import Buffer, decode, header_only, with_body, written_in
from eventstore.log import FeedItem, Head, Snapshot, SnapshotWrapper
from eventstore.runs import runs_of_path


def as_of_event(snapshot: Snapshot, session: str, seq: int | None) -> Snapshot:
    """Return a snapshot in which a session has the places that it had after an event.

    `seq` is the event's number, None for the newest. It is the same snapshot unless a parent came late.
    """
    head = snapshot.head(session)
    if seq is None or not head.is_late or not 0 < seq < head.version:
        return snapshot
    return _Earlier(snapshot, head, seq)


class _Earlier(SnapshotWrapper):
    """A snapshot with the first events of a session, at the places that these give."""

    def __init__(self, snapshot: Snapshot, head: Head, last: int) -> None:
        from eventstore.append import head_of, place_all, placed_event  # noqa: PLC0415  few sessions need it

        super().__init__(snapshot)
        self._session = head.name
        stored = [bytes(frame) for frame in snapshot.frames(head.name, last=last)]
        events = [decode(frame, head.name) for frame in stored]
        placed = [placed_event(event, lambda seq: events[seq - 1].id) for event in events]
        headers, placer = place_all(placed, lambda seq: written_in(header_only(stored[seq - 1])))
        self._frames = [with_body(headers[seq], frame) for seq, frame in enumerate(stored, 1)]
        anew = Head(name=head.name, number=head.number, source=head.source)
        self._head = head_of(headers, placer, anew, "")

    def heads(self) -> Iterator[Head]:
        return (self.head(head.name) for head in self._snapshot.heads())

    def head(self, session: str) -> Head:
        return self._head if session == self._session else self._snapshot.head(session)

    def frame(self, session: str, seq: int) -> Buffer:
        if session != self._session:
            return self._snapshot.frame(session, seq)
        if not 0 < seq <= len(self._frames):
            raise no_event(session, f"#{seq}")
        return self._frames[seq - 1]

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        if session != self._session:
            return self._snapshot.frames(session, first=first, last=last, backward=backward)
        chosen = self._frames[max(first, 1) - 1 : last]
        return reversed(chosen) if backward else iter(chosen)

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        if session != self._session:
            return self._snapshot.path(session, leaf, first=first)
        runs = runs_of_path(self._head, leaf, first, lambda seq: self.frame(session, seq))
        return (self._frames[seq - 1] for start, stop in runs for seq in range(start, stop + 1))

    def locate(self, session: str, event_id: str) -> int:
        seq = self._snapshot.locate(session, event_id)
        return seq if session != self._session or seq <= len(self._frames) else 0

    def sessions_with(self, event_id: str, *, only: str = "") -> Sequence[str]:
        return self._snapshot.sessions_with(event_id, only=only)

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        return (each for each in self._snapshot.ids(session, prefix) if self.locate(session, each))

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        return self._snapshot.feed(after)
