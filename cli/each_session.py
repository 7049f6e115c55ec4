"""Work on many sessions of a store, in a process for each core."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TypeVar

import click

from eventstore import open_store, workers
from eventstore.log import StoredLog

R = TypeVar("R")


def each_session(
    store: str, sessions: Sequence[str], work: Callable[[StoredLog, str], R]
) -> Generator[R, None, None]:
    """Yield `work(log, session)` for each session, in order.

    Each process opens the store itself, and `work` must be picklable. With one core or one session, this process does
    the work. Raises StoreError, what `work` raises, and ClickException if a process is killed.
    """
    jobs = min(workers.cores(), len(sessions))
    if jobs <= 1:
        with open_store(store, read_only=True) as log:
            yield from (work(log, session) for session in sessions)
        return
    try:
        yield from workers.map_in_processes(partial(_by_worker, store, work), sessions, jobs=jobs)
    except workers.WorkerLostError as error:
        problem = f"session {error.item!r}: the process that worked on it was killed"
        raise click.ClickException(
            f"{problem}; if memory was short, run this again when more is free"
        ) from None


def _by_worker(store: str, work: Callable[[StoredLog, str], R], session: str) -> R:
    return work(workers.worker_store(store), session)
