"""Run work in several processes.

A pool of the standard library does not do: if one of its processes is killed while it sends a large result,
the pool waits forever; and if the pool's own process is killed, the others stay alive. Here each process has
its own pipe, and both ends notice when the other is gone.
"""

from __future__ import annotations

import gc
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from multiprocessing import connection, get_context, resource_tracker
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from eventstore import open_store
from eventstore.errors import RefoldError
from eventstore.log import StoredLog

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


Item = TypeVar("Item")
Result = TypeVar("Result")
SendRequest = Callable[[Any], Any]

MAX_PENDING_PER_WORKER: Final = 8
"""Maximum results per process that may wait for their turn."""


class WorkerLostError(Exception):
    """A process ended before it gave the result for `item`."""

    def __init__(self, item: object) -> None:
        super().__init__(f"the process at work on {item!r} ended")
        self.item = item


def map_in_processes(
    work: Callable[[Item], Result], items: Sequence[Item], *, jobs: int
) -> Generator[Result, None, None]:
    """Yield `work(item)` for each item, in order, using up to `jobs` processes.

    `work`, items and results are pickled; the processes inherit no open file or store from this one. Few
    results wait for their turn, however many items there are. Raises WorkerLostError if a process is killed, and
    a RefoldError that `work` raises.
    The processes end with the iterator, whether it finishes, fails, is interrupted or is closed.
    """
    workers: list[_Worker[Item, Result]] = []
    waiting: dict[int, Result] = {}
    given = 0
    try:
        for place in range(len(items)):
            while place not in waiting:
                while given < min(len(items), place + jobs * MAX_PENDING_PER_WORKER):
                    worker = _free(workers) or _another(workers, work, jobs)
                    if worker is None:
                        break
                    worker.give(given, items[given])
                    given += 1
                for worker in _answering(workers):
                    at, result = worker.take()
                    waiting[at] = result
            yield waiting.pop(place)
    finally:
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            worker.join()


@cache
def worker_store(path: str) -> StoredLog:
    """Return a store that a worker process reads until it ends. Raises StoreError."""
    return open_store(path, read_only=True)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def work_in_order(
    work: Callable[[Item, SendRequest], Result],
    queues: Iterable[Sequence[Item]],
    answer: Callable[[Any], Any],
    *,
    jobs: int,
) -> Generator[tuple[Item, Result], None, None]:
    """Yield each item with `work(item, send)` as it is done, using up to `jobs` processes.

    The items of a queue are done one after another, in order. In a process, `send(question)` waits for
    `answer(question)` of this one; an exception that it returns is raised there, one that it raises ends the
    iterator. For the rest see `map_in_processes`.
    """
    workers: list[_Worker[Item, Result]] = []
    rest = deque(deque(each) for each in queues if each)
    own: dict[Any, deque[Item]] = {}
    try:
        while rest or any(worker.at is not None for worker in workers):
            while rest and (worker := _free(workers) or _another(workers, work, jobs, sends_requests=True)):
                own[worker] = rest.popleft()
                worker.give(0, own[worker].popleft())
            for worker in _answering(workers):
                item, is_question, message = worker.receive()
                if is_question:
                    worker.send(answer(message))
                    continue
                worker.at = None
                if own[worker]:
                    worker.give(0, own[worker].popleft())
                yield item, message
    finally:
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            worker.join()


def _free(workers: list[_Worker[Item, Result]]) -> _Worker[Item, Result] | None:
    return next((worker for worker in workers if worker.at is None), None)


def _another(
    workers: list[_Worker[Item, Result]],
    work: Callable[..., Result],
    jobs: int,
    *,
    sends_requests: bool = False,
) -> _Worker[Item, Result] | None:
    if len(workers) == jobs:
        return None
    workers.append(_Worker(work, sends_requests=sends_requests))
    return workers[-1]


def _answering(workers: list[_Worker[Item, Result]]) -> Iterator[_Worker[Item, Result]]:
    """Wait for results, and return the workers that have one."""
    busy: dict[Any, _Worker[Item, Result]] = {
        worker.pipe: worker for worker in workers if worker.at is not None
    }
    return (busy[ready] for ready in connection.wait(list(busy)))


class _Worker(Generic[Item, Result]):
    """A process, the pipe to it, and its current item with its index, None if idle."""

    def __init__(self, work: Callable[..., Result], *, sends_requests: bool) -> None:
        # Spawn, do not fork: an open store must not be inherited by another process.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (work, theirs, sends_requests, gc.get_threshold())
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        with _interrupts_held():
            self._process.start()
        # Close our copy, so that the pipe closes when the process ends.
        theirs.close()
        self.at: int | None = None
        self._item: Item | None = None

    def give(self, at: int, item: Item) -> None:
        self.at, self._item = at, item
        self.send(item)

    def send(self, value: object) -> None:
        # A broken pipe is reported when the result is taken.
        with suppress(OSError):
            self.pipe.send(value)

    def take(self) -> tuple[int, Result]:
        assert self.at is not None  # noqa: S101  it was given something
        _, _, result = self.receive()
        at, self.at = self.at, None
        return at, result

    def receive(self) -> tuple[Item, bool, Any]:
        """Return the current item, True for a question, and the question or the result."""
        item = cast("Item", self._item)
        try:
            is_question, message = self.pipe.recv()
        except (EOFError, OSError):
            raise WorkerLostError(item) from None
        if not is_question and isinstance(message, RefoldError):
            raise message
        return item, is_question, message

    def dismiss(self) -> None:
        """End the process: by itself if it is idle, otherwise in the middle of its work."""
        self.pipe.close()
        if self.at is not None:
            self._process.terminate()

    def join(self) -> None:
        """Wait until the process has ended."""
        self._process.join()


def _serve(
    work: Callable[..., Result],
    pipe: Connection,
    sends_requests: bool,  # noqa: FBT001  a process's arguments
    garbage: tuple[int, int, int],
) -> None:
    """Return the result for each item that arrives, until the other end of the pipe is closed.

    `garbage` is how often the process that started this one searches for garbage.
    """
    gc.set_threshold(*garbage)
    while True:
        try:
            item = pipe.recv()
        except (EOFError, OSError):
            return
        result: Any
        try:
            result = work(item, partial(_request, pipe)) if sends_requests else work(item)
        except RefoldError as error:
            result = error
        try:
            pipe.send((False, result))
        except OSError:
            return


def _request(pipe: Connection, question: object) -> Any:
    """Return the answer of the process that started this one; end this one if the other is gone."""
    try:
        pipe.send((True, question))
        answer = pipe.recv()
    except (EOFError, OSError):
        raise SystemExit from None
    if isinstance(answer, Exception):
        raise answer
    return answer


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Start processes with Ctrl-C blocked: the parent handles it and ends them."""
    # Start the tracker now: its own start would unblock interrupts.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
