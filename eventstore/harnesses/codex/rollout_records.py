"""Find the records in a line of a Codex rollout, however damaged it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from eventstore.harnesses.codex.rollout_line import TYPES, Line, line_of
from eventstore.harnesses.lines import TOO_DEEP, TORN, is_whole_object, objects_in, trimmed
from eventstore.javascript import DEEPEST_RECORD, is_deeper

_TYPE: Final = rf'"type"\s*:\s*"(?:{"|".join(sorted(TYPES))})"\s*,\s*"payload"\s*:\s*\{{'
BEGINNING: Final = rf'\{{\s*(?:"timestamp"\s*:\s*"[^"]*"\s*,\s*)?(?:"ordinal"\s*:\s*\d+\s*,\s*)?{_TYPE}'
"""The beginning of a record."""


class _Beginnings:
    entry = re.compile(BEGINNING)

    def is_record(self, decoded: Mapping[str, Any]) -> bool:
        type_ = decoded.get("type")
        return isinstance(type_, str) and type_ in TYPES and isinstance(decoded.get("payload"), dict)


def is_record(line: Line) -> bool:
    """Return True if a line is one of a rollout."""
    return isinstance(line.type, str) and line.type in TYPES and line.raw.startswith(b"{")


class FoundRecords(msgspec.Struct, frozen=True):
    """The records of a line with their spans, and the problem with the rest, "" for none.

    `differs` says how Codex reads the line, if otherwise.
    """

    records: list[tuple[int, int, Line]]
    problem: str
    differs: str = ""


def alone(text: bytes) -> Line | None:
    """Return the record that a line without its end is; None for a line that needs `records_in`."""
    try:
        return line_of(text) if is_whole_object(text) else None
    except Exception:  # noqa: BLE001  no line may keep the others from being read
        return None


def records_in(line: bytes) -> FoundRecords:
    """Return the records of a line; never raises, however damaged the line is."""
    start, text = trimmed(line)
    if not text:
        return FoundRecords([], "")
    try:
        if text.startswith(b"{") and not is_deeper(text, DEEPEST_RECORD):
            return FoundRecords([(start, start + len(text), line_of(text))], "")
    except Exception:  # noqa: BLE001, S110  no line may keep the others from being read
        pass
    try:
        spans, problem = objects_in(text, _Beginnings())
        found = []
        for first, last, _ in spans:
            if is_deeper(text[first:last], DEEPEST_RECORD):
                problem = TOO_DEEP
            else:
                found.append((start + first, start + last, line_of(text[first:last])))
    except Exception as error:  # noqa: BLE001
        return FoundRecords([], f"cannot be read ({type(error).__name__})")
    if not found and not line.endswith(b"\n"):
        problem = TORN
    what = "a record that shares its line" if len(found) == 1 else f"{len(found)} records in one line"
    return FoundRecords(found, problem, f"{what}: Codex reads nothing of this line" if found else "")
