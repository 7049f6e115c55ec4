"""Tell rules that stand until they are taken back from tasks that are done once."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from projections.mentions.instructions import is_instruction

_STANDING: Final = re.compile(
    r"\b(?:never|always|from now on|no|don't|dont|do not|only|ask before|must|should|prefer|use|avoid|stop)\b"
)


class InstructionKind(StrEnum):
    """The kinds of instructions."""

    RULE = "rule"
    """It stands until it is taken back."""
    TASK = "task"
    """It is done once."""


def kind_of(sentence: str) -> InstructionKind | None:
    """Return the kind of a user's sentence, None if it instructs nothing."""
    if not is_instruction(sentence):
        return None
    return InstructionKind.RULE if _STANDING.search(sentence.casefold()) else InstructionKind.TASK
