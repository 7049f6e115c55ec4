"""Read a store in PostgreSQL in one transaction, with few round trips."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import starmap, takewhile
from typing import Any, Final

import msgspec
import psycopg

from eventstore import frame as frames_
from eventstore.encoding import (
    MAX_ID_BYTES_IN_KEY,
    decode_head,
    decode_name,
    decode_source,
    encode_name,
    id_key,
    id_prefix,
    source_key,
)
from eventstore.errors import CorruptionError, NotFoundError, StoreError, no_event, no_session
from eventstore.frame import Buffer, with_position
from eventstore.log import FeedItem, Head, Snapshot, SourceState, damage_behind
from eventstore.postgres.connections import Connection, Values, explained, rows
from eventstore.runs import runs_of_path

_ROUND_TRIP: Final = 256 << 10
"""Bytes that arrive in about the time of a round trip."""
_KEPT: Final = 256 << 20
"""Bytes of frames that a snapshot keeps at most."""
_CHUNKS: Final = (64, 256, 1024)
"""Rows of the first requests of a long read, and of all later ones."""

_PATH: Final = """
    WITH RECURSIVE runs (start, stop) AS (
        SELECT run_start, seq FROM events WHERE session = %(session)s::integer AND seq = %(leaf)s::bigint
        UNION ALL
        SELECT above.run_start, above.seq
        FROM runs
        JOIN events AS first ON first.session = %(session)s::integer AND first.seq = runs.start
        JOIN events AS above ON above.session = %(session)s::integer AND above.seq = first.parent_seq
        WHERE runs.start > %(first)s::bigint AND above.seq < runs.start
    )
    SELECT seq, position, frame FROM runs
    JOIN events ON session = %(session)s::integer AND seq BETWEEN greatest(start, %(first)s::bigint) AND stop
    ORDER BY seq
"""


class _Session:
    """The part of a session that a snapshot has read.

    `spent` estimates what its reads have cost, in bytes. A session is read whole once that would have cost no
    more; then `is_whole`, and `ids` maps the keys of ids to numbers.
    """

    __slots__ = ("frames", "head", "ids", "is_whole", "size", "sorted_ids", "spent")

    def __init__(self, head: Head, size: int) -> None:
        self.head, self.size = head, size
        self.frames: dict[int, bytes] = {}
        self.ids: dict[bytes, int] = {}
        self.sorted_ids: list[tuple[bytes, int]] = []
        self.is_whole = False
        self.spent = 0


class PostgresSnapshot:
    """A `Snapshot` of a `PostgresLog`: one transaction."""

    def __init__(self, connection: Connection, place: str) -> None:
        self._connection: Connection | None = connection
        self._place = place
        self._sessions: dict[str, _Session] = {}
        self._kept = 0

    def close(self) -> None:
        """End all reading: the connection serves others from now on."""
        self._connection = None

    def damage(self, error: Exception) -> CorruptionError | None:
        """Return the damage that explains a reader's error, None if there is none."""
        return damage_behind(error, self, [*self._sessions])

    def _rows(self, query: str, values: Values = ()) -> list[tuple[Any, ...]]:
        if self._connection is None:
            raise StoreError(self._place, "its snapshot is closed", "read within the block that opened it")
        try:
            return rows(self._connection, query, values)
        except psycopg.Error as error:
            raise explained(self._place, error) from error

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self)

    def heads(self) -> Iterator[Head]:
        found = self._rows("SELECT name, number, position, bytes, head FROM sessions ORDER BY name")
        return (self._readable(decode_name(name), *stored) for name, *stored in found)

    def _readable(self, name: str, number: int, position: int, size: int, packed: bytes) -> Head:
        try:
            return self._known(name, number, position, size, packed).head
        except CorruptionError:
            return Head(name=name, number=number)

    def head(self, session: str) -> Head:
        return self._session(session).head

    def _known(self, name: str, number: int, position: int, size: int, packed: bytes) -> _Session:
        known = self._sessions.get(name)
        if known is None:
            head = msgspec.structs.replace(decode_head(packed, name), number=number, position=position)
            if head.name != name:
                raise CorruptionError(name, 0, f"the index of sessions leads to {head.name!r}")
            known = self._sessions[name] = _Session(head, size)
        return known

    def _session(self, name: str) -> _Session:
        known = self._sessions.get(name)
        if known is None:
            query = "SELECT number, position, bytes, head FROM sessions WHERE name = %s::bytea"
            found = self._rows(query, (encode_name(name),))
            if not found:
                raise no_session(name)
            known = self._known(name, *found[0])
        return known

    def _is_whole(self, known: _Session) -> bool:
        """Return True if all frames of a session are here; read them if single reads cost more."""
        if known.is_whole:
            return True
        known.spent += _ROUND_TRIP
        if known.size > min(known.spent, _KEPT):
            return False
        # This read replaces the frames of the session that are here already.
        self._kept -= sum(map(len, known.frames.values()))
        known.frames = {}
        self._make_room(known.size)
        query = (
            "SELECT id, seq, position, frame FROM events WHERE session = %s::integer AND seq <= %s::bigint"
        )
        found = self._rows(query, (known.head.number, known.head.version))
        known.frames = {seq: with_position(frame, position) for _, seq, position, frame in found}
        known.ids = {key: seq for key, seq, _, _ in found}
        known.sorted_ids = sorted(known.ids.items())
        known.is_whole = True
        return True

    def _make_room(self, size: int) -> None:
        """Count so many bytes as kept; forget all others if they would be too many together."""
        if self._kept + size > _KEPT:
            for other in self._sessions.values():
                other.frames, other.ids, other.sorted_ids, other.is_whole = {}, {}, [], False
            self._kept = 0
        self._kept += size

    def frame(self, session: str, seq: int) -> Buffer:
        known = self._sessions.get(session) or self._session(session)
        found = known.frames.get(seq)
        if found is None:
            if not 0 < seq <= known.head.version:
                raise no_event(session, f"#{seq}")
            if not self._is_whole(known):
                query = "SELECT frame, position FROM events WHERE session = %s::integer AND seq = %s::bigint"
                read = self._rows(query, (known.head.number, seq))
                if read:
                    self._keep(known, {seq: with_position(*read[0])})
            found = known.frames.get(seq)
            if found is None:
                raise CorruptionError(session, seq, "is missing")
        return found

    def _keep(self, known: _Session, frames: dict[int, bytes]) -> None:
        size = sum(map(len, frames.values()))
        known.spent += size
        self._make_room(size)
        known.frames |= frames

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        known = self._session(session)
        version = known.head.version
        last = version if last is None else min(last, version)
        first = max(first, 1)
        if first > last:
            return iter(())
        if not known.is_whole:
            # The cost of this read, if all events had the same size.
            known.spent += known.size * (last - first + 1) // version
        if not self._is_whole(known):
            return self._streamed(session, known, first, last, backward=backward)
        numbers = range(first, last + 1)
        return _found(session, known.frames, reversed(numbers) if backward else iter(numbers))

    def _streamed(
        self, session: str, known: _Session, first: int, last: int, *, backward: bool
    ) -> Iterator[Buffer]:
        query = (
            "SELECT frame, position FROM events"
            " WHERE session = %s::integer AND seq BETWEEN %s::bigint AND %s::bigint ORDER BY seq"
        )
        query += " DESC" if backward else ""
        for size in _sizes():
            lower = max(first, last - size + 1) if backward else first
            upper = last if backward else min(last, first + size - 1)
            found = self._rows(query, (known.head.number, lower, upper))
            if len(found) != upper - lower + 1:
                raise CorruptionError(session, lower, "or an event soon after it is missing")
            yield from starmap(with_position, found)
            first, last = (first, lower - 1) if backward else (upper + 1, last)
            if first > last:
                return

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        known = self._session(session)
        if not leaf or (leaf < first and not known.head.is_late):
            return iter(())
        if leaf > known.head.version:
            raise no_event(session, f"#{leaf}")
        if self._is_whole(known) or known.head.is_late:
            return self._walked(session, leaf, first)
        values = {"session": known.head.number, "leaf": leaf, "first": first}
        found = {seq: with_position(frame, position) for seq, position, frame in self._rows(_PATH, values)}
        # A path of a session that would fill the room is not kept: its frames are not read again soon.
        if known.size <= _KEPT:
            self._keep(known, {seq: frame for seq, frame in found.items() if seq not in known.frames})
        return iter(found.values())

    def _walked(self, session: str, leaf: int, first: int) -> Iterator[Buffer]:
        known = self._session(session)
        runs = runs_of_path(known.head, leaf, first, lambda seq: self.frame(session, seq))
        numbers = (seq for start, stop in runs for seq in range(start, stop + 1))
        return (self.frame(session, seq) for seq in numbers)

    def locate(self, session: str, event_id: str) -> int:
        known, key = self._session(session), id_key(event_id)
        if self._is_whole(known):
            return known.ids.get(key, 0)
        query = "SELECT seq FROM events WHERE session = %s::integer AND id = %s::bytea"
        found = self._rows(query, (known.head.number, key))
        return int(found[0][0]) if found else 0

    def sessions_with(self, event_id: str, *, only: str = "") -> Sequence[str]:
        query = """
            SELECT sessions.name FROM sessions
            JOIN events ON events.session = sessions.number AND events.id = %s::bytea
            WHERE %s::bytea IN ('', sessions.name)
            ORDER BY sessions.name
        """
        return [decode_name(name) for (name,) in self._rows(query, (id_key(event_id), encode_name(only)))]

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        known = self._session(session)
        beginning = id_prefix(prefix)
        for key, seq in self._keys(known, beginning):
            if len(key) < MAX_ID_BYTES_IN_KEY:
                event_id = decode_name(key)
            else:
                frame = self.frame(session, seq)
                event_id = frames_.id_of(frame)
            if event_id.startswith(prefix):
                yield event_id

    def _keys(self, known: _Session, beginning: bytes) -> Iterable[tuple[bytes, int]]:
        """Return the keys of ids that start so, sorted, with the numbers of their events."""
        if self._is_whole(known):
            first = bisect_left(known.sorted_ids, (beginning, 0))
            return takewhile(lambda each: each[0].startswith(beginning), known.sorted_ids[first:])
        # No byte of UTF-8 is 0xFF, so this is after all names that begin so.
        query = (
            "SELECT id, seq FROM events"
            " WHERE session = %s::integer AND id >= %s::bytea AND id < %s::bytea ORDER BY id"
        )
        found = self._rows(query, (known.head.number, beginning, beginning + b"\xff"))
        return ((key, seq) for key, seq in found)

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        query = """
            SELECT events.position, sessions.name, seq, frame FROM events
            JOIN sessions ON sessions.number = events.session
            WHERE events.position > %s::bigint ORDER BY events.position LIMIT %s::bigint
        """
        for size in _sizes():
            found = self._rows(query, (after, size))
            for after, name, seq, frame in found:  # noqa: PLR1704  the next request continues after it
                yield FeedItem(after, decode_name(name), seq, with_position(frame, after))
            if len(found) < size:
                return

    def blob(self, digest: bytes) -> bytes:
        found = self._value("SELECT payload FROM blobs WHERE digest = %s::bytea", digest)
        if found is None:
            raise NotFoundError("payload", digest.hex(), "the store is damaged: run 'refold verify'")
        return found

    def derived(self, key: bytes) -> bytes | None:
        return self._value("SELECT value FROM derived WHERE role = current_user AND key = %s::bytea", key)

    def source(self, path: bytes) -> SourceState | None:
        found = self._value("SELECT state FROM sources WHERE key = %s::bytea", source_key(path))
        return None if found is None else decode_source(found)

    def sources(self) -> Iterator[SourceState]:
        return (decode_source(state) for (state,) in self._rows("SELECT state FROM sources"))

    def _value(self, query: str, key: bytes) -> bytes | None:
        found: list[tuple[Any, ...]] = self._rows(query, (key,))
        return bytes(found[0][0]) if found else None


def _found(session: str, frames: Mapping[int, bytes], numbers: Iterable[int]) -> Iterator[Buffer]:
    """Yield these frames, even if the snapshot forgets the session meanwhile."""
    for seq in numbers:
        found = frames.get(seq)
        if found is None:
            raise CorruptionError(session, seq, "is missing")
        yield found


def _sizes() -> Iterator[int]:
    """Yield the row counts of successive requests: small at first, so short reads stay fast."""
    yield from _CHUNKS
    while True:
        yield _CHUNKS[-1]
