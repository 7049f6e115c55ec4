"""Cut old tool results all at once, as oh-my-pi's prune does."""

from __future__ import annotations

from compaction.part import Count, PolicyPart
from compaction.rewrites.sized_context import SizedContext, is_protected
from eventstore.records import TextReplacement


class Prune(PolicyPart, frozen=True, tag="prune"):
    """Show `[Output truncated - N tokens]` in place of old results, if that saves enough.

    Sum the results from newest to oldest. The newest `protect` tokens stay, and so do results under
    `smallest` tokens, rewritten results and those of `protected` tools. Cut all others, or none if they save
    less than `savings` tokens together.
    """

    protect: Count = 40_000
    savings: Count = 20_000
    smallest: Count = 50
    protected: tuple[str, ...] = ("skill", "read")

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        shown, saved = self._candidates(context)
        return shown if saved >= self.savings else []

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        shown, saved = self._candidates(context)
        if shown:
            return f"{saved:,} tokens could be saved, less than {self.savings:,}"
        if sum(each.tokens for each in context.results) <= self.protect:
            return f"all results fit into the {self.protect:,} tokens that are protected"
        spared = " or ".join(self.protected)
        protected = f", or of {spared}, which is protected" if spared else ""
        return f"older results have less than {self.smallest:,} tokens, or are already rewritten{protected}"

    def _candidates(self, context: SizedContext) -> tuple[list[TextReplacement], int]:
        """Return the results that could be cut, oldest first, and the tokens saved."""
        met = saved = 0
        shown: list[TextReplacement] = []
        for each in reversed(context.results):
            is_old = met >= self.protect
            met += each.tokens
            if (
                not is_old
                or each.is_rewritten
                or each.tokens < self.smallest
                or is_protected(each, self.protected)
            ):
                continue
            notice = f"[Output truncated - {each.tokens} tokens]"
            saved += max(each.tokens - -(-len(notice) // 4), 0)
            shown.append(each.shown_as(notice))
        return shown[::-1], saved
