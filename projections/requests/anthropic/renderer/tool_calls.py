"""Recorded calls as the API takes them: their ids, the names of their tools, their arguments."""

from __future__ import annotations

import re
from itertools import count
from typing import Final

import msgspec

from eventstore.javascript import is_deeper, parse, stringify
from projections.requests.anthropic.renderer.repairs import Note, RepairRule

DEEPEST: Final = 100
"""Levels that every reader of JSON takes. What one takes beyond depends on its stack, and so on its caller."""


def is_too_deep(raw: bytes) -> bool:
    """Return True if lists and objects in a JSON value are nested deeper than `DEEPEST`."""
    return is_deeper(raw, DEEPEST)


LONGEST_CALL_ID: Final = 64
LONGEST_TOOL_NAME: Final = 128
_OTHERS: Final = re.compile("[^a-zA-Z0-9_-]")
_SHOWN: Final = 80
"""Characters of a name that a repair tells."""


def tool_name(recorded: str, note: Note) -> str:
    """A tool's name; characters that the API does not take become `_`."""
    name = _OTHERS.sub("_", recorded)[:LONGEST_TOOL_NAME] or "unnamed"
    if name != recorded:
        note(RepairRule.TOOL_NAME, f"the tool {recorded[:_SHOWN]!r} is called {name!r}")
    return name


class CallIds:
    """The ids that the calls of a request have; each differs from those before it."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, recorded: str, note: Note) -> str:
        """The id of a call: as recorded, where the API takes it and no call before has it."""
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
"""As `stringify` escapes it, and nothing else."""


def input_json(arguments: bytes, note: Note) -> bytes:
    """The JSON object that is a call's input: the arguments' own bytes wherever they are one.

    Anything else stands in an object under the name `arguments`; what no JSON reader would take is mended.
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
        value = parse(arguments.decode("utf-8", "replace"))
    except ValueError:
        note(RepairRule.ARGUMENTS, "arguments that no JSON reader takes are left out")
        return b"{}"
    note(RepairRule.SURROGATE, "arguments with text or numbers that cannot be sent are mended")
    mended = _LONE_SURROGATE.sub("\\1\ufffd", stringify(value)).encode()
    return mended if isinstance(value, dict) else _wrapped(mended, note)


def _wrapped(arguments: bytes, note: Note) -> bytes:
    note(RepairRule.ARGUMENTS, "arguments that are no object stand in one")
    return b'{"arguments":%s}' % arguments
