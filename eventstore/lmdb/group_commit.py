"""Commit writes of any number of threads in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition, Lock
from typing import Any, Final, Generic, TypeVar, cast

T = TypeVar("T")
Context = TypeVar("Context")
_PATIENCE: Final = 0.1
"""Seconds until a waiting caller looks again.

The one with the turn may have been interrupted before it notified the others.
"""


class WriteRequest(Generic[Context]):
    """One caller's write and its result."""

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
    """Run writes of any number of threads.

    `commit` gets the waiting writes, runs them in one transaction, and marks each as a success or failure; it
    is never called concurrently.
    """

    def __init__(self, commit: Callable[[Sequence[WriteRequest[Context]]], None]) -> None:
        self._commit = commit
        self._waiting: list[WriteRequest[Context]] = []
        self._turn = Lock()
        self._queue = Condition()
        """Guards `_waiting`; notified when a turn ends."""

    def run(self, write: Callable[[Context], T]) -> T:
        """Return the result of a write once it is durable. Raises what the write raised."""
        request: WriteRequest[Context] = WriteRequest(write)
        try:
            with self._queue:
                self._waiting.append(request)
            while not request.is_done:
                self._wait_or_commit(request)
        finally:
            # An interrupted caller withdraws only its own request: the next one commits the others'.
            with self._queue:
                self._waiting = [each for each in self._waiting if each is not request and not each.is_done]
        if request.error is not None:
            raise request.error
        return cast("T", request.result)

    def _wait_or_commit(self, request: WriteRequest[Context]) -> None:
        """Commit for all that wait; while another caller does, wait until it has finished."""
        with self._queue:
            if self._turn.locked():
                # Nobody waits for a turn whose flush its write does not need: it waits for its own result.
                self._queue.wait(_PATIENCE)
                return
        with self._turn:
            if not request.is_done:
                self._commit_waiting()
        with self._queue:
            self._queue.notify_all()

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

    def _commit_each(self, batch: Sequence[WriteRequest[Context]]) -> None:
        """Commit each write by itself, because one of them may have failed the transaction."""
        for request in batch:
            try:
                self._commit([request])
            except Exception as error:  # noqa: BLE001
                request.fail(error)
