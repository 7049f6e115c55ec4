"""Implement the log in memory, for data that need not outlive a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice

import msgspec

from eventstore.append import EventBuilder, check_events, check_expected
from eventstore.chain import payload_digest
from eventstore.errors import NotFoundError, no_event, no_session
from eventstore.event import NewEvent, epoch_milliseconds
from eventstore.frame import Buffer
from eventstore.log import AppendResult, Expected, FeedItem, Head, Snapshot, SourceState
from eventstore.runs import runs_of_path


class _Session(msgspec.Struct, frozen=True):
    """A session's head, frames, and numbers by id, which may go on behind the head's version."""

    head: Head
    frames: list[bytes]
    numbers: dict[str, int]

    def number(self, event_id: str) -> int:
        seq = self.numbers.get(event_id, 0)
        return seq if seq <= self.head.version else 0


class MemoryLog:
    """An `EventLog` in memory. `clock` returns epoch milliseconds for `recorded`."""

    def __init__(self, *, clock: Callable[[], int] = epoch_milliseconds) -> None:
        self._clock = clock
        self._state = _State({}, [], 0, {}, {}, {})

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self._state)

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
        state = self._state
        new = Head(name=session, number=len(state.sessions) + 1)
        before = state.sessions.get(session) or _Session(new, [], {})
        made = _Append(session, self._clock(), before)
        fresh = made.not_there_yet(events)
        if fresh or not events:
            check_expected(session, expected, before.head.version)
        after = before.head
        if fresh:
            after = made.add(fresh, before.head, state.count, source)
            before.numbers.update(made.numbers)
            # A snapshot from before reads on to its own end.
            state.order[state.count :] = [(session, seq) for seq in made.frames]
            grown = _Session(after, made.all_frames(), before.numbers)
            sessions = {**state.sessions, session: grown}
            state = msgspec.structs.replace(state, sessions=sessions, count=len(state.order))
        if payloads := {payload_digest(blob): blob for blob in blobs}:
            state = msgspec.structs.replace(state, blobs={**state.blobs, **payloads})
        if seen is not None:
            state = msgspec.structs.replace(state, seen={**state.seen, seen.path: seen})
        self._state = state
        return AppendResult(version=after.version, position=state.count, added=len(fresh))

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        self._state = msgspec.structs.replace(self._state, kept={**self._state.kept, **dict(derived)})

    def close(self) -> None:
        pass


class _Append(EventBuilder):
    """One append to a session in memory."""

    def __init__(self, session: str, now: int, before: _Session) -> None:
        super().__init__(session, now)
        self._before = before

    def has_any(self, ids: Iterable[str]) -> bool:
        return any(map(self._before.number, ids))

    def stored_number(self, event_id: str) -> int:
        return self._before.number(event_id)

    def stored_frame(self, seq: int) -> Buffer:
        return self._before.frames[seq - 1]

    def all_frames(self) -> list[bytes]:
        """Return the session's frames after the append."""
        frames = self._before.frames
        if self.moved:
            frames = [self.moved.get(seq, frame) for seq, frame in enumerate(frames, 1)]
        frames += self.frames.values()
        return frames


class _State(msgspec.Struct, frozen=True):
    """A `Snapshot` of the first `count` events of `order`, which may go on behind them."""

    sessions: Mapping[str, _Session]
    order: list[tuple[str, int]]
    count: int
    blobs: Mapping[bytes, bytes]
    kept: Mapping[bytes, bytes]
    seen: Mapping[bytes, SourceState]

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self)

    def heads(self) -> Iterator[Head]:
        return (self.sessions[name].head for name in sorted(self.sessions, key=str.encode))

    def head(self, session: str) -> Head:
        return self._session(session).head

    def _session(self, name: str) -> _Session:
        if name not in self.sessions:
            raise no_session(name)
        return self.sessions[name]

    def frame(self, session: str, seq: int) -> Buffer:
        found = self._session(session)
        if not 0 < seq <= found.head.version:
            raise no_event(session, f"#{seq}")
        return found.frames[seq - 1]

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        found = self._session(session)
        version = found.head.version
        chosen = found.frames[max(first, 1) - 1 : version if last is None else min(last, version)]
        return reversed(chosen) if backward else iter(chosen)

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        runs = runs_of_path(self.head(session), leaf, first, lambda seq: self.frame(session, seq))
        return (self.frame(session, seq) for start, stop in runs for seq in range(start, stop + 1))

    def locate(self, session: str, event_id: str) -> int:
        return self._session(session).number(event_id)

    def sessions_with(self, event_id: str, *, only: str = "") -> Sequence[str]:
        return [
            head.name for head in self.heads() if only in {"", head.name} and self.locate(head.name, event_id)
        ]

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        found = self._session(session)
        names = (name for name in found.numbers if name.startswith(prefix) and found.number(name))
        return iter(sorted(names, key=str.encode))

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        for position, (session, seq) in enumerate(islice(self.order, after, self.count), after + 1):
            yield FeedItem(position, session, seq, self.frame(session, seq))

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
