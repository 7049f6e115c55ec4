"""Write files completely or not at all."""

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
from eventstore.lmdb.data_files import DATA_FILE


def write_atomically(output: str, pieces: Iterable[bytes], *, option: str = "-o") -> int:
    """Write a file in one step, replacing an existing one, and return its size in bytes.

    Raises BadInputError if it cannot be written; `option` is the option that names another path.
    """
    target = Path(output)
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            # A pipe or a device must not be replaced by a file.
            with target.open("wb") as file:
                return sum(map(file.write, pieces))
        # Replace the target of a link, not the link.
        target = target.resolve()
        refuse_in_a_store(target, option=option)
        with tidy_end():
            return _put_in_place(target, pieces)
    except IsADirectoryError:
        raise BadInputError(output, "is a folder", f"name a file with {option}") from None
    except OSError as error:
        raise BadInputError(
            output, f"cannot be written ({error.strerror})", f"name another place with {option}"
        ) from error


def refuse_in_a_store(target: Path, *, option: str = "-o") -> None:
    """Raise BadInputError for a place inside a store's folder."""
    for folder in target.absolute().parents:
        if (folder / DATA_FILE).exists():
            raise BadInputError(str(target), f"is in the store {folder}", f"name another place with {option}")


def _put_in_place(target: Path, pieces: Iterable[bytes]) -> int:
    """Write to a temporary file beside the target, then rename it: no reader sees half a file."""
    if target.is_dir():
        raise IsADirectoryError
    handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            size = sum(map(file.write, pieces))
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            # Keep mkstemp's permissions: only the owner may read sessions.
            Path(beside).chmod(target.stat().st_mode & 0o777)
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    return size


@contextmanager
def tidy_end() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP in the block like Ctrl-C, so that it can remove unfinished files.

    A signal that is ignored, such as SIGHUP under nohup, stays ignored. Outside the main thread nothing
    changes, because only that thread can handle signals.
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
