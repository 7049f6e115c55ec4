"""Keeping the newest turns."""

from __future__ import annotations

from itertools import accumulate
from typing import Self

import msgspec

from compaction.cuts.cut import Cut, CutPart, cut_at
from compaction.cuts.window import Window
from compaction.part import Count, Limits, Positive, Share


class TailTurn(CutPart, frozen=True, tag="tail-turn"):
    """Keep at most the last `turns` turns, as many as fit a share of what the model can use.

    The budget is `share` of the window less `reserved`, at least `least` and at most `most` tokens: opencode's
    rule. The first turn that does not fit is parted at a group; its first message goes into the summary word
    for word. So does the person's newest order where none is kept, as where shell commands and extensions'
    messages came after it, unless it alone is over the budget. The newest group is kept in any case; where it
    alone is over the budget, its largest results and shell outputs are shown shorter.
    """

    turns: Positive = 2
    share: Share = 0.25
    least: Count = 2_000
    most: Count = 8_000
    reserved: Count = 20_000

    def budget(self, limits: Limits) -> int:
        """Tokens that the tail may have."""
        usable = max(limits.window - self.reserved, 0)
        return min(max(int(usable * self.share), self.least), self.most)

    def most_kept(self, limits: Limits) -> int:
        return self.budget(limits)

    def reserving(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, reserved=tokens)

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """The cut of a window; None: nothing to summarize."""
        items = window.items
        places = [place for place, item in enumerate(items) if item.may_start]
        if window.is_compacted or not places:
            return None
        behind = list(accumulate(item.tokens for item in reversed(items)))[::-1]
        starts = [place for place in places if items[place].starts_turn][-self.turns :] or [0]
        budget = self.budget(limits)
        whole = [start for start in starts if behind[start] <= budget]
        if len(whole) == len(starts):
            return _in_sight(window, cut_at(window, starts[0]), budget)
        parted = starts[-len(whole) - 1]
        inside = [place for place in places if place > parted and behind[place] <= budget]
        place = min(inside, default=places[-1])
        cut = cut_at(window, place)
        over = budget if behind[place] > budget else None
        return _in_sight(window, cut and msgspec.structs.replace(cut, shrinks_to=over), budget)


def _in_sight(window: Window, cut: Cut | None, budget: int) -> Cut | None:
    """Quote the message that began a parted turn, and the person's newest order if none is kept."""
    if cut is None:
        return None
    orders = [item for item in window.items if item.role == "user" and item.starts_turn]
    gone = [item.id for item in orders[-1:] if item.id not in cut.kept and item.tokens <= budget]
    quoted = dict.fromkeys([*gone, *cut.turn_prefix[:1]])
    return msgspec.structs.replace(cut, quoted=list(quoted))
