"""Masking old observations."""

from __future__ import annotations

from compaction.part import Count, PolicyPart
from compaction.rewrites.scene import Scene
from eventstore.records import Shown

MASKED = "[Observation masked. Re-run if needed.]"


class Mask(PolicyPart, frozen=True, tag="mask"):
    """Show `[Observation masked. Re-run if needed.]` in place of all tool results but the newest `keep_observations`.

    Results that the notice would make longer stay as they are.
    """

    keep_observations: Count = 10

    def plan(self, scene: Scene) -> list[Shown]:
        """What to show otherwise."""
        older = scene.results[: -self.keep_observations] if self.keep_observations else scene.results
        return [
            Shown(target=line.id, shown=MASKED)
            for line in older
            if line.tokens > -(-len(MASKED) // 4) and line.message.text != MASKED
        ]
