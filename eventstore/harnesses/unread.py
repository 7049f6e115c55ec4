"""Recognize harnesses whose sessions no format reads yet.

Remove a row when its format comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from eventstore.harnesses.source import SessionLocation

_OPENCODE: Final = re.compile(rb'(?:Exporting session: [^\n]*\n)?\s*\{\s*"info"\s*:\s*\{')


def _is_opencode(beginning: bytes) -> bool:
    return _OPENCODE.match(beginning) is not None


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A harness without a format: its name, how its files begin, where it keeps them."""

    name: str
    recognizes: Callable[[bytes], bool]
    places: tuple[SessionLocation, ...]


UNREAD: Final = (
    Unread(
        name="opencode",
        recognizes=_is_opencode,
        places=(
            SessionLocation(
                environment={"XDG_DATA_HOME": "opencode"},
                default="~/.local/share/opencode",
                pattern="opencode*.db",
            ),
            SessionLocation(
                environment={"XDG_DATA_HOME": "opencode/storage/session"},
                default="~/.local/share/opencode/storage/session",
                pattern="**/*.json",
            ),
        ),
    ),
)


def unread_harness(beginning: bytes) -> str:
    """Return the name of the unsupported harness that a file's beginning suggests, "" for none."""
    return next((each.name for each in UNREAD if each.recognizes(beginning)), "")
