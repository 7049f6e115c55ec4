"""Programs of their own, for what would end or hurt the tests' process, and for what takes several."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tests.support.patience import PATIENCE

_PROJECT = Path(__file__).parents[2]


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Let this process, and those that it starts, use only so many cores; skip the test if it has fewer."""
    all_cores = os.sched_getaffinity(0)
    if len(all_cores) < count:
        pytest.skip("too few cores")
    os.sched_setaffinity(0, sorted(all_cores)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)


def start(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """A Python program with these arguments; the project's packages are there to import."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(_PROJECT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(script: str, *arguments: str | Path) -> str:
    """Return the output of a Python program, which must exit with 0."""
    process = start(script, *arguments)
    try:
        printed, errors = process.communicate(timeout=2 * PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, errors or f"ended with {process.returncode}"
    return printed


class Program:
    """A running program that is spoken with, a line at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self._in, self._out, self._errors = process.stdin, process.stdout, process.stderr

    def hear(self) -> str:
        """Its next line, once there is one."""
        line = self._out.readline()
        assert line, self._errors.read() or "the program ended"
        return line.rstrip("\n")

    def say(self, line: str = "") -> None:
        print(line, file=self._in, flush=True)

    def ask(self, line: str = "") -> str:
        self.say(line)
        return self.hear()

    def kill(self) -> None:
        """End it as a power switch would."""
        self.process.kill()
        self.process.wait()

    def finish(self) -> list[str]:
        """The lines that it still prints, when it is told nothing more. It has to end well."""
        self._in.close()
        lines = self._out.read().splitlines()
        errors = self._errors.read()
        assert self.process.wait() == 0, errors
        return lines


@contextmanager
def running(script: str, *arguments: str | Path) -> Iterator[Program]:
    """A program that runs beside the test, and not longer than it."""
    process = start(script, *arguments)
    alarm = Timer(2 * PATIENCE, process.kill)
    alarm.start()
    try:
        yield Program(process)
    finally:
        alarm.cancel()
        process.kill()
        with process:
            pass
