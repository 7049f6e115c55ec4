"""The kinds of things that texts mention, and the types that their finders share."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec


def word_set(text: str) -> frozenset[str]:
    """Return the distinct words of a text."""
    return frozenset(text.split())


class MentionKind(StrEnum):
    """A kind of thing that texts mention."""

    PATH = "path"
    """A file or folder."""
    IDENTIFIER = "identifier"
    """A hash, a UUID, or the id of a commit, an issue or a call."""
    ERROR = "error"
    """A line that reports an error."""
    URL = "url"
    """A URL with a scheme."""
    COMMAND = "command"
    """A command given to a shell; found only in tool calls and shell messages."""


class Mention(msgspec.Struct, frozen=True, gc=False):
    """A thing named in a text, from character `start` to `stop`; `value` is its normalized form."""

    kind: MentionKind
    value: str
    start: int
    stop: int


Match: TypeAlias = tuple[int, int, str] | None
"""Start, stop and value of a mention.

None: not of this kind, but a later kind may match. An empty value: neither this text nor any part of it names
anything.
"""
