"""Addresses: a scheme, `://`, and what follows up to where the sentence goes on."""

from __future__ import annotations

from typing import Final

from projections.extraction.found import Found

PATTERN: Final = r"(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}+://[^\s<>\"'`\\|^{}\u2026\u3001\u3002\uff0c\uff09]++"
"""Ends at white space, quotes, brackets of angles and braces, backslashes, bars, and full-width punctuation."""

_CLOSING: Final = {")": "(", "]": "["}
_SENTENCE: Final = ".,;:!?*"
_PLACEHOLDER: Final = ("{", "<", "$")


def find(text: str, start: int, stop: int) -> Found:
    """The address without the punctuation of its sentence and without brackets that it did not open.

    One that goes on in a placeholder (`https://host/{owner}`) names nothing yet.
    """
    if text[stop : stop + 1] in _PLACEHOLDER and stop < len(text):
        return start, stop, ""
    depth = {bracket: text.count(bracket, start, stop) for bracket in "()[]"}
    while stop > start:
        last = text[stop - 1]
        opening = _CLOSING.get(last)
        if last not in _SENTENCE and (opening is None or depth[opening] >= depth[last]):
            break
        if opening is not None:
            depth[last] -= 1
        stop -= 1
    value = text[start:stop]
    rest = value.partition("://")[2]
    return (start, stop, value) if any(map(str.isalnum, rest)) else None
