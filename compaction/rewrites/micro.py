"""Clear all but the newest tool results."""

from __future__ import annotations

from compaction.part import Count, PolicyPart
from compaction.rewrites.sized_context import SizedContext
from eventstore.records import TextReplacement

COMPACTED = "[Earlier tool result compacted. Re-run if needed.]"


class Micro(PolicyPart, frozen=True, tag="micro"):
    """Show a notice in place of all but the newest `keep` results.

    The notice is `[Earlier tool result compacted. Re-run if needed.]`. Results of up to `shortest` characters
    stay. With `after_minutes`, rewrite only after that much idle time.
    """

    keep: Count = 3
    shortest: Count = 120
    after_minutes: Count | None = None

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        if self._is_early(context):
            return []
        return [
            each.shown_as(COMPACTED)
            for each in context.results_but_newest(self.keep)
            if each.characters > self.shortest and each.message.text != COMPACTED
        ]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        if self._is_early(context):
            return f"there was activity within the last {self.after_minutes:,} minutes"
        if not context.results_but_newest(self.keep):
            return f"no result is older than the newest {self.keep:,}"
        return f"the older results are already compacted, or have at most {self.shortest:,} characters"

    def _is_early(self, context: SizedContext) -> bool:
        return self.after_minutes is not None and context.idle <= self.after_minutes * 60_000
