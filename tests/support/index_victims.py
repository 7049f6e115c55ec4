"""A program that has searches killed while they index: it forks them before they open anything."""

from __future__ import annotations

import os
import signal
import sys
import time

import msgspec

from eventstore import open_store
from projections.search import full_text
from projections.search.full_text import open_index
from tests.support.crowd import fork, tell


class Kill(msgspec.Struct, frozen=True):
    """A search of a store to kill after so many microseconds; it indexes batches of so many characters."""

    store: str
    index: str
    batch: int
    microseconds: float


def serve() -> None:
    """Carry out the kills on standard input, and tell for each if the search had finished."""
    for line in sys.stdin:
        kill = msgspec.json.decode(line, type=Kill)
        opening, opened = os.pipe()
        child = fork(lambda kill=kill, opened=opened: _catch_up(kill, opened))
        os.close(opened)
        os.read(opening, 1)
        moment = time.perf_counter() + kill.microseconds / 1e6
        while time.perf_counter() < moment:
            pass
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(opening)
        has_finished = not os.WIFSIGNALED(status)
        assert not has_finished or status == 0, f"the search ended with {status}"
        tell(int(has_finished))


def _catch_up(kill: Kill, opened: int) -> None:
    full_text._BATCH = kill.batch  # type: ignore[misc]
    with open_store(kill.store) as log:
        os.write(opened, b"x")
        with open_index(log, kill.index):
            pass
