"""Define work for worker processes: functions that another process can import."""

from __future__ import annotations

import gc
import os
import signal
import time
from pathlib import Path
from typing import Any

from eventstore.errors import StoreError
from eventstore.workers import SendRequest
from tests.support.patience import comes


def double(number: int) -> int:
    return 2 * number


def garbage_thresholds(_: object) -> tuple[int, int, int]:
    return gc.get_threshold()


def nap(seconds: float) -> float:
    """Take so long."""
    time.sleep(seconds)
    return seconds


def who(_: object) -> int:
    """The process that does the work, which takes a moment, so that nobody does all of it."""
    time.sleep(0.02)
    return os.getpid()


def mark(order: tuple[float, Path]) -> None:
    """Take so long, and leave a trace of having been done."""
    seconds, path = order
    time.sleep(seconds)
    path.touch()


def die(word: str) -> str:
    """Be killed at the word; else give it back."""
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return word


def fail(word: str) -> str:
    """Raise an error of refold at the word; else give it back."""
    if word == "gone":
        raise StoreError("store", word, "try again")
    return word


def many_bytes(order: tuple[int, Path]) -> bytes:
    """Return so many bytes, once there is something at the path."""
    size, begin = order
    assert comes(begin.exists)
    return b"x" * size


def interrupt_all(seconds: float) -> None:
    """Press Ctrl-C, as a terminal does it: for every process of the group; then take so long."""
    os.killpg(0, signal.SIGINT)
    time.sleep(seconds)


def held_signals(_: object) -> set[int]:
    """The signals that do not reach the process."""
    return set(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ())))


def ask_about(item: str, ask: SendRequest) -> tuple[str, int]:
    """Ask the process that gave the item for an answer, and return it with this process's id."""
    return str(ask(item)), os.getpid()


def ask_and_catch(item: str, ask: SendRequest) -> Any:
    """Return the fields of the error that is the answer."""
    try:
        ask(item)
    except Exception as error:  # noqa: BLE001
        return type(error), vars(error)
    return None


def die_after_asking(item: str, ask: SendRequest) -> None:
    ask(item)
    os.kill(os.getpid(), signal.SIGKILL)
