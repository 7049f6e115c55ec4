"""Find the records in a line of a Claude Code file, however damaged it is."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from eventstore.formats.claude_code.record import Fields, fields_of
from eventstore.formats.pi.file import BLANK, BOM, TOO_DEEP, objects_in
from eventstore.javascript import DEEPEST_RECORD, is_deeper


class _Beginnings:
    """The beginnings of Claude Code's records. New types may appear at any time."""

    entry = re.compile(r'\{\s*"(?:parentUuid|type)"\s*:')

    def is_type(self, type_: Any) -> bool:
        return isinstance(type_, str)


class _Parsed(msgspec.Struct, frozen=True):
    """The records of a line with their spans, and the problem with the rest, "" for none."""

    records: list[tuple[int, int, Fields]]
    problem: str


def parse(line: bytes) -> _Parsed:
    """Return the records of a line; never raises, however damaged the line is."""
    start = len(line) - len(line.removeprefix(BOM).lstrip(BLANK))
    text = line[start : len(line.rstrip(BLANK))]
    if not text:
        return _Parsed([], "")
    try:
        if is_deeper(text, DEEPEST_RECORD):
            raise RecursionError  # noqa: TRY301
        if text.startswith(b"{"):
            return _Parsed([(start, start + len(text), fields_of(text))], "")
        raise msgspec.DecodeError  # noqa: TRY301
    except RecursionError:
        is_too_deep = True
    except Exception:  # noqa: BLE001  no line may keep the others from being read
        is_too_deep = False
    try:
        spans, problem = objects_in(text, _Beginnings())
        found = []
        for first, last, _ in spans:
            body = text[first:last]
            if is_deeper(body, DEEPEST_RECORD):
                problem = TOO_DEEP
                continue
            found.append((start + first, start + last, fields_of(body)))
    except Exception as error:  # noqa: BLE001
        return _Parsed([], TOO_DEEP if is_too_deep else f"cannot be read ({type(error).__name__})")
    if not found and not line.endswith(b"\n"):
        problem = problem or "the file ends in the middle of this record"
    return _Parsed(found, problem)
