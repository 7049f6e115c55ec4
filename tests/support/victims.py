"""A program that has writers killed: it forks them, before they open anything, and ends them at any moment."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import threading
import time

import msgspec

from eventstore import NewEvent, open_store
from eventstore.lmdb.environment import Durability
from tests.support.crowd import fork, tell
from tests.support.events import event

TOGETHER = 5
"""Events an append."""


_MODELS = [event("model", data="x" * size) for size in (10, 300, 1500, 2500, 5000, 9000, 50)]
"""Made once, so that a writer spends its time in appends."""


class Kill(msgspec.Struct, frozen=True):
    """A writer to kill after so many acknowledgements, and then so many microseconds."""

    store: str
    writer: str
    durability: Durability
    threads: int
    acknowledgements: int
    microseconds: float


def names(append: str) -> list[str]:
    """The ids of the events of an append."""
    return [f"{append}-{part}" for part in range(TOGETHER)]


def serve() -> None:
    """Carry out the kills on standard input, and tell for each what the writer had acknowledged."""
    for line in sys.stdin:
        acknowledged = _carry_out(msgspec.json.decode(line, type=Kill))
        tell(json.dumps(acknowledged))


def _carry_out(kill: Kill) -> list[str]:
    reading, writing = os.pipe()
    child = fork(lambda: _append_for_ever(kill, writing))
    os.close(writing)
    told = b""
    while told.count(b"\n") < kill.acknowledgements:
        told += _read(reading)
    moment = time.perf_counter() + kill.microseconds / 1e6
    while time.perf_counter() < moment:
        pass
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"writer {kill.writer} ended with {status}"
    told += b"".join(iter(lambda: os.read(reading, 1 << 16), b""))
    os.close(reading)
    assert not told or told.endswith(b"\n")
    return told.decode().split()


def _read(reading: int) -> bytes:
    told = os.read(reading, 1 << 16)
    assert told, "the writer ended by itself"
    return told


def _append_for_ever(kill: Kill, acknowledge: int) -> None:
    """Append to two sessions, small and large, and tell of each append that has returned."""
    with open_store(kill.store, durability=kill.durability) as log:

        def work(thread: int) -> None:
            for number in itertools.count():
                append = f"{kill.writer}.{thread}.{number}"
                log.append("st"[number % 4 == 3], _events(append, number))
                os.write(acknowledge, f"{append}\n".encode())

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(1, kill.threads)]
        for thread in threads:
            thread.start()
        work(0)


def _events(append: str, number: int) -> list[NewEvent]:
    return [
        msgspec.structs.replace(_MODELS[(number + part) % len(_MODELS)], id=name)
        for part, name in enumerate(names(append))
    ]
