"""Attack a store and its importers, and count what held: `python -m bench.faults --help`.

An attack takes dice and an empty folder, and yields what became of each try, for as long as it is asked. A try that
breaks a promise has its problem in the outcome, and the line that is printed has the seed that repeats its turn.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import msgspec


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One try: what it was, the appends that were acknowledged in it, and what broke ("" if nothing)."""

    of: str
    acknowledged: int = 0
    problem: str = ""


Attack = Callable[[Random, Path], Iterator[Outcome]]


class NotHereError(Exception):
    """This machine lacks what an attack needs."""


def tried(of: str, work: Callable[[], int | None]) -> Outcome:
    """Return the outcome of a try; any error is its problem. `work` may return acknowledged appends."""
    try:
        return Outcome(of=of, acknowledged=work() or 0)
    except Exception as error:  # noqa: BLE001  the run goes on, and tells all failures
        return Outcome(of=of, problem=f"{type(error).__name__}: {error}"[:500] or "an error")


def apart(work: Callable[[], str]) -> str:
    """Return what `work` returns in a child process, or how that process ended: damage may end it by a signal."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            told = work()
        except BaseException as error:  # noqa: BLE001  a child never goes on as its parent
            told = f"{type(error).__name__}: {error}"[:300]
        os.write(writing, pickle.dumps(told))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return f"ended by signal {-status}" if status < 0 else str(pickle.loads(data))  # noqa: S301  from our own child
