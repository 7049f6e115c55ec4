"""A log as a simple model: every pointer is found by walking. Each kind of log is compared with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import msgspec

from eventstore import chain
from eventstore.append import (
    check_events,
    check_expected,
    head_of,
    is_same,
    to_place,
    written_of,
)
from eventstore.errors import EventConflictError, NotFoundError, no_event, no_session
from eventstore.event import OWN_PLACE, Event, Flag, NewEvent, epoch_milliseconds
from eventstore.frame import Buffer
from eventstore.kinds import is_entry
from eventstore.log import AppendResult, Expected, FeedItem, Head, Snapshot, SourceState
from eventstore.placing import Placed, Placer
from tests.support.frames import encode


class ModelLog:
    """An `EventLog` that is slow and plain. `clock` returns epoch milliseconds for `recorded`."""

    def __init__(self, *, clock: Callable[[], int] = epoch_milliseconds) -> None:
        self._clock = clock
        self._state = _State({}, [], {}, {}, {}, seen={})

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        yield self._state.copy()

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
        check_events(session, events)
        state = self._state.copy()
        stored = state.events.setdefault(session, [])
        fresh: dict[str, NewEvent] = {}
        for event in events:
            twin: NewEvent | Event | None = fresh.get(event.id) or next(
                (old for old in stored if old.id == event.id), None
            )
            if twin is None:
                fresh[event.id] = event
            elif not is_same(event, twin):
                raise EventConflictError(session, event.id)
        if fresh or not events:
            check_expected(session, expected, len(stored))
        if fresh:
            state.add(session, list(fresh.values()), self._clock(), source)
        for blob in blobs:
            state.blobs[chain.payload_digest(blob)] = blob
        if seen is not None:
            state.seen[seen.path] = seen
        self._state = state
        return AppendResult(version=len(stored), position=len(state.order), added=len(fresh))

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        state = self._state.copy()
        state.kept.update(derived)
        self._state = state

    def close(self) -> None:
        pass


def _stored(placed: Placed, written: Event, tree: Mapping[int, Event]) -> Event:
    """Return an event at its place; `tree` are the placed events by number."""
    seq, new = placed.seq, placed.event
    parent, target = tree.get(placed.parent), tree.get(placed.target)
    path = _path(parent, tree)
    flags = new.facts.flags | (Flag.ORPHAN if placed.is_orphan else 0)
    if not is_entry(new.kind):
        flags |= Flag.OFF_PATH
        pointers = {"run_start": seq, "compaction_seq": 0, "model_seq": 0, "thinking_seq": 0}
    else:
        if new.kind in ("rewrite", "undone") or any(event.flags & Flag.OVERLAID for event in path):
            flags |= Flag.OVERLAID
        if new.kind == "compaction" and target not in path:
            target = None
        pointers = {
            "run_start": _run_start(seq, path),
            "compaction_seq": _compaction(new, seq, target, path, tree),
            "model_seq": _last(Flag.SETS_MODEL, new, seq, path),
            "thinking_seq": _last(Flag.SETS_THINKING, new, seq, path),
        }
    return msgspec.structs.replace(
        written,
        parent=parent.id if parent and is_entry(new.kind) else None,
        parent_seq=parent.seq if parent else 0,
        flags=flags,
        target_seq=target.seq if target else 0,
        **pointers,
    )


def _written(new: NewEvent, session: str, seq: int, *, position: int, now: int, digest: bytes) -> Event:
    """Return an event without its place."""
    parent = new.parent if isinstance(new.parent, str) else None
    return Event(
        session=session,
        seq=seq,
        position=position,
        id=new.id,
        parent=None,
        written_parent=parent,
        parent_seq=0,
        kind=new.kind,
        role=new.facts.role,
        time=new.time,
        recorded=now,
        cause=new.cause,
        format=new.format,
        flags=0,
        utf16=new.facts.utf16,
        utf8=new.facts.utf8,
        run_start=seq,
        compaction_seq=0,
        model_seq=0,
        thinking_seq=0,
        target_seq=0,
        message_span=new.facts.message,
        digest=written_of(new, seq, position, now, digest).digest,
        body=new.body,
    )


def _path(leaf: Event | None, tree: Mapping[int, Event]) -> list[Event]:
    """Return the path from root to leaf."""
    path: list[Event] = []
    while leaf is not None:
        path.insert(0, leaf)
        leaf = tree.get(leaf.parent_seq)
    return path


def _run_start(seq: int, path: list[Event]) -> int:
    while path and path[-1].seq == seq - 1:
        path, seq = path[:-1], seq - 1
    return seq


def _last(flag: Flag, new: NewEvent, seq: int, path: list[Event]) -> int:
    return (
        seq
        if new.facts.flags & flag
        else next((event.seq for event in reversed(path) if event.flags & flag), 0)
    )


def _compaction(
    new: NewEvent, seq: int, target: Event | None, path: list[Event], tree: Mapping[int, Event]
) -> int:
    """Return the newest compaction in effect, walking up because an undo may be undone."""
    if new.kind == "compaction":
        return seq
    undone = {_append_of(target)} if new.kind == "undone" and target else set()
    for event in reversed(path):
        if _append_of(event) in undone:
            continue
        if event.kind == "undone" and event.target_seq:
            undone.add(_append_of(tree[event.target_seq]))
        elif event.kind == "compaction":
            return event.seq
    return 0


def _append_of(event: Event) -> str:
    return event.cause or event.id


class _State:
    """A `Snapshot`, from which the next append starts."""

    def __init__(
        self,
        events: dict[str, list[Event]],
        order: list[tuple[str, int]],
        head_rows: dict[str, Head],
        blobs: dict[bytes, bytes],
        kept: dict[bytes, bytes],
        *,
        seen: dict[bytes, SourceState],
    ) -> None:
        self.events, self.order, self.head_rows, self.blobs, self.kept = events, order, head_rows, blobs, kept
        self.seen = seen
        self.appended: dict[str, list[NewEvent]] = {}

    def add(self, session: str, fresh: list[NewEvent], now: int, source: str) -> None:
        """Add new events; the places of all of the session's are found anew."""
        stored = self.events[session]
        before = self.head_rows.get(session) or Head(name=session, number=len(self.head_rows) + 1)
        leaf = stored[before.leaf - 1].id if before.leaf else None
        new = to_place(fresh, lambda: leaf)
        for event in new:
            digest = stored[-1].digest if stored else chain.START
            position = len(self.order) + 1
            stored.append(
                _written(event, session, len(stored) + 1, position=position, now=now, digest=digest)
            )
            self.order.append((session, len(stored)))
        all_events = self.appended[session] = [*self.appended.get(session, ()), *new]
        tree: dict[int, Event] = {}
        numbers: dict[str, int] = {}
        placer = Placer(
            b"",
            0,
            locate=lambda name: numbers.get(name, 0),
            read=lambda seq: encode(tree[seq]),
            place=lambda seq: all_events[seq - 1].place or OWN_PLACE,
        )
        for placed in placer.place(all_events, 1):
            numbers[placed.event.id] = placed.seq
            tree[placed.seq] = _stored(placed, stored[placed.seq - 1], tree)
        placer.stand()
        self.events[session] = [tree[seq] for seq in range(1, len(all_events) + 1)]
        frames = {event.seq: encode(event) for event in self.events[session]}
        anew = Head(name=session, number=before.number, source=before.source)
        self.head_rows[session] = head_of(frames, placer, anew, source)

    def copy(self) -> _State:
        events = {session: list(stored) for session, stored in self.events.items()}
        state = _State(
            events,
            list(self.order),
            dict(self.head_rows),
            dict(self.blobs),
            dict(self.kept),
            seen=dict(self.seen),
        )
        state.appended = dict(self.appended)
        return state

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self)

    def heads(self) -> Iterator[Head]:
        return (self.head_rows[name] for name in sorted(self.head_rows, key=str.encode))

    def head(self, session: str) -> Head:
        if session not in self.head_rows:
            raise no_session(session)
        return self.head_rows[session]

    def frame(self, session: str, seq: int) -> Buffer:
        self.head(session)
        if not 0 < seq <= len(self.events[session]):
            raise no_event(session, f"#{seq}")
        return encode(self.events[session][seq - 1])

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        self.head(session)
        last = len(self.events[session]) if last is None else last
        chosen = [event for event in self.events[session] if first <= event.seq <= last]
        return map(encode, reversed(chosen) if backward else chosen)

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        self.head(session)
        stored = self.events[session]
        if leaf > len(stored):
            raise no_event(session, f"#{leaf}")
        above = _path(stored[leaf - 1] if leaf else None, {event.seq: event for event in stored})
        at = next((at for at, event in enumerate(above) if event.seq == first), None)
        return map(encode, above[at:] if at is not None else (each for each in above if each.seq >= first))

    def locate(self, session: str, event_id: str) -> int:
        self.head(session)
        return next((event.seq for event in self.events[session] if event.id == event_id), 0)

    def sessions_with(self, event_id: str, *, only: str = "") -> Sequence[str]:
        return [
            head.name for head in self.heads() if only in {"", head.name} and self.locate(head.name, event_id)
        ]

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        self.head(session)
        ids = (event.id for event in self.events[session] if event.id.startswith(prefix))
        return iter(sorted(ids, key=str.encode))

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        for position, (session, seq) in enumerate(self.order[after:], after + 1):
            yield FeedItem(position, session, seq, encode(self.events[session][seq - 1]))

    def blob(self, digest: bytes) -> bytes:
        if digest not in self.blobs:
            raise NotFoundError("payload", digest.hex(), "the store is damaged: run 'refold verify'")
        return self.blobs[digest]

    def derived(self, key: bytes) -> bytes | None:
        return self.kept.get(key)

    def source(self, path: bytes) -> SourceState | None:
        return self.seen.get(path)

    def sources(self) -> Iterator[SourceState]:
        return iter(self.seen.values())
