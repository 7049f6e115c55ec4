"""The place of a labelled line in the corpus; its text stays there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec


class Reference(msgspec.Struct, frozen=True):
    """A line of a string of a record of a file of the corpus.

    `record` is the record's line in its file, from 1; 0 where the file is one JSON value. `pointer` is a JSON
    pointer to the string; where it leads into a string, that string is read as JSON. `line` counts from 0.
    """

    file: str
    record: int
    pointer: str
    line: int

    @property
    def is_held_out(self) -> bool:
        """True for the held-out half of all references, chosen by their digest."""
        return sha256(msgspec.json.encode(self)).digest()[0] % 2 == 1

    def string(self, corpus: Path) -> str:
        """The string that the line is of."""
        found = resolve(record(corpus / self.file, self.record), self.pointer)
        assert isinstance(found, str), f"{self} leads to no text"
        return found


def digest(line: str) -> str:
    """Return the digest that identifies the labelled line."""
    return sha256(line.encode("utf-8", "surrogatepass")).hexdigest()


def line_span(string: str, number: int) -> tuple[int, int]:
    """Return the beginning and end of line `number` of a string."""
    start = 0
    for _ in range(number):
        start = string.index("\n", start) + 1
    stop = string.find("\n", start)
    return start, len(string) if stop < 0 else stop


def record(path: Path, number: int) -> Any:
    """Record `number` of a file, or all of it for 0."""
    return json.loads(_lines(path)[number - 1]) if number else _whole(path)


@cache
def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")


@cache
def _whole(path: Path) -> Any:
    return json.loads(path.read_bytes())


def resolve(value: Any, pointer: str) -> Any:
    """Resolve a JSON pointer."""
    for step in pointer.split("/")[1:]:
        within = json.loads(value) if isinstance(value, str) else value
        key = step.replace("~1", "/").replace("~0", "~")
        value = within[int(key)] if isinstance(within, list) else within[key]
    return value


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Every string in a JSON value, with the pointer to it."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            step = str(key).replace("~", "~0").replace("/", "~1")
            yield from leaves(item, f"{pointer}/{step}")
