"""Give an attack a turn, in a process of its own that may crash or hang."""

from __future__ import annotations

import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from bench.faults import Attack, NotHereError, Outcome

BOUND: Final = 300.0
"""Seconds that one try may take; what takes longer hangs."""
_MEMORY: Final = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  a folder of the turn's own
"""The place of the attacks' folders: flushes to a disk take most of the time, and what is written is the same."""


def turn(attack: Attack, seed: str, seconds: float, bound: float = BOUND) -> Iterator[Outcome]:
    """Yield tries of an attack until `seconds` are over, at least one. Raises NotHereError."""
    folder = Path(tempfile.mkdtemp(prefix="refold-faults-", dir=_MEMORY))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _work(attack, Random(seed), folder, seconds, writing)
    os.close(writing)
    status = 0
    try:
        for line in _lines(reading, bound):
            if "absent" in line:
                raise NotHereError(line["absent"])
            yield msgspec.convert(line, Outcome)
    except TimeoutError:
        yield Outcome(of="time", problem=f"a try took more than {bound:g} seconds")
    finally:
        os.close(reading)
        # Whoever has ended well has ended what it started.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        shutil.rmtree(folder, ignore_errors=True)
    if status < 0 and status != -signal.SIGKILL:
        yield Outcome(of="process", problem=f"ended by signal {-status}")


def _work(attack: Attack, dice: Random, folder: Path, seconds: float, writing: int) -> None:
    """Write each outcome as a line, and end this process."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def tell(what: Any) -> None:
        os.write(writing, msgspec.json.encode(what) + b"\n")

    try:
        ends, tries = time.monotonic() + seconds, attack(dice, folder)
        for outcome in tries:
            tell(outcome)
            if time.monotonic() > ends:
                break
        tries.close()  # type: ignore[attr-defined]  attacks are generators
    except NotHereError as why:
        tell({"absent": str(why)})
    except BaseException as error:  # noqa: BLE001  a child never goes on as its parent
        tell(Outcome(of="turn", problem=f"{type(error).__name__}: {error}"[:500]))
    os._exit(0)


def _lines(reading: int, bound: float) -> Iterator[Any]:
    """Yield the objects of a pipe's lines. Raises TimeoutError if none comes in `bound` seconds."""
    rest = b""
    while True:
        if not select.select([reading], [], [], bound)[0]:
            raise TimeoutError
        data = os.read(reading, 1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from map(msgspec.json.decode, lines)
