"""The kinds of things that texts mention, and the types that their finders share."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

import msgspec


def word_set(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(text.split())


class MentionKind(StrEnum):
    """A kind of thing that texts mention."""

    PATH = "path"
    """A file or folder."""
    SYMBOL = "symbol"
    """A name in code: of a function, a class, a variable, an option."""
    IDENTIFIER = "identifier"
    """A hash, a UUID, an id of a commit, an issue, a call."""
    ERROR = "error"
    """A line that reports an error."""
    URL = "url"
    """An address with a scheme."""
    QUANTITY = "quantity"
    """A number with its unit."""
    COMMAND = "command"
    """A command that a shell was given; in tool calls and shell messages alone."""


class Mention(msgspec.Struct, frozen=True):
    """One thing named in a text, from character `start` to `stop`; `value` is it in the form that is compared."""

    kind: MentionKind
    value: str
    start: int
    stop: int


Match: TypeAlias = tuple[int, int, str] | None
"""Start, stop and value of a mention. None: it is none of this kind, a later kind may be in it. An empty value:
nothing is named here, and no part of it names anything."""

Finder: TypeAlias = Callable[[str, int, int], Match]
"""From a text, and where in it a pattern matched, to what is there."""
