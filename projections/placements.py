"""The ways for a compaction's summary to stand in a request, and the texts of messages that no provider knows.

Adding a placement: its part here, a place in `PLACEMENTS`, its tests, its docs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from eventstore.views import Message, shell_text


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """A way for a summary to stand in a request.

    `name` is what policies and records call it; `told` gives the text of the user's message that stands for a summary.
    """

    name: str
    render: Callable[[str], str]


_LEAD_IN: Final = "Earlier parts of this conversation were replaced by this summary:"


def tagged_summary(lead_in: str, summary: str) -> str:
    """A summary in its tags, below a sentence of its own."""
    return f"{lead_in}\n\n<summary>\n{summary}\n</summary>"


SUMMARY: Final = Placement(name="summary", render=lambda summary: tagged_summary(_LEAD_IN, summary))
"""pi's way: in its tags, below a sentence that says what it is."""
PRIOR_CONVERSATION_SUMMARY: Final = Placement(
    name="prior-conversation-summary",
    render=lambda summary: f"<prior-conversation-summary>\n{summary}\n</prior-conversation-summary>",
)
"""opencode's way: in tags that say that it is of an earlier conversation.

There it is a system message, for which messages that alternate have no place: here it is a user's, too.
"""
COMPACTED: Final = Placement(name="compacted", render=lambda summary: f"[Compacted]\n\n{summary}")
"""The four-layer pipeline's way: behind a word that says what happened."""
REACTIVE_COMPACT: Final = Placement(
    name="reactive-compact", render=lambda summary: f"[Reactive compact]\n\n{summary}"
)
"""The four-layer pipeline's way after a request was refused for its length."""

PLACEMENTS: Final[dict[str, Placement]] = {
    each.name: each for each in (SUMMARY, PRIOR_CONVERSATION_SUMMARY, COMPACTED, REACTIVE_COMPACT)
}


def placement_of(name: str) -> Placement:
    """The placement that a record names; pi's for one that it does not name, or that nobody knows here."""
    return PLACEMENTS.get(name, SUMMARY)


_OF_A_BRANCH: Final = "Another branch of this conversation was left; this summarizes it:"


def substitute_text(message: Message) -> str | None:
    """The user's text that stands for a message, as pi's `convertToLlm` has it; None for one that stands for itself.

    A compaction's summary stands as its record says, a branch's in its tags below a sentence that says what it is.
    Empty for a command that its person kept out of the context.
    """
    if message.role == "compactionSummary":
        return placement_of(message.placement).render(message.text)
    if message.role == "branchSummary":
        return tagged_summary(_OF_A_BRANCH, message.text)
    if message.shell is not None:
        return "" if message.shell.excluded else shell_text(message.shell)
    return None
