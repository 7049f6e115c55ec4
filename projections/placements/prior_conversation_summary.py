"""opencode's way: in tags that say that it is of an earlier conversation.

There it is a system message, for which messages that alternate have no place: here it is a user's, too.
"""

from __future__ import annotations

from typing import Final

from projections.placements.placement import Placement

PRIOR_CONVERSATION_SUMMARY: Final = Placement(
    name="prior-conversation-summary",
    told=lambda summary: f"<prior-conversation-summary>\n{summary}\n</prior-conversation-summary>",
)
