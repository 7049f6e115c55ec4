"""Names as the API takes them: ids of calls, names of tools."""

from __future__ import annotations

import re
from itertools import count
from typing import Final

from projections.renderers.anthropic.repairs import Note, Rule

LONGEST_CALL_ID: Final = 64
LONGEST_TOOL_NAME: Final = 128
_OTHERS: Final = re.compile("[^a-zA-Z0-9_-]")
_SHOWN: Final = 80
"""Characters of a name that a repair tells."""


def tool_name(recorded: str, note: Note) -> str:
    """A tool's name; characters that the API does not take become `_`."""
    name = _OTHERS.sub("_", recorded)[:LONGEST_TOOL_NAME] or "unnamed"
    if name != recorded:
        note(Rule.TOOL_NAME, f"the tool {recorded[:_SHOWN]!r} is called {name!r}")
    return name


class CallIds:
    """The ids that the calls of a request have; each differs from those before it."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, recorded: str, note: Note) -> str:
        """The id of a call: as recorded, where the API takes it and no call before has it."""
        plain = _OTHERS.sub("_", recorded)[:LONGEST_CALL_ID] or "call"
        if plain != recorded:
            note(Rule.CALL_ID, f"the call {recorded[:_SHOWN]!r} is called {plain!r}")
        free = self._free(plain)
        if free != plain:
            note(Rule.DUPLICATE_CALL_ID, f"another call {plain!r} is called {free!r}")
        self._taken.add(free)
        return free

    def _free(self, plain: str) -> str:
        if plain not in self._taken:
            return plain
        endings = (f"_{number}" for number in count(2))
        candidates = (plain[: LONGEST_CALL_ID - len(ending)] + ending for ending in endings)
        return next(each for each in candidates if each not in self._taken)
