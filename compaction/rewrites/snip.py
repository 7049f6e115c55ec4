"""Remove the middle of a long conversation."""

from __future__ import annotations

import re
from typing import Final

from compaction.part import PolicyPart, Positive
from compaction.rewrites.sized_context import SizedContext, SizedMessage
from eventstore.records import TextReplacement
from eventstore.views import call_indexes

_PLACEHOLDER: Final = re.compile(r"\[snipped (\d+) messages from conversation middle\]")


class Snip(PolicyPart, frozen=True, tag="snip"):
    """Show `[snipped N messages from conversation middle]` in place of the middle.

    Over `longest` messages, keep the first `head` and the last ones that make up `longest` with them, and a
    few more where a call would be separated from its result. An earlier placeholder is no message; N includes
    the messages that it replaced. Leave sessions alone that another session started.
    """

    longest: Positive = 50
    head: Positive = 3

    def __post_init__(self) -> None:
        if self.head >= self.longest:
            message = f"`head` ({self.head}) has to be less than `longest` ({self.longest})"
            raise ValueError(message)

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        messages = [place for place, each in enumerate(context.messages) if not _stands_for(each)]
        if context.is_subagent or len(messages) <= self.longest:
            return []
        whole = _unparted(context.messages)
        first = next(
            place for place in range(messages[self.head - 1] + 1, len(context.messages) + 1) if whole[place]
        )
        wanted = messages[-(self.longest - self.head)]
        end = next(place for place in range(wanted, -1, -1) if whole[place])
        hidden = context.messages[first:end]
        if not any(not _stands_for(each) for each in hidden):
            return []
        count = sum(_stands_for(each) or 1 for each in hidden)
        text = f"[snipped {count} messages from conversation middle]"
        return [TextReplacement(target=hidden[0].id, text=text, through=hidden[-1].id)]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        if context.is_subagent:
            return "another session started this one"
        if sum(not _stands_for(each) for each in context.messages) <= self.longest:
            return f"there are no more than {self.longest:,} messages"
        return "calls and results that belong together leave no middle to remove"


def _stands_for(each: SizedMessage) -> int:
    """Return the number of messages that an earlier placeholder replaced, 0 for a message."""
    found = _PLACEHOLDER.fullmatch(each.message.text) if each.is_rewritten else None
    return int(found[1]) if found else 0


def _unparted(lines: tuple[SizedMessage, ...]) -> list[bool]:
    """Return, for each place between messages and both ends, True if no call is split there."""
    whole = [True] * (len(lines) + 1)
    for result, caller in call_indexes([each.message for each in lines]).items():
        whole[caller + 1 : result + 1] = [False] * (result - caller)
    return whole
