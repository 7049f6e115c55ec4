"""Implement the log on disk: a folder with one LMDB environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self, TypeVar, cast, get_args

import lmdb

from eventstore.chain import payload_digest
from eventstore.encoding import encode_head, encode_source, source_key
from eventstore.errors import BadInputError, StoreError
from eventstore.event import NewEvent, epoch_milliseconds
from eventstore.lmdb import opening
from eventstore.lmdb.data_files import StoreFiles
from eventstore.lmdb.environment import Durability, Options, closed, shared
from eventstore.lmdb.keys import Transaction, event_key, number_key
from eventstore.lmdb.snapshot import LmdbSnapshot
from eventstore.log import AppendResult, Expected, Head, Snapshot, SourceState, StoreSize

T = TypeVar("T")


class LmdbLog:
    """An `EventLog` in a folder. Made by `eventstore.open_store`.

    `clock` returns epoch milliseconds for `recorded`. With `durability` "batch", appends of threads that
    arrive while the disk is busy share one flush; each returns when its own is on disk. `map_size` is the
    file's initial maximum size, which grows as needed. Threads may share a log, and a process may open a
    store several times: all its logs share one environment and must agree on the options. With `read_only`,
    appends are refused, and neither opening nor `keep` waits for a writer.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        clock: Callable[[], int] = epoch_milliseconds,
        durability: Durability = "each",
        map_size: int = opening.MAP_SIZE,
        read_only: bool = False,
    ) -> None:
        if durability not in get_args(Durability):
            choices = " or ".join(map(repr, get_args(Durability)))
            raise BadInputError(f"durability {durability!r}", "unknown durability", f"use {choices}")
        self.path = self.place = os.fspath(path)
        self._clock = clock
        self._for_reading = read_only
        options, create = Options(durability, map_size), create and not read_only
        self._shared = shared(self.path, self, options, create=create, read_only=read_only)
        opened = self._shared
        self._files = opened.files if opened.path == self.path else StoreFiles(self.path)
        self._is_closed = False

    @property
    def folder(self) -> str:
        return self.path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the log. Open snapshots keep working; the last one releases the files."""
        self._is_closed = True
        self._shared.release(self)

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
        seen: SourceState | None = None,
    ) -> AppendResult:
        # A process that only reads does not load what appends.
        from eventstore.append import check_events  # noqa: PLC0415
        from eventstore.lmdb.appending import Append  # noqa: PLC0415

        check_events(session, events)
        blobs, environment = list(blobs), self._shared

        def made(transaction: Transaction) -> Append:
            append = Append(transaction, environment.dbs, session, self._clock())
            append.make(events, expected, source)
            return append

        self._check_writable()
        with _Snapshots(self) as snapshot:
            append = made(snapshot._transaction)

        def write(transaction: Transaction) -> AppendResult:
            done = append.put(transaction) or made(transaction).put(transaction)
            assert done is not None  # noqa: S101  nobody else writes in a write transaction
            for blob in blobs:
                transaction.put(payload_digest(blob), blob, db=environment.dbs.blobs, overwrite=False)
            if seen is not None:
                transaction.put(source_key(seen.path), encode_source(seen), db=environment.dbs.sources)
            return done

        return self._write(write)

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        items, environment = list(derived), self._shared

        def write(transaction: Transaction) -> None:
            for key, value in items:
                transaction.put(key, value, db=environment.dbs.derived)

        if not items or self._is_read_only():
            return
        try:
            if self._for_reading:
                self._commit(write, if_idle=True)
            else:
                self._write(write)
        except StoreError as error:
            # Nobody who only reads should need room on the disk for what can be computed again.
            if not (self._for_reading and isinstance(error.__cause__, lmdb.Error)):
                raise

    def copy_to(self, folder: str | os.PathLike[str]) -> None:
        """Copy a consistent state into an empty folder, without free pages. Raises StoreError.

        Writers may continue.
        """
        with _Snapshots(self) as snapshot:
            try:
                self._environment().copy(os.fspath(folder), compact=True, txn=snapshot._transaction)
            except (lmdb.CorruptedError, lmdb.PageNotFoundError):
                raise  # The store is damaged, not the folder: the snapshot raises CorruptionError.
            except lmdb.Error as error:
                raise StoreError(
                    os.fspath(folder), f"cannot be written ({error})", "name another place"
                ) from error

    def replace(
        self,
        frames: Mapping[tuple[str, int], bytes],
        heads: Sequence[Head],
        blobs: Mapping[bytes, bytes],
        position: int,
    ) -> None:
        numbers = {head.name: head.number for head in heads}
        rows = {
            "events": {event_key(numbers[name], seq): frame for (name, seq), frame in frames.items()},
            "sessions": {number_key(b"h", head.number): encode_head(head) for head in heads},
            "blobs": blobs,
        }
        self._check_writable()
        self._shared.rewrite(rows, position)

    def size(self) -> StoreSize:
        """Return the store's size and its current number of readers."""
        with _Snapshots(self) as snapshot:
            try:
                return opening.size_of(self._environment(), self._shared.dbs, snapshot._transaction)
            except lmdb.Error as error:
                raise opening.translated(self.path, "read", error) from error

    def _write(self, write: Callable[[Transaction], T]) -> T:
        """Run `write` in a durable transaction, its own or a shared one."""
        self._check_writable()
        if self._files is not self._shared.files:
            # A commit checks the files at the path by which the environment was opened.
            self._files.check()
        if self._shared.group is not None:
            return self._shared.group.run(write)
        return self._commit(write)

    def _check_writable(self) -> None:
        if self._for_reading:
            raise StoreError(self.path, "was opened for reading", "open it without `read_only`")
        if self._is_read_only():
            raise StoreError(self.path, "is read-only", "make its files writable, or name another store")

    def _commit(self, write: Callable[[Transaction], T], *, if_idle: bool = False) -> T:
        from eventstore.lmdb.group_commit import WriteRequest  # noqa: PLC0415  light until used

        request: WriteRequest[Transaction] = WriteRequest(write)
        self._shared.commit([request], if_idle=if_idle)
        if request.error is not None:
            raise request.error
        return cast("T", request.result)

    def _is_read_only(self) -> bool:
        self._environment()
        return self._shared.is_read_only

    def _environment(self) -> lmdb.Environment:
        if self._is_closed:
            raise closed(self.path)
        return self._shared.environment()


class _Snapshots:
    """Open a read transaction on entry.

    This is a class because a generator costs as much as the transaction.
    """

    __slots__ = ("_log", "_shared", "_snapshot", "_transaction")

    def __init__(self, log: LmdbLog) -> None:
        self._log = log

    def __enter__(self) -> LmdbSnapshot:
        log = self._log
        if log._is_closed:
            raise closed(log.path)
        self._shared = shared = log._shared
        self._transaction = shared.begin_reading()
        self._snapshot = LmdbSnapshot(self._transaction, shared.dbs)
        return self._snapshot

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        damage = self._snapshot.damage(error) if error is not None else None
        self._shared.end_reading(self._transaction, error)
        if damage is not None:
            raise damage from error
