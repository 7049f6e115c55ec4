"""Recognize harnesses whose sessions no format reads yet.

Remove a row when its format comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from eventstore.harnesses.base import SessionLocation

_METADATA: Final = re.compile(rb'\s*\{[^{}]*"projectHash"\s*:')


def _is_gemini_chat(beginning: bytes) -> bool:
    return _METADATA.match(beginning) is not None


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A harness without a format: its name, how its files begin, where it keeps them."""

    name: str
    recognizes: Callable[[bytes], bool]
    places: tuple[SessionLocation, ...]


UNREAD: Final = (
    Unread(
        name="Gemini CLI",
        recognizes=_is_gemini_chat,
        places=(SessionLocation(environment={}, default="~/.gemini/tmp", pattern="*/chats/session-*.json*"),),
    ),
)


def unread_harness(beginning: bytes) -> str:
    """Return the name of the unsupported harness that a file's beginning suggests, "" for none."""
    return next((each.name for each in UNREAD if each.recognizes(beginning)), "")
