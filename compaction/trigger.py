"""When a context is too large."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from compaction.part import Count, Limits, PolicyPart, Share

DEFAULT_RESERVE: Final = 16_384
"""Tokens that pi and oh-my-pi keep free for an answer."""
_SMALL_WINDOW_SHARE: Final = 0.15


class Trigger(PolicyPart, frozen=True, tag="threshold"):
    """A context is too large when it is over the window less what has to stay free; `inclusive`: or just as large.

    Free stays the larger of `reserve` tokens and `share` of the window, with the model's longest answer, of
    which at most `output` counts, and a `margin`. `tokens` (if over 0), else `percent` of the window (if over
    0; at most 99), say the threshold in place of all that. A reserve that nobody chose and that leaves a small window
    nothing is 15 % of it. A threshold is at least 1.
    """

    reserve: Count | None = None
    share: Share = 0.0
    output: Count = 0
    margin: Count = 0
    inclusive: bool = False
    tokens: Annotated[int, msgspec.Meta(ge=-1)] = -1
    percent: Annotated[int, msgspec.Meta(ge=-1)] = -1

    def threshold(self, limits: Limits) -> int:
        """The largest context that is still small enough; `inclusive`, the smallest that is too large."""
        return max(self._threshold(limits), 1)

    def _threshold(self, limits: Limits) -> int:
        window = limits.window
        if self.tokens > 0:
            return min(max(self.tokens, 1), window - 1)
        if self.percent > 0:
            return window * min(max(self.percent, 1), 99) // 100
        reserve = self.reserve
        if reserve is None:
            small = int(window * _SMALL_WINDOW_SHARE)
            reserve = DEFAULT_RESERVE if window > DEFAULT_RESERVE else small
        free = max(int(window * self.share), reserve) + min(limits.output, self.output) + self.margin
        return min(window - free, window - 1)

    def fires(self, size: int, limits: Limits) -> bool:
        """Whether a context of so many tokens is too large."""
        threshold = self.threshold(limits)
        return size >= threshold if self.inclusive else size > threshold
