"""Masking old observations."""

from __future__ import annotations

from compaction.part import Count, PolicyPart
from compaction.rewrites.sized_context import SizedContext
from eventstore.records import Shown

MASKED = "[Observation masked. Re-run if needed.]"


class Mask(PolicyPart, frozen=True, tag="mask"):
    """Show `[Observation masked. Re-run if needed.]` in place of all tool results but the newest `keep_observations`.

    Results that the notice would make longer stay as they are.
    """

    keep_observations: Count = 10

    def plan(self, context: SizedContext) -> list[Shown]:
        """What to show otherwise."""
        older = context.results[: -self.keep_observations] if self.keep_observations else context.results
        return [
            Shown(target=each.id, shown=MASKED)
            for each in older
            if each.tokens > -(-len(MASKED) // 4) and each.message.text != MASKED
        ]
