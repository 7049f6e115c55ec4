"""Taking images out of what is kept."""

from __future__ import annotations

from compaction.part import PolicyPart
from compaction.rewrites.sized_context import SizedContext
from eventstore.records import Shown
from eventstore.views import Image


class Evict(PolicyPart, frozen=True, tag="evict"):
    """Show `[image/png removed]` and the like in place of every image."""

    def plan(self, context: SizedContext) -> list[Shown]:
        """What to show otherwise."""
        return [
            Shown(target=each.id, shown=f"[{block.mime or 'image'} removed]", block=number)
            for each in context.messages
            for number, block in enumerate(each.message.blocks)
            if isinstance(block, Image)
        ]
