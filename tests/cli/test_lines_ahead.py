"""Lines that are read while those before them are answered."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import pytest

from cli.lines_ahead import LinesAhead


class Piped(NamedTuple):
    """What is written to a pipe, and the lines that are read ahead from it."""

    writer: BinaryIO
    lines: LinesAhead
    taken: Iterator[bytes]


@pytest.fixture
def piped() -> Iterator[Piped]:
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as reader:
        lines = ahead(reader)
        with os.fdopen(writes, "wb", buffering=0) as writer:
            taken = iter(lines)
            yield Piped(writer, lines, taken)
        # Who reads has come to the end by then, and the pipe may be closed under it.
        list(taken)


def ahead(stream: BinaryIO) -> LinesAhead:
    return LinesAhead(stream, lambda line: line.startswith(b"off"))


def test_they_come_in_order_and_the_last_needs_no_end() -> None:
    assert list(ahead(io.BytesIO(b"one\n\ntwo"))) == [b"one\n", b"\n", b"two"]


def test_one_comes_before_there_is_another(piped: Piped) -> None:
    for line in (b"one\n", b"two\n"):
        piped.writer.write(line)
        assert next(piped.taken) == line


def test_one_that_waits_calls_off_what_is_at_hand_and_not_itself(piped: Piped) -> None:
    writer, lines, taken = piped
    writer.write(b"one\n")
    next(taken)
    assert not lines.is_called_off()
    writer.write(b"two\noff\n")
    while not lines.is_called_off():
        time.sleep(0.001)
    assert (next(taken), lines.is_called_off()) == (b"two\n", True)
    assert (next(taken), lines.is_called_off()) == (b"off\n", False)


class Broken(io.RawIOBase):
    """An input that ends badly."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        del buffer
        raise OSError(5, "Input/output error")


def test_what_goes_wrong_in_reading_goes_to_who_takes_the_lines() -> None:
    with pytest.raises(OSError, match="Input/output error"):
        list(ahead(io.BufferedReader(Broken())))
