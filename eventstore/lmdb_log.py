"""The log on disk: one LMDB environment a store."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from itertools import chain, islice
from threading import Lock
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar, cast

import lmdb
import msgspec

from eventstore import frame as frames_
from eventstore import lmdb_store
from eventstore.admission import check_expected, check_names, is_same
from eventstore.chain import link, payload_digest
from eventstore.clock import epoch_milliseconds
from eventstore.errors import CorruptionError, EventConflictError, NotFoundError, StoreError
from eventstore.event import Event, Flag, NewEvent, Parent
from eventstore.frame import Buffer, decode, encode, upcast
from eventstore.group_commit import GroupCommit, Request
from eventstore.kinds import is_entry
from eventstore.lmdb_store import StoreSize
from eventstore.log import Appended, Expected, FeedItem, Head, Snapshot, advance
from eventstore.standing import stand

_event_key: Final = struct.Struct(">IQ").pack
_number_key: Final = struct.Struct(">cI").pack
_position_key: Final = struct.Struct(">Q").pack
_place: Final = struct.Struct(">IQ")
_seq: Final = struct.Struct(">Q")
_LONGEST_ID_IN_KEY: Final = 480
_encode_head: Final = msgspec.msgpack.Encoder().encode
_decode_head: Final = msgspec.msgpack.Decoder(Head).decode

T = TypeVar("T")
Transaction: TypeAlias = "lmdb.Transaction[memoryview]"
Durability = Literal["each", "batch"]
"""Whether each append has a flush of its own, or shares one with those of other threads."""


def _utf8(name: str) -> bytes:
    """A name to look for; one with a lone surrogate, which no stored name has, is found nowhere."""
    return name.encode("utf-8", "surrogatepass")


def _id_key(number: int, event_id: str) -> bytes:
    """An id as a key; a long one keeps its beginning, so that prefixes still find it, and gets its digest."""
    name = _utf8(event_id)
    if len(name) > _LONGEST_ID_IN_KEY:
        name = name[: _LONGEST_ID_IN_KEY - 32] + sha256(name).digest()
    return number.to_bytes(4, "big") + name


class LmdbLog:
    """An `EventLog` in a folder. Made by `eventstore.open_store`.

    `clock` gives epoch milliseconds for `recorded`. With `durability` "batch" the appends of threads that
    come while the disk is busy share one flush; each still returns when its own is on disk. `map_size` is what
    the file may grow to before the map has to. One object a process and store; threads may share it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        clock: Callable[[], int] = epoch_milliseconds,
        durability: Durability = "each",
        map_size: int = lmdb_store.MAP_SIZE,
    ) -> None:
        self.path = os.fspath(path)
        self._clock = clock
        env, self._dbs, self._oldest_frame = lmdb_store.open_environment(
            self.path, create=create, map_size=map_size
        )
        self._env: lmdb.Environment | None = env
        self._process = os.getpid()
        self._has_lock = env.flags()["lock"]
        # One writer at a time in this process, too, so that the map can grow between two of them.
        self._writing = Lock()
        self._mapping = Lock()
        self._open_snapshots = 0
        self._group = GroupCommit(self._commit) if durability == "batch" else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        env, self._env = self._env, None
        if env is None:
            return
        if os.getpid() != self._process and (self._open_snapshots or self._writing.locked()):
            # What was going on at the fork belongs to the parent, and closing here would end it there.
            return
        env.close()

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return _Snapshots(self)

    def append(
        self,
        session: str,
        events: Sequence[NewEvent],
        *,
        expected: Expected = "any",
        blobs: Iterable[bytes] = (),
        source: str = "",
    ) -> Appended:
        check_names(session, events)
        blobs = list(blobs)

        def write(transaction: Transaction) -> Appended:
            for blob in blobs:
                transaction.put(payload_digest(blob), blob, db=self._dbs.blobs, overwrite=False)
            return _Append(transaction, self._dbs, self._oldest_frame, self._clock()).run(
                session, events, expected, source
            )

        return self._write(write)

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        items = list(derived)

        def write(transaction: Transaction) -> None:
            for key, value in items:
                transaction.put(key, value, db=self._dbs.derived)

        if items:
            self._write(write)

    def copy_to(self, folder: str | os.PathLike[str]) -> None:
        """Copy one consistent state into an empty folder, free pages left out. Writers go on. Raises StoreError."""
        with _Snapshots(self) as snapshot:
            try:
                self._environment().copy(os.fspath(folder), compact=True, txn=snapshot._transaction)
            except lmdb.Error as error:
                raise StoreError(
                    os.fspath(folder), f"cannot be written ({error})", "name another place"
                ) from error

    def size(self) -> StoreSize:
        """How much room the store takes, and how many readers it has at this moment."""
        with _Snapshots(self) as snapshot:
            return lmdb_store.size_of(self._environment(), self._dbs, snapshot._transaction)

    def _write(self, write: Callable[[Transaction], T]) -> T:
        """Run `write` in a durable transaction: its own, or one that it shares with other threads'."""
        if self._environment().flags()["readonly"]:
            raise StoreError(self.path, "is read-only", "write where its files can be written")
        if self._group is not None:
            return self._group.run(write)
        request: Request[Transaction] = Request(write)
        self._commit([request])
        if request.error is not None:
            raise request.error
        return cast("T", request.result)

    def _commit(self, requests: Sequence[Request[Transaction]]) -> None:
        """All requests in one transaction, a failed one without what it wrote."""
        with self._writing:
            outcomes = self._run(requests)
        for request, (result, error) in zip(requests, outcomes, strict=True):
            if error is None:
                request.succeed(result)
            else:
                request.fail(error)

    def _run(self, requests: Sequence[Request[Transaction]]) -> list[tuple[Any, Exception | None]]:
        """What came of each request; where the map is too small, it grows and everything is run again."""
        while True:
            env = self._environment()
            try:
                with env.begin(write=True, buffers=True) as transaction:
                    return [
                        _run_apart(env, transaction, request, alone=len(requests) == 1)
                        for request in requests
                    ]
            except lmdb.MapFullError:
                self._resize(env, env.info()["map_size"] * 2)
            except lmdb.MapResizedError:
                self._resize(env, 0)
            except lmdb.Error as failure:
                raise StoreError(
                    self.path,
                    f"cannot be written ({failure})",
                    "make room or mend what it says; nothing of this append was stored",
                ) from failure

    def _resize(self, env: lmdb.Environment, size: int) -> None:
        """Give the file another map (0: as large as another process has made it), while nothing here uses it."""
        with self._mapping:
            if self._open_snapshots:
                raise StoreError(
                    self.path,
                    "the map is too small, and cannot grow while this process reads",
                    "close the open snapshots, then try again",
                )
            try:
                env.set_mapsize(size)
            except lmdb.Error as failure:
                # The old map is gone by now.
                self.close()
                raise StoreError(
                    self.path, f"the map cannot grow ({failure})", "give this process more memory addresses"
                ) from failure

    def _begin_reading(self) -> Transaction:
        while True:
            env = self._environment()
            try:
                with self._mapping:
                    transaction = env.begin(buffers=True)
                    self._open_snapshots += 1
                    return transaction
            except lmdb.MapResizedError:
                with self._writing:
                    self._resize(env, 0)
            except lmdb.Error as failure:
                if isinstance(failure, lmdb.ReadersFullError) and env.reader_check():
                    continue
                raise StoreError(
                    self.path, f"cannot be read ({failure})", "mend what it says, then try again"
                ) from failure

    def _end_reading(self, transaction: Transaction, error: BaseException | None) -> None:
        if os.getpid() != self._process:
            # The reader's place in the lock file is the parent's, who may be reading still.
            return
        is_stale = (
            not self._has_lock and self._env is not None and _may_be_overwritten(self._env, transaction)
        )
        transaction.abort()
        with self._mapping:
            self._open_snapshots -= 1
        if is_stale and (error is None or isinstance(error, Exception)):
            raise StoreError(
                self.path,
                "was written while it was read, and the reader had no place in its lock file",
                "read it again, or let its lock.mdb be written",
            )

    def _environment(self) -> lmdb.Environment:
        if self._env is None:
            raise StoreError(self.path, "the store is closed", "open it again")
        if os.getpid() != self._process:
            raise StoreError(
                self.path, "the store was opened before a fork", "close it, then open it in this process"
            )
        return self._env


def _run_apart(
    env: lmdb.Environment, transaction: Transaction, request: Request[Transaction], *, alone: bool
) -> tuple[Any, Exception | None]:
    """A request's result, or the error for which nothing of it is in the transaction."""
    inner = transaction if alone else env.begin(parent=transaction, write=True, buffers=True)
    try:
        result = request.write(inner)
    except (lmdb.Error, KeyboardInterrupt, SystemExit):
        if not alone:
            inner.abort()
        raise
    except Exception as error:
        if alone:
            raise
        inner.abort()
        return None, error
    if not alone:
        inner.commit()
    return result, None


def _may_be_overwritten(env: lmdb.Environment, reader: Transaction) -> bool:
    """Whether pages that a reader without a lock sees may be in use again: two commits on, LMDB takes them."""
    return env.info()["last_txnid"] > reader.id() + 1


class _Snapshots:
    """Opens a read transaction when entered. A class, because a generator costs as much as the transaction."""

    __slots__ = ("_log", "_transaction")

    def __init__(self, log: LmdbLog) -> None:
        self._log = log

    def __enter__(self) -> LmdbSnapshot:
        log = self._log
        self._transaction = log._begin_reading()
        return LmdbSnapshot(self._transaction, log._dbs, log._oldest_frame)

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._log._end_reading(self._transaction, error)


class LmdbSnapshot:
    """A `Snapshot` of an `LmdbLog`: one read transaction."""

    def __init__(
        self,
        transaction: Transaction,
        dbs: lmdb_store.Databases,
        oldest_frame: int,
    ) -> None:
        self._transaction = transaction
        self._get = transaction.get
        self._dbs = dbs
        self._numbers: dict[str, int] = {}
        self._is_mixed = oldest_frame != frames_.VERSION

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self)

    def heads(self) -> Iterator[Head]:
        cursor = self._transaction.cursor(self._dbs.sessions)
        if cursor.set_range(b"n"):
            for key, number in cursor:
                if bytes(key[:1]) != b"n":
                    return
                yield self._head(str(key[1:], "utf-8"), int.from_bytes(number, "big"))

    def head(self, session: str) -> Head:
        return self._head(session, self._number(session))

    def _head(self, session: str, number: int) -> Head:
        found = self._get(_number_key(b"h", number), db=self._dbs.sessions)
        try:
            return _decode_head(found or b"")
        except msgspec.DecodeError as error:
            raise CorruptionError(session, 0, f"the session's head cannot be read ({error})") from error

    def _number(self, session: str) -> int:
        number = self._numbers.get(session)
        if number is None:
            found = self._get(b"n" + _utf8(session), db=self._dbs.sessions)
            if found is None:
                raise NotFoundError("session", session, "'refold sessions' lists what is there")
            number = self._numbers[session] = int.from_bytes(found, "big")
        return number

    def frame(self, session: str, seq: int) -> Buffer:
        found = self._get(_event_key(self._number(session), seq), db=self._dbs.events)
        if found is None:
            raise NotFoundError("event", f"{session} #{seq}", "'refold log' lists a session's events")
        return upcast(found) if self._is_mixed else found

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
        if not cursor.set_key(_event_key(number, start)):
            raise CorruptionError(session, start, "is missing")
        values = cursor.iterprev(keys=False) if backward else cursor.iternext(keys=False)
        found: Iterator[Any] = islice(values, last - first + 1)
        return map(upcast, found) if self._is_mixed else found

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        number = self._number(session)
        runs = []
        while leaf >= first and leaf:
            _, _, _, run_start, *_ = frames_.pointers_of(self.frame(session, leaf))
            if not 0 < run_start <= leaf:
                raise CorruptionError(session, leaf, "its run of entries begins behind it")
            if run_start < first:
                runs.append((first, leaf))
                break
            runs.append((run_start, leaf))
            _, _, leaf, *_ = frames_.pointers_of(self.frame(session, run_start))
            if leaf >= run_start:
                raise CorruptionError(session, run_start, "its parent comes behind it")
        if len(runs) == 1:
            return self._run(session, number, *runs[0])
        return chain.from_iterable(self._run(session, number, start, stop) for start, stop in reversed(runs))

    def locate(self, session: str, event_id: str) -> int:
        found = self._get(_id_key(self._number(session), event_id), db=self._dbs.ids)
        return int.from_bytes(found, "big") if found is not None else 0

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        number = self._number(session)
        key = number.to_bytes(4, "big") + _utf8(prefix)[: _LONGEST_ID_IN_KEY - 32]
        cursor = self._transaction.cursor(self._dbs.ids)
        if cursor.set_range(key):
            for found, seq in cursor:
                if bytes(found[: len(key)]) != key:
                    return
                frame = self.frame(session, int.from_bytes(seq, "big"))
                event_id, _ = frames_.names_of(frame, frames_.header_of(frame))
                if event_id.startswith(prefix):
                    yield event_id

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        names: dict[int, str] = {}
        cursor = self._transaction.cursor(self._dbs.positions)
        if not cursor.set_range(_position_key(after + 1)):
            return
        for key, value in cursor:
            number, seq = _place.unpack(value)
            if number not in names:
                head = self._get(_number_key(b"h", number), db=self._dbs.sessions)
                names[number] = _decode_head(head or b"").name
            yield FeedItem(int.from_bytes(key, "big"), names[number], seq, self.frame(names[number], seq))

    def blob(self, digest: bytes) -> bytes:
        found = self._get(digest, db=self._dbs.blobs)
        if found is None:
            raise NotFoundError("payload", digest.hex(), "the store is damaged: run 'refold verify'")
        return bytes(found)

    def derived(self, key: bytes) -> bytes | None:
        found = self._get(key, db=self._dbs.derived)
        return None if found is None else bytes(found)


class _Append:
    """One append inside its transaction."""

    def __init__(
        self,
        transaction: Transaction,
        dbs: lmdb_store.Databases,
        oldest_frame: int,
        now: int,
    ) -> None:
        self._transaction = transaction
        self._dbs = dbs
        self._is_mixed = oldest_frame != frames_.VERSION
        self._now = now
        self._fresh: dict[int, bytes] = {}
        self._fresh_ids: dict[str, int] = {}

    def run(self, session: str, events: Sequence[NewEvent], expected: Expected, source: str) -> Appended:
        head = self._head(session)
        self._number = head.number
        fresh = self._not_there_yet(session, events)
        position = self._last_position()
        if events and not fresh:
            return Appended(version=head.version, position=position, added=0)
        check_expected(session, expected, head.version)
        is_new = head.version == 0
        for event in fresh:
            position += 1
            head = self._add(event, head, position, source)
        if fresh:
            if is_new:
                self._put(self._dbs.sessions, b"n" + session.encode(), head.number.to_bytes(4, "big"))
            self._transaction.put(_number_key(b"h", head.number), _encode_head(head), db=self._dbs.sessions)
        return Appended(version=head.version, position=position, added=len(fresh))

    def _head(self, session: str) -> Head:
        found = self._transaction.get(b"n" + session.encode(), db=self._dbs.sessions)
        if found is not None:
            stored = self._transaction.get(b"h" + bytes(found), db=self._dbs.sessions)
            return _decode_head(stored or b"")
        cursor = self._transaction.cursor(self._dbs.sessions)
        # Keys "h…" are the heads by number and sort before "n…", the numbers by name.
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
        found = self._transaction.get(_id_key(self._number, event_id), db=self._dbs.ids)
        return int.from_bytes(found, "big") if found is not None else 0

    def _read(self, seq: int) -> Buffer:
        if seq in self._fresh:
            return self._fresh[seq]
        found = self._transaction.get(_event_key(self._number, seq), db=self._dbs.events) or b""
        return upcast(found) if self._is_mixed else found

    def _add(self, new: NewEvent, head: Head, position: int, source: str) -> Head:
        seq = head.version + 1
        parent_seq, parent = self._parent(new, head)
        target_seq = self._locate(new.facts.target) if new.facts.target else 0
        standing = stand(new, seq, parent_seq, target_seq, self._read)
        digest = link(
            head.digest,
            body=new.body,
            format=new.format,
            id=new.id,
            parent=parent,
            kind=new.kind,
            time=new.time,
            cause=new.cause,
        )
        event = Event(
            session=head.name,
            seq=seq,
            position=position,
            id=new.id,
            parent=parent,
            parent_seq=parent_seq,
            kind=new.kind,
            role=new.facts.role,
            time=new.time,
            recorded=self._now,
            cause=new.cause,
            format=new.format,
            utf16=new.facts.utf16,
            utf8=new.facts.utf8,
            message_span=new.facts.message,
            digest=digest,
            body=new.body,
            **standing._asdict(),
        )
        frame = encode(event)
        self._fresh[seq] = frame
        self._fresh_ids[new.id] = seq
        self._put(self._dbs.events, _event_key(head.number, seq), frame)
        self._put(self._dbs.ids, _id_key(head.number, new.id), _seq.pack(seq))
        self._put(self._dbs.positions, _position_key(position), _place.pack(head.number, seq), append=True)
        return advance(head, event, source=source)

    def _parent(self, new: NewEvent, head: Head) -> tuple[int, str | None]:
        if new.parent is Parent.LEAF or not is_entry(new.kind):
            if not head.leaf:
                return 0, None
            leaf = self._read(head.leaf)
            return head.leaf, frames_.names_of(leaf, frames_.header_of(leaf))[0]
        if new.parent is None:
            return 0, None
        seq = self._locate(new.parent)
        if not seq or frames_.header_of(self._read(seq)).flags & Flag.OFF_PATH:
            raise NotFoundError(
                "parent entry",
                new.parent,
                f"append it to session {head.name!r} first, or name another parent",
            )
        return seq, new.parent

    def _put(self, db: Any, key: bytes, value: bytes, *, append: bool = False) -> None:
        # A put that does not happen says so only by what it returns.
        if not self._transaction.put(key, value, db=db, overwrite=False, append=append):
            raise AssertionError(f"key {key!r} was there already")
