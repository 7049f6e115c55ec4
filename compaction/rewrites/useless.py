"""Replace results that their tool flagged as useless."""

from __future__ import annotations

from compaction.part import PolicyPart
from compaction.rewrites.sized_context import WARM, SizedContext, SizedMessage, is_protected, spares_cache
from eventstore.records import TextReplacement

ELIDED = "[Uneventful result elided]"


class Useless(PolicyPart, frozen=True, tag="useless"):
    """Show `[Uneventful result elided]` in place of results flagged `useless`, except errors.

    Rewrite only what saves tokens. Outside of a compaction, spare the prompt cache.
    """

    protected: tuple[str, ...] = ("skill",)

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        return [each.shown_as(ELIDED) for each in self._flagged(context) if spares_cache(context, each)]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        return WARM if self._flagged(context) else "no tool has flagged a visible result as useless"

    def _flagged(self, context: SizedContext) -> list[SizedMessage]:
        return [
            each
            for each in context.results
            if each.message.is_useless
            and not each.message.is_error
            and not each.is_rewritten
            and each.tokens > -(-len(ELIDED) // 4)
            and not is_protected(each, self.protected)
        ]
