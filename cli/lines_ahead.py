"""Lines of an input that are read while those before them are answered."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO, Generic, Protocol, TypeVar


class Said(Protocol):
    """What a line says."""

    @property
    def calls_off(self) -> bool:
        """Whether it calls off what the lines before it have begun."""


S = TypeVar("S", bound=Said)


class LinesAhead(Generic[S]):
    """What the lines of an input say, read ahead by a thread, so that one may call off what those before it have begun.

    `read` gives what a line says, by its bytes and its number; it is asked once for each, in that thread. There is no
    bound to how many are read ahead, for a line that calls off has to be seen behind any number of others: who writes
    them and does not wait for answers has them kept in memory.
    """

    def __init__(self, stream: BinaryIO, read: Callable[[bytes, int], S]) -> None:
        self._stream, self._read = _of_its_own(stream), read
        self._ahead: SimpleQueue[S | Exception | None] = SimpleQueue()
        self._came = self._taken = 0

    def __iter__(self) -> Iterator[S]:
        """What they say, in order, as they come. Raises what reading raises."""
        Thread(target=self._read_all, name="refold lines", daemon=True).start()
        while (said := self._ahead.get()) is not None:
            if isinstance(said, Exception):
                raise said
            self._taken += said.calls_off
            yield said

    def is_called_off(self) -> bool:
        """Whether a line that calls off what runs is waiting behind the one at hand."""
        # It calls off all that stands before it, also where its turn is still to come: to call off what runs when
        # it is read, as another thread of a harness does, would let those run.
        return self._came > self._taken

    def _read_all(self) -> None:
        try:
            for number, line in enumerate(self._stream, 1):
                said = self._read(line, number)
                self._came += said.calls_off
                self._ahead.put(said)
        except Exception as error:  # noqa: BLE001  raised again by who takes the lines
            self._ahead.put(error)
        self._ahead.put(None)


def _of_its_own(stream: BinaryIO) -> BinaryIO:
    """The same input by a reader of its own: Python waits at its end for who reads from its own standard input."""
    try:
        return open(stream.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:
        return stream
