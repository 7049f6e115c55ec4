"""Several processes that do something at the same moment, forked from one before any store is open.

For the programs that tests start: the tests' own process is never forked.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

import eventstore.lmdb.store  # noqa: F401  imported before a fork, it costs the child nothing
import tests.support.events  # noqa: F401


def fork(work: Callable[[], object]) -> int:
    """The id of a child process that does `work`, and ends badly if that raises."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:  # noqa: BLE001  a child never goes on as its parent
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def at_once(count: int, work: Callable[[int], object]) -> None:
    """Have `count` processes do `work`, each with its number, when all of them are there."""
    gate, opener = os.pipe()

    def run(number: int) -> None:
        os.close(opener)
        # Nobody writes: the end comes when the last has closed its own end, and the parent its.
        os.read(gate, 1)
        work(number)

    children = [fork(lambda number=number: run(number)) for number in range(count)]
    os.close(opener)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    os.close(gate)
    if any(statuses):
        raise SystemExit(f"children ended with {statuses}")


def tell(line: object) -> None:
    """Print a line in one piece, however many print at once."""
    os.write(1, f"{line}\n".encode())
