"""Commit writes of any number of threads in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from time import sleep
from typing import Any, Final, Generic, TypeVar, cast

T = TypeVar("T")
Context = TypeVar("Context")
_PATIENCE: Final = 0.1
"""Seconds until a waiting caller looks again.

The one with the turn may have been interrupted before it woke the others.
"""


class WriteRequest(Generic[Context]):
    """One caller's write and its result."""

    def __init__(self, write: Callable[[Context], Any]) -> None:
        self.write = write
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = False
        self._asleep = Lock()
        self._asleep.acquire()

    def wait(self) -> None:
        """Wait until someone wakes the caller, or for a while."""
        self._asleep.acquire(timeout=_PATIENCE)

    def wake(self) -> None:
        """Let the caller look at its request, or take its turn."""
        # It may have been woken before, or not wait at all.
        with suppress(RuntimeError):
            self._asleep.release()

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
        self._was_shared = False
        """True if the last turn committed several writes."""
        self._queue = Lock()
        """Guards `_waiting`."""

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
        if not self._turn.acquire(blocking=False):
            # Nobody waits for a turn whose flush its write does not need: it waits for its own result.
            request.wait()
            return
        try:
            if not request.is_done:
                if self._was_shared:
                    # Those that have just been woken may have more to write: let them queue first.
                    sleep(0)
                self._commit_waiting()
        finally:
            self._turn.release()
            for next_one in self._not_done()[:1]:
                next_one.wake()

    def _not_done(self) -> list[WriteRequest[Context]]:
        with self._queue:
            return [each for each in self._waiting if not each.is_done]

    def _commit_waiting(self) -> None:
        batch = self._not_done()
        self._was_shared = len(batch) > 1
        try:
            self._commit(batch)
        except Exception as error:  # noqa: BLE001  it is raised where the write was asked for
            if len(batch) == 1:
                batch[0].fail(error)
            else:
                self._commit_each(batch)
        for each in batch:
            each.wake()

    def _commit_each(self, batch: Sequence[WriteRequest[Context]]) -> None:
        """Commit each write by itself, because one of them may have failed the transaction."""
        for request in batch:
            try:
                self._commit([request])
            except Exception as error:  # noqa: BLE001
                request.fail(error)
