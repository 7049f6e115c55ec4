"""Addresses: a scheme, `://`, and what follows up to where the sentence goes on."""

from __future__ import annotations

import re
from typing import Final

from projections.extraction.found import Found

PATTERN: Final = (
    r"(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}+://[^\s<>\"'`\\|^{}\u2026\u3001\u3002\uff0c\uff09]++"
)
"""Ends at white space, quotes, brackets of angles and braces, backslashes, bars, and full-width punctuation."""

_SENTENCE: Final = ".,;:!?*"
_PLACEHOLDER: Final = ("{", "<", "$")
_BRACKET: Final = re.compile(r"[()\[\]]")


def find(text: str, start: int, stop: int) -> Found:
    """The address up to a bracket that it did not open, without the punctuation of its sentence.

    One that goes on in a placeholder (`https://host/{owner}`) names nothing yet.
    """
    if text[stop : stop + 1] in _PLACEHOLDER:
        return start, stop, ""
    depth = 0
    for bracket in _BRACKET.finditer(text, start, stop):
        depth += 1 if bracket[0] in "([" else -1
        if depth < 0:
            stop = bracket.start()
            break
    value = text[start:stop].rstrip(_SENTENCE)
    is_whole = any(map(str.isalnum, value.partition("://")[2]))
    return (start, start + len(value), value) if is_whole else None
