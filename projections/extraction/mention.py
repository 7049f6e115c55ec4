"""What a text names: the kinds of things that later work may need."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What is looked for in texts."""

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

    kind: Kind
    value: str
    start: int
    stop: int
