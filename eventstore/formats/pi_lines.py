"""The JSON objects in a line of a file, also where a crash has left more or less than one."""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Any, Final

from eventstore.formats.pi_entry import KINDS
from eventstore.javascript import parse_at

BLANK: Final = b" \t\r\n"
BOM: Final = b"\xef\xbb\xbf"
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
TOO_DEEP: Final = "nested too deeply to be read"
_NOT_JSON: Final = "not JSON"
_TYPES: Final = KINDS | {"session"}
_ENTRY: Final = re.compile(r'\{\s*"type"\s*:\s*"(?:%s)"' % "|".join(sorted(_TYPES)))  # noqa: UP031  braces
_READINGS: Final = 8
"""How often a damaged line may be read over, in all, while records are searched for in it: the time stays linear."""


def objects_in(text: bytes) -> tuple[list[tuple[int, int, dict[str, Any]]], str]:
    """Return the objects that stand one behind the other in a line (start, stop in bytes), and what else is there.

    A whole entry behind a torn one is found by how pi's entries begin: pi appends to a file without looking how
    it ends. Attempts that fail may read eight times the line's length in all; what is not searched then is said.
    """
    # surrogateescape makes every byte sequence a string whose pieces have known lengths in bytes.
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
        if isinstance(value, dict) and (not is_torn or is_entry_type(value.get("type"))):
            stop = offset + _size(decoded[at:end])
            spans.append((offset, stop, value))
            is_torn = False
        else:
            if not is_torn:
                where = f" from byte {offset + 1} of the line on" if spans else ""
                problem = problem or failure + where
            is_torn = True
            found = _ENTRY.search(decoded, max(end, at + 1))
            end = found.start() if found else len(decoded)
            stop = offset + _size(decoded[at:end])
            if found and budget <= 0:
                return spans, f"{problem}; not searched for records from byte {stop + 1} of the line on"
        blank = _BLANKS.match(decoded, end)
        next_at = blank.end() if blank else end
        at, offset = next_at, stop + next_at - end
    return spans, problem


def is_entry_type(type_: Any) -> bool:
    """Return True for the types of pi's own entries, and of its header."""
    return isinstance(type_, str) and type_ in _TYPES


def _read_by(error: ValueError, text: str) -> int:
    """Return how much of a text a parser read before it failed; the error counts line ends from the text's start."""
    if isinstance(error, JSONDecodeError) and not error.msg.startswith("Unterminated string"):
        return error.pos
    # A string without an end is told at its beginning.
    return len(text)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
