"""Show a session as it would be after more events, without storing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from itertools import chain

from eventstore.append import build_stored_event, check_expected
from eventstore.event import Event, NewEvent, Parent
from eventstore.frame import Buffer, encode, header_of
from eventstore.kinds import is_entry
from eventstore.log import AppendResult, Expected, FeedItem, Head, Snapshot, SourceState, advance
from eventstore.paths import entry_id, find_entry
from eventstore.snapshot_wrapper import SnapshotWrapper


class Preview(SnapshotWrapper):
    """A `Snapshot` in which a session has more events, for folds to show an append's effect.

    Their positions follow that of the session's newest event, without a look at other sessions; the store
    would assign later ones if others appended since. Raises NotFoundError for a missing session or parent.
    """

    def __init__(self, snapshot: Snapshot, session: str, new: Sequence[NewEvent]) -> None:
        super().__init__(snapshot)
        self._head = snapshot.head(session)
        self._stored_until = self._head.version
        self._events: list[Event] = []
        self._frames: list[bytes] = []
        self._seqs: dict[str, int] = {}
        self.extend(new)

    def extend(self, new: Sequence[NewEvent]) -> None:
        """Add more events; a copy made before shows none of them, and must not be extended itself."""
        for each in new:
            event = self._as_stored(each)
            self._events.append(event)
            self._frames.append(encode(event))
            self._seqs.setdefault(event.id, event.seq)
            self._head = advance(self._head, event)

    def heads(self) -> Iterator[Head]:
        return (self._head if head.name == self._head.name else head for head in self._snapshot.heads())

    def head(self, session: str) -> Head:
        return self._head if session == self._head.name else self._snapshot.head(session)

    def frame(self, session: str, seq: int) -> Buffer:
        return self._frame(seq) if self._is_new(session, seq) else self._snapshot.frame(session, seq)

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        stored = self._snapshot.frames(session, first=first, last=last, backward=backward)
        if session != self._head.name:
            return stored
        until = self._head.version if last is None else min(last, self._head.version)
        new = [self._frame(seq) for seq in range(max(first, self._stored_until + 1), until + 1)]
        return chain(reversed(new), stored) if backward else chain(stored, new)

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        new: list[Buffer] = []
        while leaf >= first and self._is_new(session, leaf):
            new.append(self._frame(leaf))
            leaf = header_of(new[-1]).parent_seq
        if self._is_new(session, leaf):
            return reversed(new)
        stored = self._snapshot.path(session, leaf, first=first)
        return chain(stored, reversed(new))

    def locate(self, session: str, event_id: str) -> int:
        seq = self._seqs.get(event_id, 0)
        if seq and self._is_new(session, seq):
            return seq
        return self._snapshot.locate(session, event_id)

    def sessions_with(self, event_id: str, *, only: str = "") -> Sequence[str]:
        stored = set(self._snapshot.sessions_with(event_id, only=only))
        is_new = only in {"", self._head.name} and self._is_new(self._head.name, self._seqs.get(event_id, 0))
        return sorted(stored | ({self._head.name} if is_new else set()))

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        stored = self._snapshot.ids(session, prefix)
        if session != self._head.name:
            return stored
        new = [event.id for event in self._new if event.id.startswith(prefix)]
        return iter(sorted([*stored, *new], key=str.encode)) if new else stored

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        new = zip(self._new, self._frames, strict=False)
        items = (FeedItem(event.position, event.session, event.seq, frame) for event, frame in new)
        return chain(self._snapshot.feed(after), (item for item in items if after < item.position))

    @property
    def _new(self) -> Sequence[Event]:
        return self._events[: self._head.version - self._stored_until]

    def _is_new(self, session: str, seq: int) -> bool:
        return session == self._head.name and self._stored_until < seq <= self._head.version

    def _frame(self, seq: int) -> Buffer:
        return self._frames[seq - self._stored_until - 1]

    def _as_stored(self, new: NewEvent) -> Event:
        """Return the event as the log would store it."""
        session = self._head.name
        parent_seq = self._parent(new)
        return build_stored_event(
            new,
            self._head,
            parent_seq=parent_seq,
            parent=entry_id(self, session, parent_seq),
            target_seq=self.locate(session, new.facts.target) if new.facts.target else 0,
            position=self._head.position + 1,
            recorded=new.time or 0,
            read=lambda seq: self.frame(session, seq),
        )

    def _parent(self, new: NewEvent) -> int:
        """Return the number of the new event's parent."""
        if new.parent is Parent.LEAF or not is_entry(new.kind):
            return self._head.leaf
        if not new.parent:
            return 0
        return find_entry(self, self._head.name, new.parent, as_of=self._head.version)


class PreviewLog:
    """An `EventLog` over a snapshot, whose appends to one session are shown and stored nowhere."""

    def __init__(self, snapshot: Snapshot, session: str) -> None:
        self._preview = Preview(snapshot, session, [])

    def snapshot(self) -> AbstractContextManager[Preview]:
        return self._preview.snapshot()

    def append(
        self,
        session: str,
        events: Sequence[NewEvent],
        *,
        expected: Expected = "any",
        blobs: Iterable[bytes] = (),
        source: str = "",
        seen: SourceState | None = None,
    ) -> AppendResult:
        del blobs, source, seen
        check_expected(session, expected, self._preview.head(session).version)
        longer = copy(self._preview)
        longer.extend(events)
        self._preview, head = longer, longer.head(session)
        return AppendResult(version=head.version, position=head.position, added=len(events))

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        del derived

    def close(self) -> None:
        pass
