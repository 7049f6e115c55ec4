"""How deep a JSON value is nested, and how deep one may be that is kept."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from eventstore.errors import RefoldError

DEEPEST_RECORD: Final = 500
"""Levels of a record that enters a log. Readers take about a thousand, less what their callers have on the stack."""
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""One that is never closed reaches to the end: else each quote within it would be tried as its beginning."""
_AS_LISTS: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


class TooDeepError(RefoldError, msgspec.DecodeError):
    """A stored record is nested deeper than what reads it can follow: it came before there was a limit."""

    def __init__(self) -> None:
        super().__init__(
            f"a stored record is nested deeper than {DEEPEST_RECORD} levels, and cannot be read here; "
            "'refold export' writes it as it came, 'refold show' with --raw prints it"
        )


def is_deeper(raw: bytes, levels: int) -> bool:
    """Whether lists and objects in a JSON value are nested deeper than so many levels."""
    if raw.count(b"[") + raw.count(b"{") <= levels:
        return False
    brackets = _STRING.sub(b"", raw).translate(_AS_LISTS, _NO_BRACKETS)
    # Without the innermost ones it is a level less deep; what is left where none is removed was never closed.
    for level in range(levels):
        without = brackets.replace(b"[]", b"")
        if len(without) == len(brackets):
            return level + brackets.count(b"[") > levels
        brackets = without
    return bool(brackets)
