"""Encode texts as JSON, which has no place for lone surrogates."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from projections.requests.repairs import Note, RepairRule

_encode: Final = msgspec.json.Encoder().encode
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BLANK: Final = re.compile(r"[\s\ufeff]*")


def is_blank(text: str) -> bool:
    """Return True if a text is only white space, by any definition of it."""
    return _BLANK.fullmatch(text) is not None


def encode_text(text: str, note: Note) -> bytes:
    """Return a text as JSON, with lone surrogates replaced by U+FFFD."""
    try:
        return _encode(text)
    except UnicodeEncodeError:
        note(RepairRule.SURROGATE, "a lone surrogate is replaced by U+FFFD")
        return _encode(well_formed(text))


def well_formed(text: str) -> str:
    """Return a text with lone surrogates replaced by U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)
