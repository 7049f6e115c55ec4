"""Append events to an LMDB store inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from eventstore import frame as frames_
from eventstore.append import EventBuilder, check_expected
from eventstore.encoding import decode_head, encode_head
from eventstore.errors import CorruptionError
from eventstore.event import NewEvent
from eventstore.frame import Buffer
from eventstore.lmdb.keys import (
    Transaction,
    event_key,
    holder_key,
    id_key,
    id_keys,
    number_key,
    place,
    position_key,
    sequence,
)
from eventstore.lmdb.opening import Databases
from eventstore.log import AppendResult, Expected, Head


class Append(EventBuilder):
    """One append: its frames are made in one transaction, and put in another."""

    def __init__(
        self,
        transaction: Transaction,
        dbs: Databases,
        session: str,
        now: int,
    ) -> None:
        super().__init__(session, now)
        self._transaction = transaction
        self._dbs = dbs
        self._before = self._after = self._head()
        self._position = self._last_position()
        self._number, self._stored_until = self._before.number, self._before.version
        self._newest_read: tuple[int, Buffer] = 0, b""
        """The frame that was read last: a new event asks for its parent's twice."""

    def make(self, events: Sequence[NewEvent], expected: Expected, source: str) -> None:
        """Make the frames of the events that are not stored."""
        fresh = self.not_there_yet(events)
        if fresh or not events:
            check_expected(self.session, expected, self._before.version)
        if fresh:
            self._after = self.add(fresh, self._before, self._position, source)

    def put(self, transaction: Transaction) -> AppendResult | None:
        """Put the frames; do nothing and return None if others have appended since they were made."""
        self._transaction = transaction
        head = self._after
        if (self._head(), self._last_position()) != (self._before, self._position):
            return None
        if self.frames:
            self._put_rows(head)
            if not self._stored_until:
                key = b"n" + self.session.encode()
                self._put(self._dbs.sessions, [(key, head.number.to_bytes(4, "big"))])
            transaction.put(number_key(b"h", head.number), encode_head(head), db=self._dbs.sessions)
        position = head.position if self.frames else self._position
        return AppendResult(version=head.version, position=position, added=len(self.frames))

    def _head(self) -> Head:
        found = self._transaction.get(b"n" + self.session.encode(), db=self._dbs.sessions)
        if found is not None:
            stored = self._transaction.get(b"h" + bytes(found), db=self._dbs.sessions)
            return decode_head(stored, self.session)
        cursor = self._transaction.cursor(self._dbs.sessions)
        # Keys "h…" (heads by number) sort before "n…" (numbers by name).
        has_any = cursor.set_range(b"n") and cursor.prev()
        number = int.from_bytes(cursor.key()[1:], "big") + 1 if has_any else 1
        return Head(name=self.session, number=number)

    def _last_position(self) -> int:
        cursor = self._transaction.cursor(self._dbs.positions)
        return int.from_bytes(cursor.key(), "big") if cursor.last() else 0

    def has_any(self, ids: Iterable[str]) -> bool:
        if not self._stored_until:
            return False
        return bool(self._transaction.cursor(self._dbs.ids).getmulti(id_keys(self._number, ids)))

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
        self._newest_read = seq, found
        return found

    def _put_rows(self, head: Head) -> None:
        """Put the rows of all events whose frames are made."""
        number, ahead, values = head.number, head.position - head.version, self.frames.values()
        places = [place.pack(number, seq) for seq in self.frames]
        self._put(self._dbs.events, list(zip(places, values, strict=True)))
        # An event's key ends with its number.
        numbers = [each[-sequence.size :] for each in places]
        keys = id_keys(number, self.numbers)
        self._put(self._dbs.ids, sorted(zip(keys, numbers, strict=True)))
        with self._transaction.cursor(self._dbs.holders) as holders:
            # Two ids of a session may have the same key.
            holders.putmulti([(key, b"") for key in sorted(map(holder_key, keys))])
        for seq, frame in self.moved.items():
            self._transaction.put(place.pack(number, seq), frame, db=self._dbs.events)
        positions = [position_key(seq + ahead) for seq in self.frames]
        self._put(self._dbs.positions, list(zip(positions, places, strict=True)), append=True)

    def _put(self, db: Any, rows: list[tuple[bytes, bytes]], *, append: bool = False) -> None:
        """Put sorted rows; with `append`, they must come after all others."""
        # A put that fails says so only by its return value.
        if len(rows) == 1:
            # Most appends are of one event; a cursor takes as long as three puts.
            is_put = self._transaction.put(*rows[0], db=db, overwrite=False, append=append)
        else:
            with self._transaction.cursor(db) as cursor:
                # Rows behind all others need no search, and fill their pages.
                append = append or not cursor.last() or bytes(cursor.key()) < rows[0][0]
                is_put = cursor.putmulti(rows, overwrite=False, append=append)[1] == len(rows)
        if not is_put:
            raise CorruptionError(
                self.session, self._stored_until + 1, "the next event's place is already taken"
            )
