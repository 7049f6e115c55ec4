"""Append events to a store in PostgreSQL inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

import psycopg

from eventstore.append import EventBuilder, check_expected
from eventstore.chain import payload_digest
from eventstore.encoding import decode_head, encode_head, encode_source, id_key, source_key
from eventstore.errors import CorruptionError
from eventstore.event import NewEvent
from eventstore.frame import HEADER_SIZE, Buffer, header_of, pointers_of
from eventstore.log import AppendResult, Expected, Head, SourceState
from eventstore.postgres.connections import Connection, rows

_CLIPPED: Final = 2048
"""Bytes of a frame that are read for its header and names; almost all names are shorter."""

_STATE: Final = """
    SELECT store.position, sessions.number, sessions.bytes, sessions.head, events.seq, substr(events.frame, 1, %s)
    FROM store
    LEFT JOIN sessions ON sessions.name = %s
    LEFT JOIN events ON events.session = sessions.number AND events.seq = sessions.leaf
"""
_KNOWN: Final = """
    SELECT events.id, seq, CASE WHEN events.id = ANY(%s) THEN frame ELSE substr(frame, 1, %s) END
    FROM events JOIN sessions ON sessions.number = events.session
    WHERE sessions.name = %s AND events.id = ANY(%s)
"""
_COUNT: Final = (
    "UPDATE store SET position = position + %s, sessions = sessions + %s RETURNING position, sessions"
)
# Arrays go in binary form (%b): as text, a thousand events would take about twice as long. COPY would be about as
# fast, but it cannot share a round trip with the statements that follow.
_INSERT: Final = """
    INSERT INTO events (session, seq, position, parent_seq, run_start, id, frame)
    SELECT %s, * FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b::bigint[], %b::bytea[], %b::bytea[])
"""
_HEAD: Final = """
    INSERT INTO sessions (number, name, leaf, bytes, head) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (number) DO UPDATE SET leaf = excluded.leaf, bytes = excluded.bytes, head = excluded.head
"""
_BLOB: Final = "INSERT INTO blobs (digest, payload) VALUES (%s, %s) ON CONFLICT DO NOTHING"
_SOURCE: Final = """
    INSERT INTO sources (key, state) VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET state = excluded.state
"""


class PostgresAppend(EventBuilder):
    """One append, from the beginning of its transaction to its commit.

    `is_committing` is True from when the commit was sent: after an error, the events may be stored or not.
    """

    def __init__(self, connection: Connection, session: str, now: int) -> None:
        super().__init__(session, now)
        self._connection = connection
        self._number = 0
        self._known: dict[bytes, int] = {}
        self._asked: set[bytes] = set()
        self._stored: dict[int, bytes] = {}
        self.is_committing = False

    def run(
        self,
        events: Sequence[NewEvent],
        expected: Expected,
        blobs: Iterable[bytes],
        source: str,
        seen: SourceState | None,
    ) -> AppendResult:
        blobs = list(blobs)
        # Writing these may wait for another append, and that one must not wait for the store's counter.
        counts = 0 if blobs or seen is not None else len(events)
        position, head, size = self._begin(events, counts)
        fresh = self.not_there_yet(events)
        if fresh or not events:
            check_expected(self.session, expected, head.version)
        # Before the store's counter: its holder waits for no lock, so appends cannot deadlock.
        for digest, blob in sorted((payload_digest(blob), blob) for blob in blobs):
            self._connection.execute(_BLOB, (digest, blob))
        if seen is not None:
            self._connection.execute(_SOURCE, (source_key(seen.path), encode_source(seen)))
        if fresh:
            if not head.version or counts != len(fresh):
                is_new = not head.version
                values = len(fresh) - counts, int(is_new)
                position, sessions = rows(self._connection, _COUNT, values)[0]
                head = Head(name=self.session, number=sessions) if is_new else head
            else:
                position += counts
            head = self.add(fresh, head, position - len(fresh), source)
            self._insert(head, size)
        else:
            self.is_committing = True
            self._connection.execute("ROLLBACK" if counts else "COMMIT")
        return AppendResult(version=head.version, position=position, added=len(fresh))

    def _begin(self, events: Sequence[NewEvent], counts: int) -> tuple[int, Head, int]:
        """Lock the session; return the store's newest position, the session's head, and its bytes.

        Add `counts` to the store's counter, if that is not 0; the position is the one before.

        What an append usually reads comes with them: the leaf, and events with the ids that the new ones name.
        """
        name = self.session.encode()
        ids = [id_key(event.id) for event in events]
        named = [event.parent for event in events if isinstance(event.parent, str)]
        named += [event.facts.target for event in events if event.facts.target]
        self._asked = {*ids, *map(id_key, named)}
        connection = self._connection
        with connection.pipeline():
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock_key(name),))
            # Each statement sees what was committed before it began, so these see the session as it is locked.
            state = connection.execute(_STATE, (_CLIPPED, name), binary=True)
            known = connection.execute(_KNOWN, (ids, _CLIPPED, name, list(self._asked)), binary=True)
            counted = connection.execute(_COUNT, (counts, 0), binary=True) if counts else None
        found = state.fetchone()
        if found is None:
            raise CorruptionError("", 0, "the row of its counters is missing")
        position, number, size, packed, leaf, frame = found
        if counted is not None:
            # Others may have appended between the two statements.
            position = (counted.fetchone() or found)[0] - counts
        if number is None:
            return position, Head(name=self.session, number=0), 0
        self._number = number
        if frame is not None:
            self._keep(leaf, frame)
        for key, seq, frame in known:
            self._known[key] = seq
            self._keep(seq, frame, is_whole=key in ids)
        return position, decode_head(packed, self.session), size

    def _keep(self, seq: int, frame: bytes, *, is_whole: bool = False) -> None:
        if is_whole or len(frame) < _CLIPPED or HEADER_SIZE + sum(header_of(frame)[5:9]) <= _CLIPPED:
            self._stored[seq] = frame

    def has_any(self, ids: Iterable[str]) -> bool:
        return any(map(self.stored_number, ids))

    def stored_number(self, event_id: str) -> int:
        return self._known.get(id_key(event_id), 0)

    def stored_frame(self, seq: int) -> Buffer:
        found = self._stored.get(seq)
        if found is None:
            query = "SELECT frame FROM events WHERE session = %s AND seq = %s"
            read = rows(self._connection, query, (self._number, seq))
            if not read or len(read[0][0]) < HEADER_SIZE:
                raise CorruptionError(self.session, seq, "is missing or truncated")
            found = self._stored[seq] = read[0][0]
        return found

    def _insert(self, head: Head, size: int) -> None:
        """Insert the rows of all new events, and commit."""
        pointers = [pointers_of(frame) for frame in self.frames.values()]
        ahead = head.position - head.version
        columns = (
            list(self.frames),
            [seq + ahead for seq in self.frames],
            [each[2] for each in pointers],
            [each[3] for each in pointers],
            [id_key(event_id) for event_id in self.numbers],
            list(self.frames.values()),
        )
        size += sum(map(len, self.frames.values()))
        connection = self._connection
        try:
            with connection.pipeline():
                connection.execute(_INSERT, (head.number, *columns))
                connection.execute(
                    _HEAD, (head.number, self.session.encode(), head.leaf, size, encode_head(head))
                )
                self.is_committing = True
                connection.execute("COMMIT")
        except psycopg.errors.UniqueViolation as error:
            raise CorruptionError(
                self.session, min(self.frames), "the next event's place is already taken"
            ) from error


def _lock_key(name: bytes) -> int:
    """Return the key of a session's advisory lock, which needs no row of the session."""
    return int.from_bytes(sha256(name).digest()[:8], "big", signed=True)
