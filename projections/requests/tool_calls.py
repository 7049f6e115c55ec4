"""Convert recorded calls to what the API accepts: ids, tool names and arguments."""

from __future__ import annotations

import re
from itertools import count
from typing import Final

import msgspec

from eventstore.harnesses.refold.blocks import LONGEST_CALL_ID, LONGEST_TOOL_NAME
from eventstore.javascript import is_deeper, parse_json, stringify
from projections.requests.repairs import Note, RepairRule

DEEPEST: Final = 100
"""Nesting levels that every JSON reader accepts; beyond, it depends on the reader's stack."""


def is_too_deep(raw: bytes) -> bool:
    """Return True if lists and objects in a JSON value are nested deeper than `DEEPEST`."""
    return is_deeper(raw, DEEPEST)


_OTHERS: Final = re.compile("[^a-zA-Z0-9_-]")
_SHOWN: Final = 80
"""Characters of a name to show in a repair."""


def tool_name(recorded: str, note: Note) -> str:
    """Return a tool's name with characters that the API rejects replaced by `_`."""
    name = _OTHERS.sub("_", recorded)[:LONGEST_TOOL_NAME] or "unnamed"
    if name != recorded:
        note(RepairRule.TOOL_NAME, f"the tool {recorded[:_SHOWN]!r} is called {name!r}")
    return name


class CallIds:
    """The ids of the calls of a request, each unique."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, recorded: str, note: Note) -> str:
        """Return a call's id: the recorded one if the API accepts it and no earlier call has it."""
        plain = _OTHERS.sub("_", recorded)[:LONGEST_CALL_ID] or "call"
        if plain != recorded:
            note(RepairRule.CALL_ID, f"the call {recorded[:_SHOWN]!r} is called {plain!r}")
        free = self._free(plain)
        if free != plain:
            note(RepairRule.DUPLICATE_CALL_ID, f"another call {plain!r} is called {free!r}")
        self._taken.add(free)
        return free

    def _free(self, plain: str) -> str:
        if plain not in self._taken:
            return plain
        endings = (f"_{number}" for number in count(2))
        candidates = (plain[: LONGEST_CALL_ID - len(ending)] + ending for ending in endings)
        return next(each for each in candidates if each not in self._taken)


_LONE_SURROGATE: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")
"""A lone surrogate, as `stringify` escapes it."""


def input_json(arguments: bytes, note: Note) -> bytes:
    """Return the JSON object that is a call's input, byte for byte if the arguments are one.

    Anything else is wrapped in an object as `arguments`; invalid JSON is repaired.
    """
    if is_too_deep(arguments):
        note(RepairRule.ARGUMENTS, f"arguments of more than {DEEPEST} levels are left out")
        return b"{}"
    try:
        is_object = isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _mended(arguments, note)
    return arguments if is_object else _wrapped(arguments, note)


def _mended(arguments: bytes, note: Note) -> bytes:
    try:
        value = parse_json(arguments.decode("utf-8", "replace"))
    except ValueError:
        note(RepairRule.ARGUMENTS, "unreadable JSON arguments are left out")
        return b"{}"
    note(RepairRule.SURROGATE, "arguments with text or numbers that cannot be sent are repaired")
    mended = _LONE_SURROGATE.sub("\\1\ufffd", stringify(value)).encode()
    return mended if isinstance(value, dict) else _wrapped(mended, note)


def _wrapped(arguments: bytes, note: Note) -> bytes:
    note(RepairRule.ARGUMENTS, "arguments that are not an object are wrapped in one")
    return b'{"arguments":%s}' % arguments
