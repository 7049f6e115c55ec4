"""Define work for worker processes: functions that another process can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from eventstore.workers import Ask


def double(number: int) -> int:
    return 2 * number


def nap(seconds: float) -> float:
    """Take so long."""
    time.sleep(seconds)
    return seconds


def who(_: object) -> int:
    """The process that does the work, which takes a moment, so that nobody does all of it."""
    time.sleep(0.02)
    return os.getpid()


def mark(path: Path) -> None:
    """Leave a trace of having been done."""
    path.touch()


def die(word: str) -> str:
    """Be killed at the word; else give it back."""
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return word


def many_bytes(size: int) -> bytes:
    return b"x" * size


def held_signals(_: object) -> set[int]:
    """The signals that do not reach the process."""
    return set(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ())))


def ask_about(item: str, ask: Ask) -> tuple[str, int]:
    """Ask the process that gave the item for an answer, and return it with this process's id."""
    return str(ask(item)), os.getpid()


def ask_and_catch(item: str, ask: Ask) -> Any:
    """Return the fields of the error that is the answer."""
    try:
        ask(item)
    except Exception as error:  # noqa: BLE001
        return type(error), vars(error)
    return None


def die_after_asking(item: str, ask: Ask) -> None:
    ask(item)
    os.kill(os.getpid(), signal.SIGKILL)
