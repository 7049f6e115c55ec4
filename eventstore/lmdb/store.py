"""The log on disk: one LMDB environment a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from threading import Lock
from types import TracebackType
from typing import Any, Final, Generic, Literal, Self, TypeVar, cast

import lmdb

from eventstore.append import check_events
from eventstore.chain import payload_digest
from eventstore.errors import StoreError
from eventstore.event import NewEvent, epoch_milliseconds
from eventstore.lmdb import opening
from eventstore.lmdb.appending import Append
from eventstore.lmdb.keys import Transaction
from eventstore.lmdb.opening import StoreSize
from eventstore.lmdb.snapshot import LmdbSnapshot
from eventstore.log import Appended, Expected, Snapshot

T = TypeVar("T")
Context = TypeVar("Context")


class Request(Generic[Context]):
    """One caller's write, and what came of it."""

    def __init__(self, write: Callable[[Context], Any]) -> None:
        self.write = write
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = False

    def succeed(self, result: object) -> None:
        """Tell the caller that the write is durable."""
        self.result, self.is_done = result, True

    def fail(self, error: BaseException) -> None:
        """Fail this write; others in the batch are unaffected."""
        self.error, self.is_done = error, True


class GroupCommit(Generic[Context]):
    """Runs writes of any number of threads.

    `commit` gets the writes that are waiting, does them in one transaction, and makes each a success or a
    failure by itself; it is never called twice at a time.
    """

    def __init__(self, commit: Callable[[Sequence[Request[Context]]], None]) -> None:
        self._commit = commit
        self._waiting: list[Request[Context]] = []
        self._queue = Lock()
        self._turn = Lock()

    def run(self, write: Callable[[Context], T]) -> T:
        """Return the result of a write, once it is durable. Raises what the write raised."""
        request: Request[Context] = Request(write)
        try:
            with self._queue:
                self._waiting.append(request)
            # Whoever gets the turn first commits for all who wait; they find their own done when their turn comes.
            with self._turn:
                if not request.is_done:
                    self._commit_waiting()
        finally:
            # A caller who was interrupted takes only the own request along: the next one commits the others'.
            with self._queue:
                self._waiting = [each for each in self._waiting if each is not request and not each.is_done]
        if request.error is not None:
            raise request.error
        return cast("T", request.result)

    def _commit_waiting(self) -> None:
        with self._queue:
            batch = [each for each in self._waiting if not each.is_done]
        try:
            self._commit(batch)
        except Exception as error:  # noqa: BLE001  it is raised where the write was asked for
            if len(batch) == 1:
                batch[0].fail(error)
            else:
                self._commit_each(batch)

    def _commit_each(self, batch: Sequence[Request[Context]]) -> None:
        """Commit each write by itself: one of them may be what made the transaction fail."""
        for request in batch:
            try:
                self._commit([request])
            except Exception as error:  # noqa: BLE001
                request.fail(error)


Durability = Literal["each", "batch"]
"""Each append has a flush of its own, or shares one with those of other threads."""

_COMMITS_A_CHECK: Final = 256
"""Commits after which the slots of readers that died are looked for."""


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
        map_size: int = opening.MAP_SIZE,
    ) -> None:
        self.path = os.fspath(path)
        self._clock = clock
        env, self._files, self._dbs, self._oldest_frame = opening.open_environment(
            self.path, create=create, map_size=map_size
        )
        self._env: lmdb.Environment | None = env
        self._process = os.getpid()
        self._has_lock = env.flags()["lock"]
        # One writer at a time in this process, too, so that the map can grow between two of them.
        self._writing = Lock()
        self._mapping = Lock()
        self._commits = 0
        self._open_snapshots = 0
        self._to_close: lmdb.Environment | None = None
        self._group = GroupCommit(self._commit) if durability == "batch" else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store. What still reads goes on to its end; the files are let go of with the last snapshot."""
        is_busy = self._open_snapshots or self._writing.locked() or self._mapping.locked()
        if os.getpid() != self._process and is_busy:
            # What was going on at the fork belongs to the parent, and closing here would end it there.
            self._env = None
            return
        with self._writing, self._mapping:
            self._let_go()

    def _let_go(self) -> None:
        env, self._env = self._env, None
        if env is not None and self._open_snapshots:
            # Their frames are slices of the map: without it, reading one would end the process.
            self._to_close = env
        elif env is not None:
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
        check_events(session, events)
        blobs = list(blobs)

        def write(transaction: Transaction) -> Appended:
            for blob in blobs:
                transaction.put(payload_digest(blob), blob, db=self._dbs.blobs, overwrite=False)
            return Append(transaction, self._dbs, self._oldest_frame, self._clock()).run(
                session, events, expected, source
            )

        return self._write(write)

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        items = list(derived)

        def write(transaction: Transaction) -> None:
            for key, value in items:
                transaction.put(key, value, db=self._dbs.derived)

        if items and not self._environment().flags()["readonly"]:
            self._write(write)

    def copy_to(self, folder: str | os.PathLike[str]) -> None:
        """Copy one consistent state into an empty folder, free pages left out. Writers go on. Raises StoreError."""
        with _Snapshots(self) as snapshot:
            try:
                self._environment().copy(os.fspath(folder), compact=True, txn=snapshot._transaction)
            except (lmdb.CorruptedError, lmdb.PageNotFoundError):
                raise  # The store is at fault, not the folder: the snapshot makes it a CorruptionError.
            except lmdb.Error as error:
                raise StoreError(
                    os.fspath(folder), f"cannot be written ({error})", "name another place"
                ) from error

    def size(self) -> StoreSize:
        """Return how much room the store takes, and how many readers it has at this moment."""
        with _Snapshots(self) as snapshot:
            try:
                return opening.size_of(self._environment(), self._dbs, snapshot._transaction)
            except lmdb.Error as error:
                raise opening.translated(self.path, "read", error) from error

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
            self._commits += 1
            if self._commits % _COMMITS_A_CHECK == 0:
                # Readers that died keep the pages that they saw. The append is stored, whatever comes of this.
                with suppress(lmdb.Error, StoreError):
                    self._environment().reader_check()
        for request, (result, error) in zip(requests, outcomes, strict=True):
            if error is None:
                request.succeed(result)
            else:
                request.fail(error)

    def _run(self, requests: Sequence[Request[Transaction]]) -> list[tuple[Any, Exception | None]]:
        """Return the result of each request; where the map is too small, it grows and everything is run again."""
        while True:
            env = self._environment()
            try:
                with env.begin(write=True, buffers=True) as transaction:
                    outcomes = [
                        _run_apart(env, transaction, request, alone=len(requests) == 1)
                        for request in requests
                    ]
                    with self._files.held(env, transaction):
                        transaction.commit()
                    return outcomes
            except lmdb.MapFullError:
                self._resize(env, env.info()["map_size"] * 2)
            except lmdb.MapResizedError:
                self._resize(env, 0)
            except Exception as failure:
                # Without a common lock file, another writer may have overwritten what this one has read.
                self._files.check()
                if isinstance(failure, lmdb.Error):
                    raise opening.translated(self.path, "written", failure) from failure
                raise

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
                self._let_go()
                raise StoreError(
                    self.path, f"the map cannot grow ({failure})", "give this process more memory addresses"
                ) from failure

    def _begin_reading(self) -> Transaction:
        while True:
            try:
                with self._mapping:
                    env = self._environment()
                    transaction = env.begin(buffers=True)
                    self._open_snapshots += 1
                    return transaction
            except lmdb.MapResizedError:
                with self._writing:
                    self._resize(env, 0)
            except lmdb.Error as failure:
                if isinstance(failure, lmdb.ReadersFullError) and env.reader_check():
                    continue
                raise opening.translated(self.path, "read", failure) from failure

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
            if self._to_close is not None and not self._open_snapshots:
                self._to_close.close()
                self._to_close = None
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
    """Return a request's result, or the error for which nothing of it is in the transaction."""
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
    """Return True if pages that a reader without a lock sees may be in use again: two commits on, LMDB takes them."""
    return env.info()["last_txnid"] > reader.id() + 1


class _Snapshots:
    """Opens a read transaction when entered. A class, because a generator costs as much as the transaction."""

    __slots__ = ("_log", "_snapshot", "_transaction")

    def __init__(self, log: LmdbLog) -> None:
        self._log = log

    def __enter__(self) -> LmdbSnapshot:
        log = self._log
        self._transaction = log._begin_reading()
        self._snapshot = LmdbSnapshot(self._transaction, log._dbs, log._oldest_frame)
        return self._snapshot

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        damage = self._snapshot.damage(error) if error is not None else None
        self._log._end_reading(self._transaction, error)
        if damage is not None:
            raise damage from error
