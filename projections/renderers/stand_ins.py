"""What a model is told in place of messages that no provider knows: summaries, and the person's own commands."""

from __future__ import annotations

from typing import Final

from eventstore.views import Message, shell_text

_LEAD_INS: Final = {
    "compactionSummary": "Earlier parts of this conversation were replaced by this summary:",
    "branchSummary": "Another branch of this conversation was left; this summarizes it:",
}
_PLACED: Final = {
    "prior-conversation-summary": "<prior-conversation-summary>\n{}\n</prior-conversation-summary>",
    "compacted": "[Compacted]\n\n{}",
    "reactive-compact": "[Reactive compact]\n\n{}",
}
"""How other harnesses put a summary, by the name of its placement.

opencode's is a system message, for which messages that alternate have no place: here it is a user's, too.
"""


def stand_in(message: Message) -> str | None:
    """The user's text that stands for a message, as pi's `convertToLlm` has it; None for one that stands for itself.

    A summary stands in its tags below a sentence that says what it is, or as its record says. Empty for a
    command that its person kept out of the context.
    """
    if message.placement in _PLACED:
        return _PLACED[message.placement].format(message.text)
    if message.role in _LEAD_INS:
        return f"{_LEAD_INS[message.role]}\n\n<summary>\n{message.text}\n</summary>"
    if message.shell is not None:
        return "" if message.shell.excluded else shell_text(message.shell)
    return None
