"""Lines that are read while those before them are answered."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import pytest

from cli.harness_protocol import LinesAhead
from tests.support.patience import comes


class Piped(NamedTuple):
    """What is written to a pipe, and the lines that are read ahead from it."""

    writer: BinaryIO
    lines: LinesAhead[Line]
    taken: Iterator[Line]


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


class Line(NamedTuple):
    """A line as it stands there, and its number; one that begins so calls off."""

    text: bytes
    number: int

    @property
    def calls_off(self) -> bool:
        return self.text.startswith(b"off")


def ahead(stream: BinaryIO) -> LinesAhead[Line]:
    return LinesAhead(stream, Line)


def test_they_come_in_order_and_the_last_needs_no_end() -> None:
    assert list(ahead(io.BytesIO(b"one\n\ntwo"))) == [(b"one\n", 1), (b"\n", 2), (b"two", 3)]


def test_one_comes_before_there_is_another(piped: Piped) -> None:
    for line in (b"one\n", b"two\n"):
        piped.writer.write(line)
        assert next(piped.taken).text == line


def test_each_is_read_once() -> None:
    read: list[bytes] = []

    def noted(line: bytes, number: int) -> Line:
        read.append(line)
        return Line(line, number)

    list(LinesAhead(io.BytesIO(b"one\noff\n"), noted))
    assert read == [b"one\n", b"off\n"]


def test_one_that_waits_calls_off_what_is_at_hand_and_not_itself(piped: Piped) -> None:
    writer, lines, taken = piped
    writer.write(b"one\n")
    next(taken)
    assert not lines.is_called_off()
    writer.write(b"two\noff\n")
    assert comes(lines.is_called_off)
    assert (next(taken).text, lines.is_called_off()) == (b"two\n", True)
    assert (next(taken).text, lines.is_called_off()) == (b"off\n", False)


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
