"""Keeping a few messages, or none."""

from __future__ import annotations

from compaction.cuts.cut import Cut, CutPart, cut_at
from compaction.cuts.window import Window
from compaction.part import Count, Limits


class LastMessages(CutPart, frozen=True, tag="last-messages"):
    """Keep about the last `messages`: from the nearest place at or before where a cut is valid.

    0 keeps nothing, but an answer whose calls are in flight, so that their results find it. The four-layer
    pipeline keeps nothing, and the last 5 after the API has refused a request as too long.
    """

    messages: Count = 5

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """The cut of a window; None: nothing to summarize."""
        del limits
        if window.is_compacted or not window.items:
            return None
        wanted = max(len(window.items) - self.messages, 0)
        if wanted == len(window.items) and not window.is_open:
            return cut_at(window, wanted)
        places = [place for place, item in enumerate(window.items) if item.may_start and place]
        return cut_at(window, max((place for place in places if place <= wanted), default=0))
