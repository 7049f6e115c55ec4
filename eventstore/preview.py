"""Show a session as it would be after more events, without storing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from itertools import chain
from typing import Any

from eventstore.append import check_expected, head_of, place_frame, to_place, written_of
from eventstore.event import NewEvent
from eventstore.frame import Buffer, decode, header_of, id_of
from eventstore.harnesses import place_of
from eventstore.log import AppendResult, Expected, FeedItem, Head, Snapshot, SnapshotWrapper
from eventstore.paths import entry_id
from eventstore.placing import Placer


class Preview(SnapshotWrapper):
    """A `Snapshot` in which a session has more events, for folds to show an append's effect.

    Their positions follow that of the session's newest event, without a look at other sessions; the store
    would assign later ones if others appended since. Raises NotFoundError for a missing session or parent.
    """

    def __init__(self, snapshot: Snapshot, session: str, new: Sequence[NewEvent]) -> None:
        super().__init__(snapshot)
        self._head = snapshot.head(session)
        self._stored_until = self._head.version
        self._frames: list[bytes] = []
        self._seqs: dict[str, int] = {}
        self.extend(new)

    def extend(self, new: Sequence[NewEvent]) -> None:
        """Add more of refold's own events.

        A copy made before shows none of them, and must not be extended itself.
        """
        session, first = self._head.name, self._head.version + 1
        events = to_place(new, lambda: entry_id(self, session, self._head.leaf))
        placer = Placer(
            self._head.standing,
            self._head.leaf,
            locate=lambda name: self.locate(session, name),
            read=lambda seq: self.frame(session, seq),
            place=lambda seq: place_of(decode(self.frame(session, seq), session)),
        )
        for placed in placer.place(events, first):
            event = placed.event
            written = written_of(
                event, placed.seq, self._head.position + 1, event.time or 0, self._head.digest
            )
            frame = place_frame(written, placed, lambda seq: self.frame(session, seq))
            self._frames.append(frame)
            self._seqs.setdefault(event.id, placed.seq)
            self._head = head_of({placed.seq: frame}, placer, self._head, "")

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
        if not leaf or self._is_new(session, leaf):
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
        new = [name for name in map(id_of, self._new) if name.startswith(prefix)]
        return iter(sorted([*stored, *new], key=str.encode)) if new else stored

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        heads = ((header_of(frame), frame) for frame in self._new)
        items = (FeedItem(head.position, self._head.name, head.seq, frame) for head, frame in heads)
        return chain(self._snapshot.feed(after), (item for item in items if after < item.position))

    @property
    def _new(self) -> Sequence[bytes]:
        return self._frames[: self._head.version - self._stored_until]

    def _is_new(self, session: str, seq: int) -> bool:
        return session == self._head.name and self._stored_until < seq <= self._head.version

    def _frame(self, seq: int) -> Buffer:
        return self._frames[seq - self._stored_until - 1]


class PreviewLog:
    """An `EventLog` over a snapshot, whose appends to one session are shown and stored nowhere."""

    def __init__(self, snapshot: Snapshot, session: str) -> None:
        self._preview = Preview(snapshot, session, [])

    def snapshot(self) -> AbstractContextManager[Preview]:
        return self._preview.snapshot()

    def append(
        self, session: str, events: Sequence[NewEvent], *, expected: Expected = "any", **_: Any
    ) -> AppendResult:
        check_expected(session, expected, self._preview.head(session).version)
        longer = copy(self._preview)
        longer.extend(events)
        self._preview, head = longer, longer.head(session)
        return AppendResult(version=head.version, position=head.position, added=len(events))

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        del derived

    def close(self) -> None:
        pass
