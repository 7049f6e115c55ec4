"""Find the records in a line of a Claude Code file, however damaged it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from eventstore.harnesses.claude_code.record import Fields, fields_of
from eventstore.harnesses.lines import TOO_DEEP, TORN, is_whole_object, objects_in, trimmed
from eventstore.javascript import DEEPEST_RECORD, is_deeper

SNAPSHOT: Final = "file-history-snapshot"
"""The type of a record of files' states; it can precede any message, and names no session."""


class _Beginnings:
    """The beginnings of Claude Code's records. New types may appear at any time.

    Blocks of content, and other values inside records, begin like records, but name no session and no parent.
    """

    entry = re.compile(r'\{\s*"(?:parentUuid|type)"\s*:')

    def is_record(self, decoded: Mapping[str, Any]) -> bool:
        is_of_session = isinstance(decoded.get("sessionId"), str) or "parentUuid" in decoded
        return isinstance(decoded.get("type"), str) and (is_of_session or decoded["type"] in _WITHOUT_SESSION)


_WITHOUT_SESSION: Final = frozenset({SNAPSHOT, "fork-context-ref", "summary"})
"""Types of records that may name neither a session nor a parent."""


class _Parsed(msgspec.Struct, frozen=True):
    """The records of a line with their spans, and the problem with the rest, "" for none.

    `differs` says how Claude Code reads the line, if otherwise.
    """

    records: list[tuple[int, int, Fields]]
    problem: str
    differs: tuple[str, ...] = ()


def alone(text: bytes) -> Fields | None:
    """Return the record that a line without its end is; None for a line that needs `parse`."""
    try:
        return _decode(text) if is_whole_object(text) else None
    except (msgspec.DecodeError, RecursionError):
        return None


_decode: Final = msgspec.json.Decoder(Fields).decode


def parse(line: bytes) -> _Parsed:
    """Return the records of a line; never raises, however damaged the line is."""
    start, text = trimmed(line)
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
        problem = TORN
    what = "a record that shares its line" if len(found) == 1 else f"{len(found)} records in one line"
    return _Parsed(found, problem, (f"{what}: Claude Code reads nothing of this line",) if found else ())
