"""Append events to a store in PostgreSQL: make frames without locks, then write all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from eventstore.append import EventBuilder, check_expected
from eventstore.chain import payload_digest
from eventstore.encoding import decode_head, encode_head, encode_source, id_key, source_key
from eventstore.errors import CorruptionError
from eventstore.event import NewEvent
from eventstore.frame import HEADER_SIZE, Buffer, header_of, id_of, pointers_of
from eventstore.log import AppendResult, Expected, Head, SourceState
from eventstore.postgres.connections import Connection, rows

_CLIPPED: Final = 2048
"""Bytes of a frame that are read for its header and names; almost all names are shorter."""

_KNOWN: Final = """
    SELECT store.position, number, coalesce(bytes, 0), head, found.seq, found.id, found.frame
    FROM store
    LEFT JOIN sessions ON sessions.name = %(name)s::bytea
    LEFT JOIN LATERAL (
        SELECT seq, id, substr(frame, 1, %(clipped)s::integer) AS frame
        FROM events WHERE session = sessions.number AND seq = sessions.leaf AND id <> ALL(%(ids)b::bytea[])
        UNION ALL
        SELECT seq, id, CASE WHEN id = ANY(%(own)b::bytea[]) THEN frame ELSE substr(frame, 1, %(clipped)s::integer) END
        FROM events WHERE session = sessions.number AND id = ANY(%(ids)b::bytea[])
    ) AS found ON true
"""
# One statement is one transaction, which waits for nothing that its client would still have to send. It locks the
# store's row before all others, so two appends cannot deadlock; then each row is seen as it is, not as it was when the
# statement began. An append that adds nothing writes that row all the same: such a commit waits for a synchronous
# standby. One that finds the session changed waits for nothing. Arrays go in binary form (%b): as text, a thousand
# events would take about twice as long.
_WRITE: Final = """
    WITH turn AS MATERIALIZED (
        SELECT position, sessions FROM store FOR UPDATE
    ), made AS (
        INSERT INTO sessions (number, name, position, leaf, bytes, head)
        SELECT sessions + 1, %(name)s::bytea, position + %(count)s::bigint, %(leaf)s::bigint, %(bytes)s::bigint,
            %(head)b::bytea
        FROM turn WHERE %(before)b::bytea IS NULL AND %(count)s::bigint > 0
        ON CONFLICT (name) DO NOTHING
        RETURNING number
    ), grown AS (
        UPDATE sessions
        SET position = CASE %(count)s::bigint WHEN 0 THEN sessions.position ELSE turn.position + %(count)s::bigint END,
            leaf = %(leaf)s::bigint, bytes = %(bytes)s::bigint, head = %(head)b::bytea
        FROM turn WHERE name = %(name)s::bytea AND head = %(before)b::bytea
        RETURNING number
    ), session AS (
        SELECT number FROM made
        UNION ALL SELECT number FROM grown
        UNION ALL SELECT 0 FROM turn WHERE %(before)b::bytea IS NULL AND %(count)s::bigint = 0
    ), counted AS (
        UPDATE store SET position = position + %(count)s::bigint, sessions = greatest(sessions, number)
        FROM session
        RETURNING position, number
    ), added AS (
        INSERT INTO events (session, seq, position, parent_seq, run_start, id, frame)
        SELECT number, seq, position - %(version)s::bigint + seq, parent_seq, run_start, id, frame
        FROM counted, unnest(
            %(seqs)b::bigint[], %(parents)b::bigint[], %(runs)b::bigint[], %(ids)b::bytea[], %(frames)b::bytea[]
        ) AS event (seq, parent_seq, run_start, id, frame)
    ), put AS (
        INSERT INTO blobs (digest, payload)
        SELECT digest, payload
        FROM counted, unnest(%(digests)b::bytea[], %(payloads)b::bytea[]) AS blob (digest, payload)
        ON CONFLICT DO NOTHING
    ), seen AS (
        INSERT INTO sources (key, state)
        SELECT %(key)b::bytea, %(state)b::bytea FROM counted WHERE %(key)b::bytea IS NOT NULL
        ON CONFLICT (key) DO UPDATE SET state = excluded.state
    )
    SELECT counted.position, number,
        CASE WHEN number IS NULL THEN set_config('synchronous_commit', 'off', true) END
    FROM store LEFT JOIN counted ON true
"""
# A late parent gives earlier events other places. Only then does an append need the right to update events.
_MOVE: Final = """
    ), moved AS (
        UPDATE events SET parent_seq = other.parent_seq, run_start = other.run_start, frame = other.frame
        FROM counted, unnest(
            %(moved)b::bigint[], %(moved_parents)b::bigint[], %(moved_runs)b::bigint[], %(moved_frames)b::bytea[]
        ) AS other (seq, parent_seq, run_start, frame)
        WHERE events.session = number AND events.seq = other.seq
    ), put AS (
"""
_WRITE_AND_MOVE: Final = _WRITE.replace("    ), put AS (\n", _MOVE.lstrip("\n"))


class Known(msgspec.Struct):
    """Hold what is known of a session: as it was read, or as the log's last append left it.

    `packed` is its head as stored, None if there is no session; `numbers` and `frames` are of its leaf and, once they
    were read, of the events that an append names. Frames may be clipped behind their names. `position` is that of the
    store's newest event.
    """

    head: Head
    position: int = 0
    number: int | None = None
    size: int = 0
    packed: bytes | None = None
    numbers: dict[bytes, int] = {}
    frames: dict[int, bytes] = {}

    def has_all(self, events: Sequence[NewEvent]) -> bool:
        """Return True if these events name only what is known or among them."""
        own = {event.id for event in events}
        return all(name in own or id_key(name) in self.numbers for name in _named(events))

    def keep(self, seq: int, key: bytes, frame: bytes, *, is_whole: bool = False) -> None:
        self.numbers[key] = seq
        if is_whole or len(frame) < _CLIPPED or header_of(frame).body_at <= _CLIPPED:
            self.frames[seq] = frame


def _named(events: Sequence[NewEvent]) -> list[str]:
    """Return the ids that events name as their parents and targets."""
    parents = [event.parent for event in events if isinstance(event.parent, str)]
    return parents + [event.facts.target for event in events if event.facts.target]


def read_known(connection: Connection, session: str, events: Sequence[NewEvent]) -> Known:
    """Read a session's head and leaf, and its part of these events and of those that they name."""
    own = {id_key(event.id) for event in events}
    ids = own.union(map(id_key, _named(events)))
    values = {
        "name": session.encode(),
        "own": [*own],
        "ids": [*ids],
        "clipped": _CLIPPED,
    }
    known = Known(Head(name=session, number=0))
    found = rows(connection, _KNOWN, values)
    for known.position, known.number, known.size, known.packed, seq, key, frame in found:
        if frame is not None:
            known.keep(seq, key, frame, is_whole=key in own)
    if known.packed is not None:
        known.head = decode_head(known.packed, session)
    for key in ids:
        known.numbers.setdefault(key, 0)
    return known


class PostgresAppend(EventBuilder):
    """One append to a session of which something is known. Only `write` takes locks."""

    def __init__(self, connection: Connection, session: str, now: int, known: Known) -> None:
        super().__init__(session, now)
        self._connection, self._known = connection, known
        self._whole: dict[int, bytes] = {}

    def write(
        self,
        events: Sequence[NewEvent],
        expected: Expected,
        blobs: Sequence[bytes],
        source: str,
        seen: SourceState | None,
    ) -> tuple[AppendResult, Known] | None:
        """Write everything and return what is known then, or None if the session has changed."""
        known = self._known
        fresh = self.not_there_yet(events)
        if fresh or not events:
            check_expected(self.session, expected, known.head.version)
        # Positions and a new session's number are the database's to give, and have columns; these are guessed.
        head = self.add(fresh, known.head, known.position, source) if fresh else known.head
        pointers = [pointers_of(frame) for frame in self.frames.values()]
        after = Known(
            head,
            size=known.size + sum(map(len, self.frames.values())),
            packed=encode_head(head) if fresh else known.packed,
        )
        if head.leaf:
            frame = self._read(head.leaf)
            after.keep(head.leaf, id_key(id_of(frame)), bytes(frame[:_CLIPPED]))
        values = {
            "name": self.session.encode(),
            "before": known.packed,
            "head": after.packed,
            "leaf": head.leaf,
            "bytes": after.size,
            "version": head.version,
            "count": len(fresh),
            "seqs": [*self.frames],
            "parents": [each[2] for each in pointers],
            "runs": [each[3] for each in pointers],
            "ids": [*map(id_key, self.numbers)],
            "frames": [*self.frames.values()],
            "digests": [*map(payload_digest, blobs)],
            "payloads": blobs,
            "key": seen and source_key(seen.path),
            "state": seen and encode_source(seen),
        }
        if self.moved:
            others = [pointers_of(frame) for frame in self.moved.values()]
            values |= {
                "moved": [*self.moved],
                "moved_parents": [each[2] for each in others],
                "moved_runs": [each[3] for each in others],
                "moved_frames": [*self.moved.values()],
            }
        written = rows(self._connection, _WRITE_AND_MOVE if self.moved else _WRITE, values)
        if not written:
            raise CorruptionError("", 0, "the row of its counters is missing")
        after.position, after.number, _ = written[0]
        if after.number is None:
            return None
        return AppendResult(version=head.version, position=after.position, added=len(fresh)), after

    def has_any(self, ids: Iterable[str]) -> bool:
        return any(map(self.stored_number, ids))

    def stored_number(self, event_id: str) -> int:
        return self._known.numbers.get(id_key(event_id), 0)

    def other_number(self, event_id: str) -> int:
        key, numbers = id_key(event_id), self._known.numbers
        if key not in numbers and self._known.packed is not None:
            # What a record says of its place may name others than its parent.
            query = "SELECT seq FROM events WHERE session = %s::integer AND id = %s::bytea"
            found = rows(self._connection, query, (self._known.number, key))
            numbers[key] = found[0][0] if found else 0
        return numbers.get(key, 0)

    def whole_frame(self, seq: int) -> Buffer:
        if not self._whole:
            # A late parent gives all events other places; each read by itself would be a round trip.
            query = "SELECT seq, frame FROM events WHERE session = %s::integer"
            self._whole = dict(rows(self._connection, query, (self._known.number,)))
        found = self._whole.get(seq)
        if found is None:
            raise CorruptionError(self.session, seq, "is missing")
        return found

    def stored_frame(self, seq: int) -> Buffer:
        found = self._known.frames.get(seq)
        if found is None:
            query = "SELECT frame FROM events WHERE session = %s::integer AND seq = %s::bigint"
            read = rows(self._connection, query, (self._known.number, seq))
            if not read or len(read[0][0]) < HEADER_SIZE:
                raise CorruptionError(self.session, seq, "is missing or truncated")
            found = self._known.frames[seq] = read[0][0]
        return found
