"""Read an LMDB store in one read transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice, takewhile
from typing import Any

import lmdb

from eventstore import frame as frames_
from eventstore.encoding import decode_head, decode_name, decode_source, encode_name, id_prefix, source_key
from eventstore.errors import CorruptionError, NotFoundError, no_event, no_session
from eventstore.frame import Buffer
from eventstore.lmdb.keys import (
    Transaction,
    event_key,
    holder_key,
    id_key,
    number_key,
    place,
    position_key,
)
from eventstore.lmdb.opening import Databases
from eventstore.log import FeedItem, Head, Snapshot, SourceState, damage_behind
from eventstore.runs import runs_of_path


class LmdbSnapshot:
    """A `Snapshot` of an `LmdbLog`: one read transaction."""

    def __init__(self, transaction: Transaction, dbs: Databases) -> None:
        self._transaction = transaction
        self._get = transaction.get
        self._dbs = dbs
        self._events = dbs.events
        self._numbers: dict[str, int] = {}
        # The newest path as runs: several questions about one context ask for it.
        self._walked: tuple[tuple[str, int, int], list[tuple[int, int]]] = ("", 0, 0), []
        self._heads: dict[str, Head] = {}

    def damage(self, error: BaseException) -> CorruptionError | None:
        """Return the damage that explains a reader's error; see `damage_behind`."""
        if isinstance(error, lmdb.Error):
            damage = CorruptionError("", 0, f"cannot be read ({error})")
            return damage_behind(damage, self, self._numbers) or damage
        return damage_behind(error, self, self._numbers)

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self)

    def heads(self) -> Iterator[Head]:
        for name, number in self._names():
            try:
                head = self._head(name, number)
            except CorruptionError:
                head = Head(name=name, number=number)
            yield head

    def _names(self) -> Iterator[tuple[str, int]]:
        cursor = self._transaction.cursor(self._dbs.sessions)
        if cursor.set_range(b"n"):
            for key, number in cursor:
                if bytes(key[:1]) != b"n":
                    return
                yield decode_name(key[1:]), int.from_bytes(number, "big")

    def _name(self, number: int) -> str:
        try:
            return decode_head(self._get(number_key(b"h", number), db=self._dbs.sessions)).name
        except CorruptionError:
            for name, found in self._names():
                if found == number:
                    return name
            raise

    def head(self, session: str) -> Head:
        # A fold asks for the same one repeatedly.
        head = self._heads.get(session)
        if head is None:
            head = self._heads[session] = self._head(session, self._number(session))
        return head

    def _head(self, session: str, number: int) -> Head:
        head = decode_head(self._get(number_key(b"h", number), db=self._dbs.sessions), session)
        if head.name != session:
            raise CorruptionError(session, 0, f"the index of sessions leads to {head.name!r}")
        return head

    def _number(self, session: str) -> int:
        number = self._numbers.get(session)
        if number is None:
            found = self._get(b"n" + encode_name(session), db=self._dbs.sessions)
            if found is None:
                raise no_session(session)
            number = self._numbers[session] = int.from_bytes(found, "big")
        return number

    def frame(self, session: str, seq: int) -> Buffer:
        number = self._numbers.get(session) or self._number(session)
        found = self._get(event_key(number, seq), None, self._events)
        if found is None:
            raise no_event(session, f"#{seq}")
        return found

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        version = self.head(session).version
        last = version if last is None else min(last, version)
        first = max(first, 1)
        if first > last:
            return iter(())
        return self._run(session, self._number(session), first, last, backward=backward)

    def _run(
        self, session: str, number: int, first: int, last: int, *, backward: bool = False
    ) -> Iterator[Buffer]:
        cursor = self._transaction.cursor(self._dbs.events)
        start = last if backward else first
        if not cursor.set_key(event_key(number, start)):
            raise CorruptionError(session, start, "is missing")
        values = cursor.iterprev(keys=False) if backward else cursor.iternext(keys=False)
        found: Iterator[Any] = islice(values, last - first + 1)
        return found

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        number, key = self._number(session), (session, leaf, first)
        if self._walked[0] != key:
            head = self.head(session)
            self._walked = key, runs_of_path(head, leaf, first, lambda seq: self.frame(session, seq))
        _, runs = self._walked
        if len(runs) == 1:
            return self._run(session, number, *runs[0])
        return chain.from_iterable(self._run(session, number, *run) for run in runs)

    def locate(self, session: str, event_id: str) -> int:
        found = self._get(id_key(self._number(session), event_id), db=self._dbs.ids)
        return int.from_bytes(found, "big") if found is not None else 0

    def sessions_with(self, event_id: str, *, only: str = "") -> Sequence[str]:
        number = self._number(only) if only else 0
        key = holder_key(id_key(number, event_id))
        cursor, numbers = self._transaction.cursor(self._dbs.holders), list[int]()
        if only:
            numbers = [number] * cursor.set_key(key)
        elif cursor.set_range(key):
            keys = takewhile(lambda each: each[:4] == key[:4], cursor.iternext(values=False))
            numbers = [int.from_bytes(each[4:], "big") for each in keys]
        # Another id may have the same checksum.
        found = self._transaction.cursor(self._dbs.ids).getmulti([id_key(each, event_id) for each in numbers])
        return sorted(self._name(int.from_bytes(place[:4], "big")) for place, _ in found)

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        number = self._number(session)
        key = number.to_bytes(4, "big") + id_prefix(prefix)
        cursor = self._transaction.cursor(self._dbs.ids)
        if cursor.set_range(key):
            for found, seq in cursor:
                if bytes(found[: len(key)]) != key:
                    return
                event_id = frames_.id_of(self.frame(session, int.from_bytes(seq, "big")))
                if event_id.startswith(prefix):
                    yield event_id

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        names: dict[int, str] = {}
        cursor = self._transaction.cursor(self._dbs.positions)
        if not cursor.set_range(position_key(after + 1)):
            return
        for key, value in cursor:
            number, seq = place.unpack(value)
            if number not in names:
                names[number] = self._name(number)
            yield FeedItem(int.from_bytes(key, "big"), names[number], seq, self.frame(names[number], seq))

    def blob(self, digest: bytes) -> bytes:
        found = self._get(digest, db=self._dbs.blobs)
        if found is None:
            raise NotFoundError("payload", digest.hex(), "the store is damaged: run 'refold verify'")
        return bytes(found)

    def derived(self, key: bytes) -> bytes | None:
        found = self._get(key, db=self._dbs.derived)
        return None if found is None else bytes(found)

    def source(self, path: bytes) -> SourceState | None:
        found = self._get(source_key(path), db=self._dbs.sources)
        return None if found is None else decode_source(found)

    def sources(self) -> Iterator[SourceState]:
        return map(decode_source, self._transaction.cursor(self._dbs.sources).iternext(keys=False))
