"""A place for a program to run in: a home, a project and the model server, at the same paths in every run.

The paths lie in a file system that only the run has, so that nothing that a program writes names this machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.wire.install import Installed
from tests.wire.model import Rule

ROOT: Final = Path("/mnt")
HOME: Final = ROOT / "home"
PROJECT: Final = ROOT / "project"
PORT: Final = 8900
URL: Final = f"http://127.0.0.1:{PORT}"
_TIMEOUT: Final = 90.0
"""Seconds to wait for a line or for the end of a program."""


class Scenario(NamedTuple):
    """The commands that a program gets, and the answers of the model.

    `files` are written below `ROOT` before it begins. `factor` multiplies the usage that the model reports.
    With `--quick`, only the one with `is_quick` runs.
    """

    name: str
    run: Callable[[Box], None]
    rules: Sequence[Rule]
    files: Mapping[str, str | bytes] = {}
    environment: Mapping[str, str] = {}
    factor: float = 1
    is_quick: bool = False


class Program(NamedTuple):
    """A harness: its environment, its files of every scenario, and where below `ROOT` it keeps sessions."""

    environment: Mapping[str, str]
    files: Mapping[str, str | bytes]
    sessions: Sequence[str]
    scenarios: Sequence[Scenario]


class Talk:
    """A conversation with a running program, by JSON lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: list[str] = []
        self._read, self._is_over = 0, False
        self._news = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one line."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(message) + "\n")
                self._process.stdin.flush()

    def wait(self, text: str, timeout: float = _TIMEOUT) -> str:
        """Return the next line that holds a text; "" if there is none in time, which is reported."""
        end = time.monotonic() + timeout
        with self._news:
            while True:
                while self._read < len(self._lines):
                    self._read += 1
                    if text in (line := self._lines[self._read - 1]):
                        return line
                left = end - time.monotonic()
                if self._is_over or left < 0:
                    sys.stderr.write(f"    no line with {text!r}\n")
                    return ""
                self._news.wait(left)

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            with self._news:
                self._lines.append(line)
                self._news.notify_all()
        with self._news:
            self._is_over = True
            self._news.notify_all()


class Box:
    """Start a program, and speak with it."""

    def __init__(self, installed: Installed, environment: Mapping[str, str], log: Path) -> None:
        self.command = installed.command
        self.log = log
        self.environment = {
            "HOME": str(HOME),
            "PATH": ":".join((*installed.path, "/usr/local/bin", "/usr/bin", "/bin")),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "dumb",
            "USER": "dev",
            "SHELL": "/bin/bash",
            "TMPDIR": str(ROOT / "tmp"),
            **environment,
        }

    def run(self, *arguments: str, timeout: float = _TIMEOUT) -> str:
        """Run the program to its end; return what it prints."""
        with self.log.open("a") as errors, suppress(subprocess.TimeoutExpired):
            ran = subprocess.run(
                [*self.command, *arguments],
                cwd=PROJECT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                timeout=timeout,
                check=False,
            )
            errors.write(f"{arguments}: {ran.returncode}\n{ran.stdout[-3000:]}\n")
            return ran.stdout
        sys.stderr.write(f"    timed out: {' '.join(arguments)}\n")
        return ""

    @contextmanager
    def talk(self, *arguments: str) -> Iterator[Talk]:
        """Start the program, and speak with it by JSON lines; it ends with the block."""
        with (
            self.log.open("a") as errors,
            subprocess.Popen(
                [*self.command, *arguments],
                cwd=PROJECT,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                bufsize=1,
            ) as process,
        ):
            try:
                yield Talk(process)
            finally:
                if process.stdin is not None:
                    with suppress(BrokenPipeError):
                        process.stdin.close()
                _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Wait until a process ends; a server does not by itself, and is told to."""
    for signal in (process.terminate, process.kill):
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
            return
        signal()


def newest(pattern: str) -> Path:
    """Return the file below `ROOT` that fits a pattern and was changed last."""
    return max(ROOT.glob(pattern), key=lambda path: path.stat().st_mtime)
