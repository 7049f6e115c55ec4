"""Check ids in files, and make them ids of the log."""

from __future__ import annotations

import re
from typing import Any, Final

_MAX_NAME_LENGTH: Final = 60_000
"""Bytes of UTF-8; leaves room in an id for a suffix."""


def is_name(text: str) -> bool:
    """Return True if a text can be an id in a log: nonempty, short, without lone surrogates."""
    if text.isascii():
        return 0 < len(text) <= _MAX_NAME_LENGTH
    try:
        return 0 < len(text.encode()) <= _MAX_NAME_LENGTH
    except UnicodeEncodeError:
        return False


_RESERVED_BEGINNINGS: Final = (
    "import-",
    "observed-",
    "generation-of-",
    "fork-of",
    "subagent-of",
    "started-",
    "title-",
    "blob-",
)
_RESERVED: Final = (
    r"import-[0-9a-f]{16}(?:-\d+)?|observed-.*-\d+|generation-of-\d+|(?:fork|subagent)-of(?:-.*)?|started-.*"
    r"|title-[0-9a-f]{16}|blob-[0-9a-f]{64}"
)


def is_reserved(event_id: str) -> bool:
    """Return True for ids that imports give to the events that they add."""
    # Almost no id begins like a reserved one.
    return event_id.startswith(_RESERVED_BEGINNINGS) and bool(
        re.fullmatch(_RESERVED, event_id, re.ASCII | re.DOTALL)
    )


def stored_name(value: Any) -> str | None:
    """Return the log's id for a value in a file, None if it is no id."""
    return stored_id(value) if isinstance(value, str) and is_name(value) else None


def stored_id(name: str) -> str:
    """Return the log's id for a name in a file; a reserved one gets a suffix."""
    return f"{name}~file" if is_reserved(name) else name
