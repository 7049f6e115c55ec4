"""Encode texts as JSON, which has no place for lone surrogates."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from eventstore.javascript import well_formed
from projections.requests.repairs import Note, RepairRule

_encode: Final = msgspec.json.Encoder().encode
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
