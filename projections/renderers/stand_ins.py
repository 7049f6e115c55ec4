"""What a model is told in place of messages that no provider knows: summaries, and the person's own commands."""

from __future__ import annotations

from typing import Final

from eventstore.views import Message, shell_text
from projections.placements import placement_of
from projections.placements.summary import below

_OF_A_BRANCH: Final = "Another branch of this conversation was left; this summarizes it:"


def stand_in(message: Message) -> str | None:
    """The user's text that stands for a message, as pi's `convertToLlm` has it; None for one that stands for itself.

    A compaction's summary stands as its record says, a branch's in its tags below a sentence that says what it is.
    Empty for a command that its person kept out of the context.
    """
    if message.role == "compactionSummary":
        return placement_of(message.placement).told(message.text)
    if message.role == "branchSummary":
        return below(_OF_A_BRANCH, message.text)
    if message.shell is not None:
        return "" if message.shell.excluded else shell_text(message.shell)
    return None
