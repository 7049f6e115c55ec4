"""Find the records in lines of JSON, also in damaged ones; derive values of a line once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from json import JSONDecodeError
from typing import Any, Final, Generic, Protocol, TypeVar

from eventstore.javascript import DEEPEST_RECORD, is_deeper, is_utf8, parse_at

REPEAT: Final = "the same record again; it counts once"
BLANK: Final = b" \t\r\n"
BOM: Final = b"\xef\xbb\xbf"
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
TOO_DEEP: Final = "nested too deeply to parse"
TORN: Final = "the file ends in the middle of this record"
"""The harness may still be writing it."""
_NOT_JSON: Final = "not JSON"
_READINGS: Final = 8
"""Maximum attempts to find records in a damaged line, so that the time stays linear."""


_MOST_TYPES: Final = 50
"""Unknown types to count by name, because a damaged file may have one for each record."""
_LONGEST_TYPE: Final = 100
OTHER_TYPES: Final = "other"
"""Stands for types without a name of their own in a count."""


def count_type(counts: dict[str, int], type_: Any) -> None:
    """Count a record of an unknown type."""
    is_name = isinstance(type_, str) and 0 < len(type_) <= _LONGEST_TYPE
    name = type_.encode("utf-8", "replace").decode() if is_name else OTHER_TYPES
    if name not in counts and len(counts) >= _MOST_TYPES:
        name = OTHER_TYPES
    counts[name] = counts.get(name, 0) + 1


def trimmed(line: bytes) -> tuple[int, bytes]:
    """Return a line's text without byte order mark and surrounding blanks, and where it starts."""
    if line.startswith(b"{") and line.endswith(b"}\n"):
        return 0, line[:-1]
    start = len(line) - len(line.removeprefix(BOM).lstrip(BLANK))
    return start, line[start : len(line.rstrip(BLANK))]


def is_whole_object(text: bytes) -> bool:
    """Return True if a line looks like one object: UTF-8, without blanks, not too deep."""
    # Each level of nesting takes two bytes.
    is_long = len(text) > 2 * DEEPEST_RECORD
    is_object = text[:1] == b"{" and text[-1:] == b"}"
    return is_object and is_utf8(text) and not (is_long and is_deeper(text, DEEPEST_RECORD))


class Beginnings(Protocol):
    """The ways in which a harness's records begin, and the types that identify them."""

    @property
    def entry(self) -> re.Pattern[str]:
        """The beginning of a line's record."""

    def is_record(self, decoded: Mapping[str, Any]) -> bool:
        """Return True if an object behind damaged text is a record, not a value inside one."""


def objects_in(text: bytes, dialect: Beginnings) -> tuple[list[tuple[int, int, dict[str, Any]]], str]:
    """Return the adjacent objects in a line (start, stop in bytes), and what else is there.

    An intact entry after a torn one is found by the way pi's entries begin, because pi appends without
    checking the file's end. Failed attempts may read eight times the line's length in all; the result says
    what was not searched.
    """
    # surrogateescape decodes any bytes to a string whose pieces have known lengths in bytes.
    decoded = text.decode("utf-8", "surrogateescape")
    spans: list[tuple[int, int, dict[str, Any]]] = []
    problem, at, offset, is_torn, budget = "", 0, 0, False, _READINGS * len(decoded)
    while at < len(decoded):
        value, end, failure = None, at, _NOT_JSON
        try:
            value, end = parse_at(decoded, at)
            failure = "JSON, but not an object"
        except RecursionError:
            failure = TOO_DEEP
            budget -= len(decoded) - at
        except ValueError as error:
            budget -= _read_by(error, decoded)
        if isinstance(value, dict) and (not is_torn or dialect.is_record(value)):
            stop = offset + _size(decoded[at:end])
            spans.append((offset, stop, value))
            is_torn = False
        else:
            if not is_torn:
                where = f" from byte {offset + 1} of the line on" if spans else ""
                problem = problem or failure + where
            is_torn = True
            # A string left open by a torn record ends inside the next record, so its content is searched too.
            is_text = isinstance(value, str)
            budget -= (end - at) * is_text
            found = dialect.entry.search(decoded, at + 1 if is_text else max(end, at + 1))
            end = found.start() if found else len(decoded)
            stop = offset + _size(decoded[at:end])
            if found and budget <= 0:
                return spans, f"{problem}; not searched for records from byte {stop + 1} of the line on"
        blank = _BLANKS.match(decoded, end)
        next_at = blank.end() if blank else end
        at, offset = next_at, stop + next_at - end
    return spans, problem


def _read_by(error: ValueError, text: str) -> int:
    """Return how much of a text a parser read before it failed."""
    if isinstance(error, JSONDecodeError) and not error.msg.startswith("Unterminated string"):
        return error.pos
    # The error of an unclosed string points at its beginning.
    return len(text)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  a decorator
    """Like `cached_property`, without the lock that it takes in Python 3.11."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make

    def __get__(self, fields: Any, _: type) -> T:
        made = fields.__dict__[self._make.__name__] = self._make(fields)
        return made
