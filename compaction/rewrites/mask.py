"""Mask old tool results."""

from __future__ import annotations

from compaction.part import Count, PolicyPart
from compaction.rewrites.sized_context import SizedContext
from eventstore.records import TextReplacement

MASKED = "[Observation masked. Re-run if needed.]"


class Mask(PolicyPart, frozen=True, tag="mask"):
    """Show `[Observation masked. Re-run if needed.]` in place of all but the newest results.

    The newest `keep_observations` stay, and so do results shorter than the notice.
    """

    keep_observations: Count = 10

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        return [
            each.shown_as(MASKED)
            for each in context.results_but_newest(self.keep_observations)
            if each.tokens > -(-len(MASKED) // 4) and each.message.text != MASKED
        ]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        if not context.results_but_newest(self.keep_observations):
            return f"no result is older than the newest {self.keep_observations:,}"
        return "the older results are already masked, or no longer than the notice"
