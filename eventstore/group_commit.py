"""Several callers' writes in one transaction: as many as arrive while the disk is busy share the next flush."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar, cast

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
        """The write is durable."""
        self.result, self.is_done = result, True

    def fail(self, error: BaseException) -> None:
        """The write did not happen; what others wrote is none of it."""
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
        """The result of a write, once it is durable. Raises what the write raised."""
        request: Request[Context] = Request(write)
        with self._queue:
            self._waiting.append(request)
        # Whoever gets the turn first commits for all who wait; they find their own done when their turn comes.
        with self._turn:
            if not request.is_done:
                with self._queue:
                    batch, self._waiting = self._waiting, []
                try:
                    self._commit(batch)
                except BaseException as error:
                    for each in batch:
                        if not each.is_done:
                            each.fail(error)
                    if not isinstance(error, Exception):
                        raise
        if request.error is not None:
            raise request.error
        return cast("T", request.result)
