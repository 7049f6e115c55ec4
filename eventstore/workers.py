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
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from multiprocessing import connection, get_context, resource_tracker
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

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

    def __init__(self, item: Any) -> None:
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
    waiting: dict[int, Result] = {}
    turn = 0

    def queues() -> Iterator[Sequence[tuple[int, Item]] | None]:
        for number, item in enumerate(items):
            while number >= turn + jobs * MAX_PENDING_PER_WORKER:
                yield None
            yield [(number, item)]

    try:
        with closing(work_in_order(partial(_numbered, work), queues(), str, jobs=jobs)) as found:
            for (number, _), result in found:
                waiting[number] = result
                while turn in waiting:
                    yield waiting.pop(turn)
                    turn += 1
    except WorkerLostError as error:
        raise WorkerLostError(error.item[1]) from None


def _numbered(work: Callable[[Item], Result], item: tuple[int, Item], _send: SendRequest) -> Result:
    return work(item[1])


@cache
def worker_store(path: str) -> StoredLog:
    """Return a store that a worker process reads until it ends. Raises StoreError."""
    return open_store(path, read_only=True)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def work_in_order(
    work: Callable[[Item, SendRequest], Result],
    queues: Iterable[Sequence[Item] | None],
    answer: Callable[[Any], Any],
    *,
    jobs: int,
) -> Generator[tuple[Item, Result], None, None]:
    """Yield each item with `work(item, send)` as it is done, using up to `jobs` processes.

    The items of a queue are done one after another, in order; None stands for a queue that is to come after the next
    result. In a process, `send(question)` waits for `answer(question)` of this one; an exception that it returns is
    raised there, one that it raises ends the iterator. For the rest see `map_in_processes`.
    """
    workers: list[_Worker[Item, Result]] = []
    coming = (queue for queue in queues if queue is None or queue)
    try:
        queue = next(coming, None)
        while queue is not None or any(worker.queue for worker in workers):
            while queue is not None and (worker := _free(workers, work, jobs)):
                worker.begin(queue)
                queue = next(coming, None)
            for worker in _answering(workers):
                item, is_question, message = worker.receive()
                if is_question:
                    worker.send(answer(message))
                    continue
                worker.end()
                yield item, message
            queue = next(coming, None) if queue is None else queue
    finally:
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            worker.join()


def _free(
    workers: list[_Worker[Item, Result]], work: Callable[[Item, SendRequest], Result], jobs: int
) -> _Worker[Item, Result] | None:
    """Return an idle process, or a new one if there may be more."""
    idle = next((worker for worker in workers if not worker.queue), None)
    if idle is None and len(workers) < jobs:
        workers.append(idle := _Worker(work))
    return idle


def _answering(workers: list[_Worker[Item, Result]]) -> Iterator[_Worker[Item, Result]]:
    """Wait for results, and return the workers that have one."""
    busy: dict[Any, _Worker[Item, Result]] = {worker.pipe: worker for worker in workers if worker.queue}
    return (busy[ready] for ready in connection.wait(list(busy)))


class _Worker(Generic[Item, Result]):
    """A process, its pipe, and what is left of its queue, the present item first."""

    def __init__(self, work: Callable[[Item, SendRequest], Result]) -> None:
        # Spawn, do not fork: an open store must not be inherited by another process.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (work, theirs, gc.get_threshold())
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        with _interrupts_held():
            self._process.start()
        # Close our copy, so that the pipe closes when the process ends.
        theirs.close()
        self.queue: deque[Item] = deque()

    def begin(self, queue: Sequence[Item]) -> None:
        """Give it the first item of a queue."""
        self.queue.extend(queue)
        self.send(self.queue[0])

    def end(self) -> None:
        """Give it the next item, if the queue has another one."""
        self.queue.popleft()
        if self.queue:
            self.send(self.queue[0])

    def send(self, value: object) -> None:
        # A broken pipe is reported when the result is taken.
        with suppress(OSError):
            self.pipe.send(value)

    def receive(self) -> tuple[Item, bool, Any]:
        """Return the current item, True for a question, and the question or the result."""
        item = self.queue[0]
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
        if self.queue:
            self._process.terminate()

    def join(self) -> None:
        """Wait until the process has ended."""
        self._process.join()


def _serve(
    work: Callable[[Item, SendRequest], Result], pipe: Connection, garbage: tuple[int, int, int]
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
            result = work(item, partial(_request, pipe))
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
