"""Blanking all but the newest tool results."""

from __future__ import annotations

from compaction.part import Count, PolicyPart
from compaction.rewrites.scene import Scene
from eventstore.records import Shown

COMPACTED = "[Earlier tool result compacted. Re-run if needed.]"


class Micro(PolicyPart, frozen=True, tag="micro"):
    """Show `[Earlier tool result compacted. Re-run if needed.]` in place of all but the newest `keep` results.

    Results of up to `shortest` characters stay. With `after_minutes`, only once nothing has happened for
    longer than that.
    """

    keep: Count = 3
    shortest: Count = 120
    after_minutes: Count | None = None

    def plan(self, scene: Scene) -> list[Shown]:
        """What to show otherwise."""
        if self.after_minutes is not None and scene.idle <= self.after_minutes * 60_000:
            return []
        older = scene.results[: -self.keep] if self.keep else scene.results
        return [Shown(target=line.id, shown=COMPACTED) for line in older if line.characters > self.shortest]
