"""Compact a context by a user's program: JSON on its stdin, JSON from its stdout."""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

import msgspec

from compaction.part import Limits
from eventstore.errors import BadInputError, RefoldError
from eventstore.javascript import DEEPEST_RECORD, is_deeper, is_utf8, stringify, tolerant_json
from eventstore.log import Snapshot
from eventstore.records import FORMAT
from projections.context.build import messages_json
from projections.context.parts import Context, Fate, Part, role_of
from projections.tokens import counter

TIMEOUT: Final = 60.0
"""Maximum seconds of a program for one context."""
MAX_OUTPUT: Final = 64 * 1024 * 1024
"""Maximum bytes of a program's answer."""
_MAX_ERRORS: Final = 64 * 1024
"""Bytes of a program's stderr to keep, the newest ones."""
_CHUNK: Final = 64 * 1024
_LONGEST_LINE: Final = 200
_NEW_ROLES: Final = ("user", "assistant")


class ProgramError(RefoldError):
    """A program gave no usable context; the text says why, with the last line of its stderr."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program that compacts contexts, as a command line; `timeout` is in seconds per context."""

    command: str
    timeout: float = TIMEOUT

    @property
    def words(self) -> list[str]:
        """The program and its arguments. Raises BadInputError if the command line cannot be split."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise BadInputError(f"command {self.command!r}", str(error).lower(), "check its quotes") from None
        if not words:
            raise BadInputError("command ''", "names no program", "give a program and its arguments")
        return words


def compact_by_program(snapshot: Snapshot, context: Context, program: Program, limits: Limits) -> Context:
    """Return the context that a program makes of another one. Raises ProgramError."""
    counts = counter("utf16/4").count(context.parts)
    parts = [
        part if is_utf8(part.raw) else msgspec.structs.replace(part, raw=_text(tolerant_json(part.raw)))
        for part in context.parts
    ]
    given = {
        "session": context.session,
        "leaf": context.leaf,
        "rules": context.rules,
        "window": limits.window,
        "tokens": sum(counts),
        "messages": messages_json(snapshot, parts, counts),
    }
    answer = _run(program, msgspec.json.encode(given))
    if is_deeper(answer, DEEPEST_RECORD):
        raise ProgramError(f"the program printed JSON that is nested deeper than {DEEPEST_RECORD} levels")
    try:
        decoded = tolerant_json(answer)
    except msgspec.DecodeError:
        raise ProgramError("the program printed no JSON") from None
    messages = decoded.get("messages") if isinstance(decoded, dict) else None
    if not isinstance(messages, list):
        raise ProgramError('the program printed no JSON object with a list "messages"')
    return msgspec.structs.replace(context, parts=tuple(_parts(context.parts, messages)))


def _parts(before: Sequence[Part], messages: Sequence[Any]) -> Iterator[Part]:
    """Yield the messages that a program returned: kept, changed or new."""
    unused: dict[str, list[tuple[Part, Any]]] = {}
    for part in before:
        unused.setdefault(part.id, []).append((part, tolerant_json(part.raw)))
    for place, item in enumerate(messages):
        message = item.get("message") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(message, dict):
            raise ProgramError(f'messages[{place}] is not an object with an object "message"')
        event = item.get("event")
        if event is None:
            yield _new(message, place)
            continue
        candidates = unused.get(event, []) if isinstance(event, str) else []
        if not candidates:
            raise ProgramError(
                f'messages[{place}] has an "event" that is not in the context, or that it repeats'
            )
        same = next((at for at, (_, given) in enumerate(candidates) if given == message), None)
        part, _ = candidates.pop(same or 0)
        yield part if same is not None else _changed(part, message, place)


def _changed(part: Part, message: dict[str, Any], place: int) -> Part:
    changed = part.rewritten_as(_text(message))
    if message.get("role", part.role) != tolerant_json(part.raw).get("role", part.role):
        raise ProgramError(f"messages[{place}] has another role than its event; only its content may change")
    return changed


def _new(message: dict[str, Any], place: int) -> Part:
    if message.get("role") not in _NEW_ROLES or not isinstance(message.get("content"), str | list):
        raise ProgramError(
            f"messages[{place}] is new: it needs a role, {' or '.join(_NEW_ROLES)}, and its content"
        )
    raw = _text(message)
    return Part(
        seq=0,
        id=f"new-{place}",
        kind="message",
        role=role_of(raw, message["role"], FORMAT),
        fate=Fate.INJECTED,
        raw=raw,
        format=FORMAT,
    )


def _text(value: object) -> bytes:
    return stringify(value).encode()


def _run(program: Program, given: bytes) -> bytes:
    """Return what a program prints for its input; end it and the processes that it started."""
    output, errors = bytearray(), bytearray()
    end = time.monotonic() + program.timeout
    with _started(program.words) as process:
        problem = _exchange(process, given, output, errors, end=end)
        if problem is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
            problem = _exit_problem(process.returncode)
    if problem is None:
        return bytes(output)
    if problem == _LATE:
        problem = f"{_LATE} within {program.timeout:g} s"
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
def _started(words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program in a process group of its own, and kill the whole group after the block."""
    with _terminable():
        try:
            process = subprocess.Popen(  # noqa: S603  the user's own program
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
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


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception in the block, so that it does not leave a program behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exchange(
    process: subprocess.Popen[bytes], given: bytes, output: bytearray, errors: bytearray, *, end: float
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
            left = end - time.monotonic()
            if left <= 0:
                return _LATE
            for key, _ in selector.select(left):
                if key.fileobj is process.stdin:
                    rest = _write(key.fd, rest)
                    if not rest:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    output += chunk
                    if len(output) > MAX_OUTPUT:
                        return f"printed more than {MAX_OUTPUT // 1024**2} MiB"
                else:
                    errors += chunk
                    del errors[:-_MAX_ERRORS]
    return None


def _write(pipe: int, rest: memoryview) -> memoryview:
    """Write a piece, and return what is left: nothing if the program no longer reads."""
    try:
        return rest[os.write(pipe, rest[:_CHUNK]) :]
    except BrokenPipeError:
        return rest[:0]
