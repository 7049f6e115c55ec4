"""Run a user's program with bounded time and output, and end its process group."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import IO, Final

from eventstore.errors import BadInputError, RefoldError

MAX_OUTPUT: Final = 64 * 1024 * 1024
"""Maximum bytes of a program's answer, and of its stderr, which lie on the disk until then."""
_MAX_ERRORS: Final = 64 * 1024
"""Bytes of a program's stderr to read, the newest ones."""
_LONGEST_LINE: Final = 200
_SEARCHES: Final = 5
"""Searches for processes; each may have started others since the one before."""
_LOOK_EVERY: Final = 0.05
"""Seconds between two checks for cancellation and of sizes."""


class ProgramError(RefoldError):
    """A program gave no usable answer; the text says why, with the last line of its stderr."""


def words_of(command: str) -> list[str]:
    """Split a command line. Raises BadInputError if that is impossible, or if it is empty."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInputError(f"command {command!r}", str(error).lower(), "check its quotes") from None
    if not words:
        raise BadInputError("command ''", "names no program", "give a program and its arguments")
    return words


def run_program(
    words: Sequence[str],
    given: bytes,
    *,
    timeout: float,
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
    check: Callable[[], None] = lambda: None,
) -> bytes:
    """Return what a program prints for its input; end it with its process group.

    `timeout` is in seconds. It runs in `folder` with `environment`, by default those of this process. `check` is called
    while it runs, and may raise. Raises ProgramError.
    """
    end = time.monotonic() + timeout
    with TemporaryFile() as source, TemporaryFile() as output, TemporaryFile() as errors:
        source.write(given)
        source.seek(0)
        with _started(words, environment, folder, (source, output, errors)) as process:
            problem = _problem(process, (output, errors), end, check)
        if problem is None:
            output.seek(0)
            return output.read()
        if problem == _LATE:
            problem = f"{_LATE} within {timeout:g} s"
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - _MAX_ERRORS))
        lines = errors.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    raise ProgramError(f"the program {problem}" + (f": {last[:_LONGEST_LINE]}" if last else ""))


_LATE: Final = "gave no answer"


def _problem(
    process: subprocess.Popen[bytes], written: Sequence[IO[bytes]], end: float, check: Callable[[], None]
) -> str | None:
    """Wait for a program until `end`; return what is wrong with it, None if nothing is."""
    while (code := process.poll()) is None:
        check()
        if (left := end - time.monotonic()) <= 0:
            return _LATE
        if _is_too_much(written):
            break
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(left, _LOOK_EVERY))
    if _is_too_much(written):
        return f"printed more than {MAX_OUTPUT // 1024**2} MiB"
    if code is None or code == 0:
        return None
    return f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"


def _is_too_much(written: Sequence[IO[bytes]]) -> bool:
    return any(os.fstat(each.fileno()).st_size > MAX_OUTPUT for each in written)


@contextmanager
def _started(
    words: Sequence[str],
    environment: Mapping[str, str] | None,
    folder: str | None,
    files: tuple[IO[bytes], IO[bytes], IO[bytes]],
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program in a process group of its own, and kill the whole group after the block."""
    source, output, errors = files
    with _terminable():
        try:
            process = subprocess.Popen(  # noqa: S603  the user's own program
                words,
                stdin=source,
                stdout=output,
                stderr=errors,
                start_new_session=True,
                env=environment,
                cwd=folder,
            )
        except OSError as error:
            raise ProgramError(f"the program cannot be started: {error.strerror}") from None
        try:
            yield process
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def end_marked(variable: str, value: str) -> None:
    """Kill processes by a variable in their environment: those that left their group, too.

    Only Linux tells the environments of processes; elsewhere nothing happens.
    """
    mark = f"{variable}={value}".encode()
    for _ in range(_SEARCHES):
        found = [each for each in Path("/proc").glob("[0-9]*/environ") if mark in _variables(each)]
        for each in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(each.parent.name), signal.SIGKILL)
        if not found:
            return


def _variables(environment: Path) -> list[bytes]:
    """Return the variables of a process, [] of one that has ended or is another user's."""
    try:
        return environment.read_bytes().split(b"\0")
    except OSError:
        return []


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception in the block, which ends the program."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
