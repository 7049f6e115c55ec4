"""Keeping the newest messages that fit a budget."""

from __future__ import annotations

from itertools import accumulate
from typing import Self

import msgspec

from compaction.cuts.cut import Cut, CutPart, cut_at
from compaction.cuts.window import Window
from compaction.part import Limits, Positive


class KeepRecent(CutPart, frozen=True, tag="keep-recent"):
    """Keep about `tokens`, from the oldest place on where a cut is valid.

    The newest group is kept even if it alone is too large. So does oh-my-pi 18; unlike pi 0.73 it never lands
    behind the budget, and never keeps all of a window whose last message is too large. With `adapts` the
    budget follows what the provider measured, as oh-my-pi's does.
    """

    tokens: Positive = 20_000
    adapts: bool = False

    def why_all(self, window: Window) -> str:
        if window.tokens > self.tokens:
            return ""
        return f"all that is not summarized fits into the {self.tokens:,} tokens that are kept"

    def most_kept(self, limits: Limits) -> int:
        del limits
        return self.tokens

    def keeping(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, tokens=tokens)

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """The cut of a window; None: nothing to summarize."""
        del limits
        places = [place for place, item in enumerate(window.items) if item.may_start]
        if window.is_compacted or not places:
            return None
        budget = self.tokens
        if self.adapts and window.measured is not None:
            budget = adapted(budget, measured=window.measured, estimate=window.tokens)
        behind = list(accumulate(item.tokens for item in reversed(window.items)))[::-1]
        return cut_at(window, next((place for place in places if behind[place] <= budget), places[-1]))


def adapted(budget: int, *, measured: int, estimate: int) -> int:
    """A budget in the estimate's tokens, where the provider counts more than the estimate does.

    `measured` is what the provider counted as sent, `estimate` what the window is by the counter. oh-my-pi:
    the budget is divided by their ratio when that is over 1, and stays at least 1.
    """
    if estimate <= 0 or measured <= estimate:
        return budget
    return max(budget * estimate // measured, 1)
