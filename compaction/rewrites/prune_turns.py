"""Clear the tool results of older turns, as opencode's prune does."""

from __future__ import annotations

from compaction.part import Count, PolicyPart
from compaction.rewrites.sized_context import SizedContext, is_protected
from eventstore.records import TextReplacement

CLEARED = "[Old tool result content cleared]"


class PruneTurns(PolicyPart, frozen=True, tag="prune-turns"):
    """Show `[Old tool result content cleared]` in place of results of older turns.

    Attachments go too. Walk from newest to oldest, skip the newest `turns` turns, and stop at a summary or a
    rewritten result. `protected` tools do not count. The first `protect` tokens stay; the rest is cleared if
    it exceeds `savings` tokens.
    """

    turns: Count = 2
    protect: Count = 40_000
    savings: Count = 20_000
    protected: tuple[str, ...] = ("skill",)

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        shown, saved = self._candidates(context)
        return shown if saved > self.savings else []

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        shown, saved = self._candidates(context)
        if shown:
            return f"{saved:,} tokens could be cleared, not more than {self.savings:,}"
        return f"results of older turns fit into the {self.protect:,} tokens that are protected"

    def _candidates(self, context: SizedContext) -> tuple[list[TextReplacement], int]:
        """Return the results that could be cleared, oldest first, and their tokens."""
        turns = met = saved = 0
        shown: list[TextReplacement] = []
        for each in reversed(context.messages):
            turns += each.message.role == "user"
            if each.message.role == "compactionSummary":
                break
            if turns < self.turns or not each.is_result:
                continue
            if each.is_rewritten:
                break
            if is_protected(each, self.protected):
                continue
            met += each.tokens
            if met > self.protect:
                saved += each.tokens
                shown.append(each.shown_as(CLEARED))
        return shown[::-1], saved
