"""A place for a program to run in: a home, a project and the model server, at the same paths in every run.

The paths lie in a file system that only the run has, so that nothing that a program writes names this machine.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
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
_BETWEEN_KEYS: Final = 0.05
_SETTLES: Final = 1.0
"""Seconds in which a program that has drawn something is ready for keys."""
_KEYS: Final = re.compile(r"\x1b\[\w|.", re.DOTALL)
_DRAWING: Final = re.compile(r"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07]*\x07|[()][AB0]|.)")


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


class Screen:
    """A running program in a terminal: keys to press, and what it has drawn."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int, log: Path) -> None:
        self._process, self._terminal, self._log = process, terminal, log
        self._drawn, self._read = "", 0
        self._news = threading.Condition()
        threading.Thread(target=self._watch, daemon=True).start()

    def press(self, keys: str) -> None:
        """Press keys, slowly enough for a program that takes quick ones for a paste."""
        for key in _KEYS.findall(keys):
            time.sleep(_BETWEEN_KEYS)
            os.write(self._terminal, key.encode())

    def wait(self, text: str, timeout: float = _TIMEOUT) -> bool:
        """Wait until a text is drawn behind the one before, without spaces; report if it is not."""
        end = time.monotonic() + timeout
        with self._news:
            while (found := self._drawn.find(text.replace(" ", ""), self._read)) < 0:
                if (left := end - time.monotonic()) < 0:
                    sys.stderr.write(f"    not drawn: {text!r}\n")
                    self._log.write_text(self._drawn)
                    return False
                self._news.wait(left)
            self._read = found + 1
        time.sleep(_SETTLES)
        return True

    def _watch(self) -> None:
        with suppress(OSError):
            while data := os.read(self._terminal, 1 << 16):
                with self._news:
                    self._drawn += "".join(_DRAWING.sub("", data.decode("utf-8", "replace")).split())
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
        with (
            self.log.open("a") as errors,
            subprocess.Popen(
                [*self.command, *arguments],
                cwd=PROJECT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            ) as process,
        ):
            try:
                printed, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                sys.stderr.write(f"    timed out: {' '.join(arguments)}\n")
                printed = ""
                _stop(process, signal.SIGKILL)
            errors.write(f"{arguments}: {process.returncode}\n{printed[-3000:]}\n")
        return printed

    @contextmanager
    def screen(self, *arguments: str) -> Iterator[Screen]:
        """Start the program in a terminal; it is killed when the block ends."""
        terminal, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 140, 0, 0))
        with subprocess.Popen(
            [*self.command, *arguments],
            cwd=PROJECT,
            env={**self.environment, "TERM": "xterm-256color"},
            stdin=its,
            stdout=its,
            stderr=its,
            start_new_session=True,
        ) as process:
            try:
                yield Screen(process, terminal, self.log)
            finally:
                _stop(process, signal.SIGKILL)
                os.close(its)
        os.close(terminal)

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
                start_new_session=True,
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
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
            break
        _stop(process, number)
    _stop(process, signal.SIGKILL)


def _stop(process: subprocess.Popen[Any], number: signal.Signals) -> None:
    """Send a signal to a process and to those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def newest(pattern: str) -> Path:
    """Return the file below `ROOT` that fits a pattern and was changed last."""
    return max(ROOT.glob(pattern), key=lambda path: path.stat().st_mtime)
