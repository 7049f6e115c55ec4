"""What a model is told in place of messages that no provider knows: summaries, and the person's own commands."""

from __future__ import annotations

from typing import Final

from eventstore.views import Message, shell_text

_LEAD_INS: Final = {
    "compactionSummary": "Earlier parts of this conversation were replaced by this summary:",
    "branchSummary": "Another branch of this conversation was left; this summarizes it:",
}


def stand_in(message: Message) -> str | None:
    """The user's text that stands for a message, as pi's `convertToLlm` has it; None for one that stands for itself.

    A summary stands in its tags below a sentence that says what it is. Empty for a command that its person
    kept out of the context.
    """
    if message.role in _LEAD_INS:
        return f"{_LEAD_INS[message.role]}\n\n<summary>\n{message.text}\n</summary>"
    if message.shell is not None:
        return "" if message.shell.excluded else shell_text(message.shell)
    return None
