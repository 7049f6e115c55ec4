"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType

from eventstore.errors import BadInputError


def write_atomically(output: str, pieces: Iterable[bytes], *, option: str = "-o") -> int:
    """Write pieces to a file and return its size in bytes; what was there is replaced at the end, in one step.

    Raises BadInputError where it cannot be written; `option` is what names another place.
    """
    target = Path(output)
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            # A pipe or a device: nothing may be put in its place.
            with target.open("wb") as file:
                return sum(map(file.write, pieces))
        # What a link leads to is replaced, not the link.
        with tidy_end():
            return _put_in_place(target.resolve(), pieces)
    except IsADirectoryError:
        raise BadInputError(output, "is a folder", f"name a file with {option}") from None
    except OSError as error:
        raise BadInputError(
            output, f"cannot be written ({error.strerror})", f"name another place with {option}"
        ) from error


def _put_in_place(target: Path, pieces: Iterable[bytes]) -> int:
    """Write pieces beside the file and put it in place: a reader never sees half of it."""
    if target.is_dir():
        raise IsADirectoryError
    handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            size = sum(map(file.write, pieces))
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            # A new file is its owner's alone, as mkstemp makes it: sessions hold what is nobody else's business.
            Path(beside).chmod(target.stat().st_mode & 0o777)
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    return size


@contextmanager
def tidy_end() -> Iterator[None]:
    """End the program on SIGTERM and SIGHUP as on Ctrl-C: the block can remove what is half made.

    A signal that is ignored, as SIGHUP under nohup, stays so. Outside the main thread nothing changes: only that
    thread can be told of signals.
    """
    if current_thread() is not main_thread():
        yield
        return

    def end(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = [number for number in numbers if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    before = [(number, signal.signal(number, end)) for number in heard]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
