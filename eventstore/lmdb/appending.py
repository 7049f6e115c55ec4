"""Append events to an LMDB store inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eventstore import frame as frames_
from eventstore.append import EventBuilder, check_expected
from eventstore.errors import CorruptionError
from eventstore.event import NewEvent
from eventstore.frame import Buffer, upcast
from eventstore.lmdb.keys import (
    Transaction,
    decode_head,
    encode_head,
    event_key,
    id_key,
    number_key,
    place,
    position_key,
    sequence,
)
from eventstore.lmdb.opening import Databases, mark_version
from eventstore.log import AppendResult, Expected, Head


class Append(EventBuilder):
    """One append inside its transaction."""

    def __init__(
        self,
        transaction: Transaction,
        dbs: Databases,
        oldest_frame: int,
        session: str,
        now: int,
    ) -> None:
        super().__init__(session, now)
        self._transaction = transaction
        self._dbs = dbs
        self._oldest_frame = oldest_frame
        self._number, self._stored_until = 0, 0
        self._newest_read: tuple[int, Buffer] = 0, b""
        """The frame that was read last: a new event asks for its parent's twice."""

    def run(self, events: Sequence[NewEvent], expected: Expected, source: str) -> AppendResult:
        head = self._head(self.session)
        self._number, self._stored_until = head.number, head.version
        fresh = self.not_there_yet(events)
        position = self._last_position()
        if events and not fresh:
            return AppendResult(version=head.version, position=position, added=0)
        check_expected(self.session, expected, head.version)
        if fresh:
            for event in fresh:
                position += 1
                head = self.add(event, head, position, source)
            self._put_rows(head)
            if self._oldest_frame < frames_.VERSION:
                mark_version(self._transaction, self._dbs)
            if not self._stored_until:
                key = b"n" + self.session.encode()
                self._put(self._dbs.sessions, [(key, head.number.to_bytes(4, "big"))])
            self._transaction.put(number_key(b"h", head.number), encode_head(head), db=self._dbs.sessions)
        return AppendResult(version=head.version, position=position, added=len(fresh))

    def _head(self, session: str) -> Head:
        found = self._transaction.get(b"n" + session.encode(), db=self._dbs.sessions)
        if found is not None:
            stored = self._transaction.get(b"h" + bytes(found), db=self._dbs.sessions)
            return decode_head(stored, session)
        cursor = self._transaction.cursor(self._dbs.sessions)
        # Keys "h…" (heads by number) sort before "n…" (numbers by name).
        has_any = cursor.set_range(b"n") and cursor.prev()
        return Head(name=session, number=int.from_bytes(cursor.key()[1:], "big") + 1 if has_any else 1)

    def _last_position(self) -> int:
        cursor = self._transaction.cursor(self._dbs.positions)
        return int.from_bytes(cursor.key(), "big") if cursor.last() else 0

    def stored_number(self, event_id: str) -> int:
        if not self._stored_until:
            return 0
        found = self._transaction.get(id_key(self._number, event_id), db=self._dbs.ids)
        return int.from_bytes(found, "big") if found is not None else 0

    def stored_frame(self, seq: int) -> Buffer:
        newest, frame = self._newest_read
        if newest == seq:
            return frame
        found = self._transaction.get(event_key(self._number, seq), db=self._dbs.events)
        if found is None or len(found) < frames_.HEADER_SIZE:
            raise CorruptionError(self.session, seq, "is missing or truncated")
        frame = upcast(found) if self._oldest_frame < frames_.OLDEST else found
        self._newest_read = seq, frame
        return frame

    def _put_rows(self, head: Head) -> None:
        """Put the rows of all events whose frames are made."""
        number, ahead = head.number, head.position - head.version
        self._put(self._dbs.events, [(event_key(number, seq), frame) for seq, frame in self.frames.items()])
        ids = [(id_key(number, name), sequence.pack(seq)) for name, seq in self.numbers.items()]
        self._put(self._dbs.ids, ids)
        positions = [(position_key(seq + ahead), place.pack(number, seq)) for seq in self.frames]
        self._put(self._dbs.positions, positions, append=True)

    def _put(self, db: Any, rows: list[tuple[bytes, bytes]], *, append: bool = False) -> None:
        # A put that fails says so only by its return value.
        if len(rows) == 1:
            # Most appends are of one event; a cursor takes as long as three puts.
            is_put = self._transaction.put(*rows[0], db=db, overwrite=False, append=append)
        else:
            with self._transaction.cursor(db) as cursor:
                is_put = cursor.putmulti(rows, overwrite=False, append=append)[1] == len(rows)
        if not is_put:
            raise CorruptionError(
                self.session, self._stored_until + 1, "the next event's place is already taken"
            )
