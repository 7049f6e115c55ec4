"""Lines of an input that are read while those before them are answered."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO


class LinesAhead:
    """The lines of an input, read ahead by a thread, so that one may call off what those before it have begun.

    `calls_off` says of a line whether it does.
    """

    def __init__(self, stream: BinaryIO, calls_off: Callable[[bytes], bool]) -> None:
        self._stream, self._calls_off = _of_its_own(stream), calls_off
        self._read: SimpleQueue[bytes | Exception | None] = SimpleQueue()
        self._came = self._taken = 0

    def __iter__(self) -> Iterator[bytes]:
        """The lines, in order, as they come. Raises what reading raises."""
        Thread(target=self._read_all, name="refold lines", daemon=True).start()
        while (line := self._read.get()) is not None:
            if isinstance(line, Exception):
                raise line
            self._taken += self._calls_off(line)
            yield line

    def is_called_off(self) -> bool:
        """Whether a line that calls off what runs is waiting behind the one at hand."""
        return self._came > self._taken

    def _read_all(self) -> None:
        try:
            for line in self._stream:
                self._came += self._calls_off(line)
                self._read.put(line)
        except Exception as error:  # noqa: BLE001  raised again by who takes the lines
            self._read.put(error)
        self._read.put(None)


def _of_its_own(stream: BinaryIO) -> BinaryIO:
    """The same input by a reader of its own: Python waits at its end for who reads from its own standard input."""
    try:
        return open(stream.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:
        return stream
