"""A session as it would be after more events, with nothing stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from itertools import chain

from eventstore.event import Event, NewEvent, Parent
from eventstore.frame import Buffer, encode
from eventstore.kinds import is_entry
from eventstore.log import FeedItem, Head, Snapshot, advance
from eventstore.stored import as_stored
from projections import standpoint
from projections.standpoint import entry_id


class Prospect:
    """A `Snapshot` in which a session has one event more: what would come of an append, for every fold to see.

    Raises NotFoundError for a session or a parent that is not there.
    """

    def __init__(self, snapshot: Snapshot, session: str, new: NewEvent) -> None:
        self._snapshot = snapshot
        head = snapshot.head(session)
        self._event = _stored(snapshot, head, new)
        self._frame = encode(self._event)
        self._head = advance(head, self._event)

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self)

    def heads(self) -> Iterator[Head]:
        return (self.head(head.name) for head in self._snapshot.heads())

    def head(self, session: str) -> Head:
        return self._head if session == self._head.name else self._snapshot.head(session)

    def frame(self, session: str, seq: int) -> Buffer:
        return self._frame if self._is_new(session, seq) else self._snapshot.frame(session, seq)

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        stored = self._snapshot.frames(session, first=first, last=last, backward=backward)
        is_in_range = first <= self._event.seq and (last is None or self._event.seq <= last)
        if session != self._head.name or not is_in_range:
            return stored
        return chain([self._frame], stored) if backward else chain(stored, [self._frame])

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        if not self._is_new(session, leaf):
            return self._snapshot.path(session, leaf, first=first)
        above = self._snapshot.path(session, self._event.parent_seq, first=first)
        return chain(above, [self._frame] if first <= leaf else [])

    def locate(self, session: str, event_id: str) -> int:
        if (session, event_id) == (self._head.name, self._event.id):
            return self._event.seq
        return self._snapshot.locate(session, event_id)

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        stored = self._snapshot.ids(session, prefix)
        if session != self._head.name or not self._event.id.startswith(prefix):
            return stored
        return iter(sorted([*stored, self._event.id], key=str.encode))

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        event = self._event
        new = FeedItem(event.position, event.session, event.seq, self._frame)
        return chain(self._snapshot.feed(after), [new] if after < event.position else [])

    def blob(self, digest: bytes) -> bytes:
        return self._snapshot.blob(digest)

    def derived(self, key: bytes) -> bytes | None:
        return self._snapshot.derived(key)

    def _is_new(self, session: str, seq: int) -> bool:
        return (session, seq) == (self._head.name, self._event.seq)


def foreseen(snapshot: Snapshot, session: str, new: Sequence[NewEvent]) -> Snapshot:
    """A `Snapshot` in which a session has these events more, one after the other. Raises NotFoundError."""
    return reduce(lambda so_far, event: Prospect(so_far, session, event), new, snapshot)


def _stored(snapshot: Snapshot, head: Head, new: NewEvent) -> Event:
    """The event as the log would store it."""
    session = head.name
    parent_seq = _parent(snapshot, head, new)
    return as_stored(
        new,
        head,
        parent_seq=parent_seq,
        parent=entry_id(snapshot, session, parent_seq),
        target_seq=snapshot.locate(session, new.facts.target) if new.facts.target else 0,
        position=max((each.position for each in snapshot.heads()), default=0) + 1,
        recorded=new.time or 0,
        read=lambda seq: snapshot.frame(session, seq),
    )


def _parent(snapshot: Snapshot, head: Head, new: NewEvent) -> int:
    """The number of the entry that the new event would stand below."""
    if new.parent is Parent.LEAF or not is_entry(new.kind):
        return head.leaf
    return standpoint.stand(snapshot, head.name, leaf=new.parent or standpoint.ROOT).leaf
