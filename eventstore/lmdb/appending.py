"""Append events to an LMDB store inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eventstore import frame as frames_
from eventstore.append import build_stored_event, check_expected, is_same
from eventstore.errors import CorruptionError, EventConflictError, NotFoundError
from eventstore.event import Event, Flag, NewEvent, Parent
from eventstore.frame import Buffer, decode, encode, pointers_of, upcast
from eventstore.kinds import is_entry
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
from eventstore.log import AppendResult, Expected, Head, advance


class Append:
    """One append inside its transaction."""

    def __init__(
        self,
        transaction: Transaction,
        dbs: Databases,
        oldest_frame: int,
        now: int,
    ) -> None:
        self._transaction = transaction
        self._dbs = dbs
        self._oldest_frame = oldest_frame
        self._now = now
        self._session, self._number, self._stored_until = "", 0, 0
        self._fresh: dict[int, bytes] = {}
        self._fresh_ids: dict[str, int] = {}

    def run(self, session: str, events: Sequence[NewEvent], expected: Expected, source: str) -> AppendResult:
        head = self._head(session)
        self._session, self._number, self._stored_until = session, head.number, head.version
        fresh = self._not_there_yet(session, events)
        position = self._last_position()
        if events and not fresh:
            return AppendResult(version=head.version, position=position, added=0)
        check_expected(session, expected, head.version)
        if fresh:
            for event in fresh:
                position += 1
                head = self._add(event, head, position, source)
            self._put_rows(head)
            if self._oldest_frame < frames_.VERSION:
                mark_version(self._transaction, self._dbs)
            if not self._stored_until:
                self._put(self._dbs.sessions, [(b"n" + session.encode(), head.number.to_bytes(4, "big"))])
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

    def _not_there_yet(self, session: str, events: Sequence[NewEvent]) -> list[NewEvent]:
        fresh: dict[str, NewEvent] = {}
        for event in events:
            twin: NewEvent | Event | None = fresh.get(event.id)
            if twin is None and (seq := self._locate(event.id)):
                twin = decode(self._read(seq), session)
            if twin is None:
                fresh[event.id] = event
            elif not is_same(event, twin):
                raise EventConflictError(session, event.id)
        return list(fresh.values())

    def _locate(self, event_id: str) -> int:
        if event_id in self._fresh_ids:
            return self._fresh_ids[event_id]
        if not self._stored_until:
            return 0
        found = self._transaction.get(id_key(self._number, event_id), db=self._dbs.ids)
        return int.from_bytes(found, "big") if found is not None else 0

    def _read(self, seq: int) -> Buffer:
        if seq in self._fresh:
            return self._fresh[seq]
        found = self._transaction.get(event_key(self._number, seq), db=self._dbs.events)
        if found is None or len(found) < frames_.HEADER_SIZE:
            raise CorruptionError(self._session, seq, "is missing or truncated")
        return upcast(found) if self._oldest_frame < frames_.OLDEST else found

    def _add(self, new: NewEvent, head: Head, position: int, source: str) -> Head:
        seq = head.version + 1
        parent_seq, parent = self._parent(new, head)
        target_seq = self._locate(new.facts.target) if new.facts.target else 0
        event = build_stored_event(
            new,
            head,
            parent_seq=parent_seq,
            parent=parent,
            target_seq=target_seq,
            position=position,
            recorded=self._now,
            read=self._read,
        )
        self._fresh[seq] = encode(event)
        self._fresh_ids[new.id] = seq
        return advance(head, event, source=source)

    def _parent(self, new: NewEvent, head: Head) -> tuple[int, str | None]:
        if new.parent is Parent.LEAF or not is_entry(new.kind):
            if not head.leaf:
                return 0, None
            leaf = self._read(head.leaf)
            return head.leaf, frames_.id_of(leaf, frames_.header_of(leaf))
        if new.parent is None:
            return 0, None
        seq = self._locate(new.parent)
        if not seq or pointers_of(self._read(seq))[1] & Flag.OFF_PATH:
            raise NotFoundError(
                "parent entry",
                new.parent,
                f"append it to session {head.name!r} first, or name another parent",
            )
        return seq, new.parent

    def _put_rows(self, head: Head) -> None:
        """Put the rows of all events whose frames are made."""
        number, ahead = head.number, head.position - head.version
        self._put(self._dbs.events, [(event_key(number, seq), frame) for seq, frame in self._fresh.items()])
        ids = [(id_key(number, name), sequence.pack(seq)) for name, seq in self._fresh_ids.items()]
        self._put(self._dbs.ids, ids)
        positions = [(position_key(seq + ahead), place.pack(number, seq)) for seq in self._fresh]
        self._put(self._dbs.positions, positions, append=True)

    def _put(self, db: Any, rows: list[tuple[bytes, bytes]], *, append: bool = False) -> None:
        with self._transaction.cursor(db) as cursor:
            _, added = cursor.putmulti(rows, overwrite=False, append=append)
        # A put that fails says so only by its return value.
        if added != len(rows):
            raise CorruptionError(
                self._session, self._stored_until + 1, "the next event's place is already taken"
            )
