"""Taking images out of what is kept."""

from __future__ import annotations

from compaction.part import PolicyPart
from compaction.rewrites.scene import Scene
from eventstore.records import Shown
from eventstore.views import Image


class Evict(PolicyPart, frozen=True, tag="evict"):
    """Show `[image/png removed]` and the like in place of every image."""

    def plan(self, scene: Scene) -> list[Shown]:
        """What to show otherwise."""
        return [
            Shown(target=line.id, shown=f"[{block.mime or 'image'} removed]", block=number)
            for line in scene.lines
            for number, block in enumerate(line.message.blocks)
            if isinstance(block, Image)
        ]
