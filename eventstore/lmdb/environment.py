"""Share one LMDB environment among all logs of a store in a process."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakSet, WeakValueDictionary

import lmdb
import msgspec

from eventstore.errors import StoreError, StoreOptionsError
from eventstore.lmdb import opening
from eventstore.lmdb.data_files import Identity, data_identity
from eventstore.lmdb.keys import Transaction

if TYPE_CHECKING:
    from eventstore.lmdb.group_commit import GroupCommit, WriteRequest

Durability = Literal["each", "batch"]
"""Flush each append by itself, or together with those of other threads."""

_PROCESS = os.getpid()
"""This process's id, cached because every snapshot needs it twice.

A system call costs as much as a lock.
"""
_PATIENCE: Final = 0.5
"""Seconds to wait for readers of this process to end before the map is resized."""
_COMMITS_A_CHECK: Final = 256
"""Number of commits between clean-ups of dead readers' slots."""


class Options(msgspec.Struct, frozen=True):
    """The options that all logs of an environment must agree on."""

    durability: Durability
    map_size: int


class Environment:
    """An open environment and the logs that use it; closed with the last of them.

    Open snapshots keep working; the last one releases the files.
    """

    def __init__(self, path: str, options: Options, *, create: bool, read_only: bool) -> None:
        self.path, self.options = path, options
        env, self.files, self.dbs = opening.open_environment(
            path, create=create, map_size=options.map_size, read_only=read_only
        )
        self.env: lmdb.Environment | None = env
        self.process = _PROCESS
        flags = env.flags()
        self._has_lock, self.is_read_only = flags["lock"], flags["readonly"]
        # Allow one writer at a time in this process, so that the map can grow between writes.
        self._writing = Lock()
        self._mapping = Lock()
        self._commits = 0
        self._open_snapshots = 0
        self._to_close: lmdb.Environment | None = None
        self.group: GroupCommit[Transaction] | None = None
        if options.durability == "batch":
            from eventstore.lmdb.group_commit import GroupCommit  # noqa: PLC0415  light until used

            self.group = GroupCommit(self.commit)
        # An unreachable log uses nothing, closed or not.
        self._users: WeakSet[object] = WeakSet()

    @property
    def is_open(self) -> bool:
        """Return True if this process opened the environment and has not closed it."""
        return self.process == _PROCESS and (self.env is not None or self._to_close is not None)

    def take(self, user: object) -> bool:
        """Add a user, even if only snapshots keep it open; return False if it is closed."""
        with self._mapping:
            if self.env is None:
                self.env, self._to_close = self._to_close, None
            if self.env is not None:
                self._users.add(user)
            return self.env is not None

    def release(self, user: object) -> None:
        """Close the environment unless others use it."""
        if self.process != _PROCESS:
            # A thread that held one of these at the fork is not here to give it back, whatever `locked` says.
            is_idle = self._writing.acquire(blocking=False) and self._mapping.acquire(blocking=False)
            self._writing, self._mapping = Lock(), Lock()
            if self._open_snapshots or not is_idle:
                # Transactions open at the fork belong to the parent; closing here would end them there.
                self.env = None
                return
            # Logs from before the fork are unusable here.
            self._users.clear()
        with _OPENING:
            self._users.discard(user)
            if not self._users:
                with self._writing, self._mapping:
                    self._let_go()

    def _let_go(self) -> None:
        env, self.env = self.env, None
        if env is not None and self._open_snapshots:
            # Frames are slices of the map: without it, reading one would crash the process.
            self._to_close = env
        elif env is not None:
            env.close()

    def environment(self) -> lmdb.Environment:
        """Return LMDB's environment. Raises StoreError if closed, or opened before a fork."""
        if self.env is None:
            raise closed(self.path)
        if self.process != _PROCESS:
            raise StoreError(
                self.path, "the store was opened before a fork", "close it, then open it in this process"
            )
        return self.env

    def commit(self, requests: Sequence[WriteRequest[Transaction]], *, if_idle: bool = False) -> None:
        """Run all requests in one transaction; a failed one leaves nothing in it.

        With `if_idle`, run none of them if another process writes.
        """
        with self._writing:
            outcomes = self._run(requests, if_idle=if_idle)
            self._commits += 1
            if self._commits % _COMMITS_A_CHECK == 0:
                # Dead readers keep their pages. The append is stored whether or not this succeeds.
                with suppress(lmdb.Error, StoreError):
                    self.environment().reader_check()
        for request, (result, error) in zip(requests, outcomes, strict=True):
            if error is None:
                request.succeed(result)
            else:
                request.fail(error)

    def _run(
        self, requests: Sequence[WriteRequest[Transaction]], *, if_idle: bool
    ) -> list[tuple[Any, Exception | None]]:
        """Return the result of each request; if the map is full, enlarge it and run all again."""
        while True:
            env = self.environment()
            try:
                with self.files.writing(if_idle=if_idle) as may_write:
                    if not may_write:
                        return [(None, None) for _ in requests]
                    with env.begin(write=True, buffers=True) as transaction:
                        outcomes = [
                            _run_apart(env, transaction, request, alone=len(requests) == 1)
                            for request in requests
                        ]
                        self.files.commit(env, transaction)
                        return outcomes
            except lmdb.MapFullError:
                self._resize(env, env.info()["map_size"] * 2)
            except lmdb.MapResizedError:
                self._resize(env, 0)
            except Exception as failure:
                # Without a common lock file, another writer may have overwritten pages that were read.
                self.files.check()
                if isinstance(failure, lmdb.Error):
                    raise opening.translated(self.path, "written", failure) from failure
                if isinstance(failure, OSError):
                    problem = f"cannot be written ({failure.strerror})"
                    raise StoreError(self.path, problem, "fix the cause, then append again") from failure
                raise

    def rewrite(self, rows: Mapping[str, Mapping[bytes, bytes]], position: int) -> None:
        """Put a new data file in place, with other values by table and key, and no cached results.

        What is left of old pages would still hold what was replaced, so the file is not changed in place. No process
        can append meanwhile, and those that have the store open, like this one, must open it again. Raises StoreError.
        """
        with self._writing:
            env = self.environment()
            try:
                with self.files.writing():
                    transaction = env.begin(write=True, buffers=True)
                    try:
                        self.files.check()
                        from eventstore.lmdb.rewriting import replace_data  # noqa: PLC0415  few programs do this

                        replace_data(self.path, transaction, self.dbs, rows, position)
                    finally:
                        transaction.abort()
                with self._mapping:
                    self._let_go()
            except lmdb.Error as failure:
                raise opening.translated(self.path, "written", failure) from failure
            except OSError as failure:
                problem = f"cannot be written ({failure.strerror})"
                raise StoreError(self.path, problem, "fix the cause, then try again") from failure

    def _resize(self, env: lmdb.Environment, size: int) -> None:
        """Resize the map (0: as another process has resized it) while nothing here uses it."""
        ends = time.monotonic() + _PATIENCE
        while self._open_snapshots and time.monotonic() < ends:
            # Another thread may just make the frames of its append.
            time.sleep(_PATIENCE / 100)
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
                # The old map is already gone.
                self._let_go()
                raise StoreError(
                    self.path,
                    f"the map cannot grow ({failure})",
                    "raise its limit on virtual memory (ulimit -v)",
                ) from failure

    def begin_reading(self) -> Transaction:
        """Begin a read transaction. Raises StoreError."""
        while True:
            try:
                with self._mapping:
                    env = self.environment()
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

    def end_reading(self, transaction: Transaction, error: BaseException | None) -> None:
        """End a read transaction; `error` is the exception that ended the reading, if any."""
        if self.process != _PROCESS:
            # The reader's slot in the lock file is the parent's, which may still be reading.
            return
        is_stale = not self._has_lock and self.env is not None and _may_be_overwritten(self.env, transaction)
        transaction.abort()
        with self._mapping:
            self._open_snapshots -= 1
            if self._to_close is not None and not self._open_snapshots:
                self._to_close.close()
                self._to_close = None
        if is_stale and (error is None or isinstance(error, Exception)):
            raise StoreError(
                self.path,
                "changed while it was read without a slot in its lock file",
                "read it again, or make its lock.mdb writable",
            )


def closed(path: str) -> StoreError:
    """Return the error for use of a closed store."""
    return StoreError(path, "the store is closed", "open it again")


_OPENING = RLock()
"""Held while a store is opened or closed, so that threads open the same one only once."""
_OPEN: Final[WeakValueDictionary[Identity, Environment]] = WeakValueDictionary()
"""The environments that this process has opened, by their data files' device and inode."""


def shared(path: str, user: object, options: Options, *, create: bool, read_only: bool) -> Environment:
    """Return a store's environment for one more user: the open one, else a new one.

    Raises StoreError, and StoreOptionsError if it is open with other options.
    """
    with _OPENING:
        identity = data_identity(path)
        found = _OPEN.get(identity) if identity is not None else None
        if found is not None and found.is_open:
            found.files.check()
            _check_options(path, found.options, options)
            if not read_only and found.is_read_only and opening.may_write(path):
                problem = "is open in this process for reading alone, because another one was writing"
                raise StoreError(path, problem, "close it first")
            if found.take(user):
                return found
        made = Environment(path, options, create=create, read_only=read_only)
        made.take(user)
        if made.files.identity is not None:
            _OPEN[made.files.identity] = made
        return made


def _check_options(path: str, opened: Options, wanted: Options) -> None:
    for name in Options.__struct_fields__:
        before, now = getattr(opened, name), getattr(wanted, name)
        if before != now:
            raise StoreOptionsError(path, name, before, now)


def _forget_what_the_parent_opens() -> None:
    global _OPENING, _PROCESS  # noqa: PLW0603  another thread may have held the lock at the fork
    _OPENING = RLock()
    _PROCESS = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_what_the_parent_opens)


def _run_apart(
    env: lmdb.Environment, transaction: Transaction, request: WriteRequest[Transaction], *, alone: bool
) -> tuple[Any, Exception | None]:
    """Return a request's result, or the error that rolled it back."""
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
    """Return True if pages of a reader without a lock may have been reused.

    LMDB reuses pages after two commits.
    """
    return env.info()["last_txnid"] > reader.id() + 1
