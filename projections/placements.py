"""Present summaries, and other messages that no provider knows, in a request.

To add a placement: define it here, list it in `PLACEMENTS`, and add tests and docs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from eventstore.views import Message, shell_text


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """A way to present a summary in a request.

    `name` is used in policies and records; `render` returns the text of the user message that carries the
    summary.
    """

    name: str
    render: Callable[[str], str]


_LEAD_IN: Final = "Earlier parts of this conversation were replaced by this summary:"
_OF_PI: Final = "The conversation history before this point was compacted into the following summary:"
_OF_PI_BRANCH: Final = "The following is a summary of a branch that this conversation came back from:"


def _tagged(lead_in: str, summary: str) -> str:
    return f"{lead_in}\n\n<summary>\n{summary}\n</summary>"


SUMMARY: Final = Placement(name="summary", render=lambda summary: _tagged(_LEAD_IN, summary))
"""In tags, below a sentence that introduces it."""
PRIOR_CONVERSATION_SUMMARY: Final = Placement(
    name="prior-conversation-summary",
    render=lambda summary: f"<prior-conversation-summary>\n{summary}\n</prior-conversation-summary>",
)
"""opencode's way: in tags that mark an earlier conversation.

opencode sends it as a system message; here it is a user message, because roles must alternate.
"""
COMPACTED: Final = Placement(name="compacted", render=lambda summary: f"[Compacted]\n\n{summary}")
"""The four-layer pipeline's way: after the word "Compacted"."""
REACTIVE_COMPACT: Final = Placement(
    name="reactive-compact", render=lambda summary: f"[Reactive compact]\n\n{summary}"
)
"""The four-layer pipeline's way after a request was refused for its length."""
PI: Final = Placement(name="", render=lambda summary: _tagged(_OF_PI, summary))
"""pi's own way, for compactions whose records name none; no policy names it."""

PLACEMENTS: Final[dict[str, Placement]] = {
    each.name: each for each in (SUMMARY, PRIOR_CONVERSATION_SUMMARY, COMPACTED, REACTIVE_COMPACT)
}


def placement_of(name: str) -> Placement:
    """Return the placement that refold's record of a summary names; pi's own for the name ""."""
    return PLACEMENTS.get(name, SUMMARY) if name else PI


def substitute_text(message: Message) -> str | None:
    """Return the user text that replaces a message, None if it is sent as it is.

    Follows pi's `convertToLlm`, word for word. A compaction of refold's follows the placement in its record. A command
    that the user kept out of the context yields "".
    """
    if message.role == "compactionSummary":
        return placement_of(message.placement).render(message.text)
    if message.role == "branchSummary":
        return f"{_OF_PI_BRANCH}\n\n<summary>\n{message.text}</summary>"
    if message.shell is not None:
        return "" if message.shell.excluded else shell_text(message.shell)
    return None
