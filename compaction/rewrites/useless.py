"""Eliding results that their tool says are of no use."""

from __future__ import annotations

from compaction.part import PolicyPart
from compaction.rewrites.protection import is_protected, spares_cache
from compaction.rewrites.scene import Scene
from eventstore.formats.pi_entry import tolerant_json
from eventstore.records import Shown

ELIDED = "[Uneventful result elided]"


class Useless(PolicyPart, frozen=True, tag="useless"):
    """Show `[Uneventful result elided]` in place of results that their tool flagged as `useless`, errors apart.

    Only where it saves something. Outside of a compaction the prompt cache is spared.
    """

    protected: tuple[str, ...] = ("skill",)

    def plan(self, scene: Scene) -> list[Shown]:
        """What to show otherwise."""
        return [
            Shown(target=line.id, shown=ELIDED)
            for line in scene.results
            if b'"useless"' in line.part.raw
            and tolerant_json(line.part.raw).get("useless") is True
            and not line.message.is_error
            and not line.is_rewritten
            and line.tokens > -(-len(ELIDED) // 4)
            and not is_protected(line, self.protected)
            and spares_cache(scene, line)
        ]
