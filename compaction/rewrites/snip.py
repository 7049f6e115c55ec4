"""Taking the middle out of a long conversation."""

from __future__ import annotations

import re
from typing import Final

from compaction.part import PolicyPart, Positive
from compaction.rewrites.sized_context import SizedContext, SizedMessage
from eventstore.records import TextReplacement
from eventstore.views import answered

_PLACEHOLDER: Final = re.compile(r"\[snipped (\d+) messages from conversation middle\]")


class Snip(PolicyPart, frozen=True, tag="snip"):
    """Show `[snipped N messages from conversation middle]` in place of all but the first and the last messages.

    Over `longest` messages, the first `head` stay and as many of the last as make up `longest` with them;
    a few more where a call would part from a result. The placeholder of an earlier snip is no message; N
    counts those that it stood for, too. Sessions that another session started are left alone.
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
        return "calls and results that belong together leave no middle to take out"


def _stands_for(each: SizedMessage) -> int:
    """Return how many messages the placeholder of an earlier snip stands for; 0 for a message."""
    found = _PLACEHOLDER.fullmatch(each.message.text) if each.is_rewritten else None
    return int(found[1]) if found else 0


def _unparted(lines: tuple[SizedMessage, ...]) -> list[bool]:
    """Return for each place between messages, the ends included, if no call parts from its result there."""
    whole = [True] * (len(lines) + 1)
    for result, caller in answered([each.message for each in lines]).items():
        whole[caller + 1 : result + 1] = [False] * (result - caller)
    return whole
