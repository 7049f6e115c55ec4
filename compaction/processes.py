"""Run a user's program with bounded time and output, and end its process group."""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

from eventstore.errors import BadInputError, RefoldError

MARK: Final = "REFOLD_ASKS"
"""Marks the environment of a program that refold asks; the value is the name of its folder."""
MAX_OUTPUT: Final = 64 * 1024 * 1024
"""Maximum bytes of a program's answer."""
_MAX_ERRORS: Final = 64 * 1024
"""Bytes of a program's stderr to keep, the newest ones."""
_CHUNK: Final = 64 * 1024
_LONGEST_LINE: Final = 200
_SEARCHES: Final = 5
"""Searches for processes; each may have started others since the one before."""
_LOOK_EVERY: Final = 0.2
"""Seconds between two checks for cancellation."""


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
    output, errors = bytearray(), bytearray()
    end = time.monotonic() + timeout
    with _started(words, environment, folder) as process:
        problem = _exchange(process, given, output, errors, end=end, check=check)
        if problem is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
            problem = _exit_problem(process.returncode)
    if problem is None:
        return bytes(output)
    if problem == _LATE:
        problem = f"{_LATE} within {timeout:g} s"
    lines = errors.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    raise ProgramError(f"the program {problem}" + (f": {last[:_LONGEST_LINE]}" if last else ""))


_LATE: Final = "gave no answer"


def _exit_problem(code: int | None) -> str | None:
    if code is None:
        return _LATE
    if code < 0:
        return f"was ended by signal {-code}"
    return f"exited with code {code}" if code else None


@contextmanager
def _started(
    words: Sequence[str], environment: Mapping[str, str] | None, folder: str | None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program in a process group of its own, and kill the whole group after the block."""
    with _terminable():
        try:
            process = subprocess.Popen(  # noqa: S603  the user's own program
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment,
                cwd=folder,
                bufsize=0,
            )
        except OSError as error:
            raise ProgramError(f"the program cannot be started: {error.strerror}") from None
        try:
            yield process
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
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


def _exchange(
    process: subprocess.Popen[bytes],
    given: bytes,
    output: bytearray,
    errors: bytearray,
    *,
    end: float,
    check: Callable[[], None],
) -> str | None:
    """Send the input, and read until the program closes its pipes; return the problem or None."""
    assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018  they are pipes
    rest = memoryview(given)
    with selectors.DefaultSelector() as selector:
        for pipe, event in (
            (process.stdin, selectors.EVENT_WRITE),
            (process.stdout, selectors.EVENT_READ),
            (process.stderr, selectors.EVENT_READ),
        ):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, event)
        while selector.get_map():
            check()
            left = end - time.monotonic()
            if left <= 0:
                return _LATE
            for key, _ in selector.select(min(left, _LOOK_EVERY)):
                if key.fileobj is process.stdin:
                    rest = _write(key.fd, rest)
                    if not rest:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                elif not (chunk := os.read(key.fd, _CHUNK)):
                    selector.unregister(key.fileobj)
                else:
                    (output if key.fileobj is process.stdout else errors).extend(chunk)
            del errors[:-_MAX_ERRORS]
            if len(output) > MAX_OUTPUT:
                return f"printed more than {MAX_OUTPUT // 1024**2} MiB"
            # A process that it started may hold its pipes open for longer.
            if process.poll() is not None and not selector.select(0):
                return None
    return None


def _write(pipe: int, rest: memoryview) -> memoryview:
    """Write a piece, and return what is left: nothing if the program no longer reads."""
    try:
        return rest[os.write(pipe, rest[:_CHUNK]) :]
    except BrokenPipeError:
        return rest[:0]
