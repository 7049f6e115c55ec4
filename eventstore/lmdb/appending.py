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
    """One append inside its transaction."""

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
            head = self.add(fresh, head, position, source)
            position = head.position
            self._put_rows(head)
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
