"""The JSON objects in a line of a file, also where a crash has left more or less than one."""

from __future__ import annotations

import re
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
_ATTEMPTS: Final = 1000
"""How many beginnings of entries are tried behind torn ones in a line, so that no line takes for ever."""


def objects_in(text: bytes) -> tuple[list[tuple[int, int, dict[str, Any]]], str]:
    """The objects that stand one behind the other in a line (start and stop in bytes), and what else is there.

    A whole entry behind a torn one is found by how pi's entries begin: pi appends to a file without looking how
    it ends.
    """
    # surrogateescape makes every byte sequence a string whose pieces have known lengths in bytes.
    decoded = text.decode("utf-8", "surrogateescape")
    spans: list[tuple[int, int, dict[str, Any]]] = []
    problem, at, offset, is_torn, attempts = "", 0, 0, False, 0
    while at < len(decoded):
        value, end, failure = None, at, _NOT_JSON
        try:
            value, end = parse_at(decoded, at)
            failure = "JSON, but not an object"
        except RecursionError:
            failure = TOO_DEEP
        except ValueError:
            end = at
        if isinstance(value, dict) and (not is_torn or value.get("type") in _TYPES):
            stop = offset + _size(decoded[at:end])
            spans.append((offset, stop, value))
            is_torn = False
        else:
            if not is_torn:
                where = f" from byte {offset + 1} of the line on" if spans else ""
                problem = problem or failure + where
            is_torn = True
            attempts += 1
            found = _ENTRY.search(decoded, max(end, at + 1)) if attempts <= _ATTEMPTS else None
            end = found.start() if found else len(decoded)
            stop = offset + _size(decoded[at:end])
        blank = _BLANKS.match(decoded, end)
        next_at = blank.end() if blank else end
        at, offset = next_at, stop + next_at - end
    return spans, problem


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
