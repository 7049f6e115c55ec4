"""When a context is too large.

To add a trigger: a `TriggerPart` with a method `threshold`, its name in `AnyTrigger`, its tests, its docs.
"""

from __future__ import annotations

from typing import Annotated, Final, Self

import msgspec

from compaction.part import Count, Limits, PolicyPart, Share


class TriggerPart(PolicyPart, frozen=True):
    """A trigger that a policy names; its method `threshold` gives the largest context that is still small enough.

    What a person may set of triggers of any sort is asked of each of them.
    """

    def threshold(self, limits: Limits) -> int:
        """Return the largest context that is still small enough, in tokens."""
        raise NotImplementedError

    def fires(self, size: int, limits: Limits) -> bool:
        """Return True if a context of so many tokens is too large."""
        return size > self.threshold(limits)

    def leaves_nothing(self, limits: Limits) -> bool:
        """Return True if every context is too large."""
        return self.threshold(limits) <= 0

    def firing_at(self, tokens: int, percent: int) -> Self | None:
        """Return the same trigger with this threshold, in percent of the window if `tokens` are 0 or less.

        None for one that decides otherwise.
        """
        del tokens, percent
        return None

    def reserving(self, tokens: int) -> Self:
        """Return the same trigger with so many tokens of the window that stay free, if it heeds them."""
        del tokens
        return self


DEFAULT_RESERVE: Final = 16_384
"""Tokens that pi and oh-my-pi keep free for an answer."""
_SMALL_WINDOW_SHARE: Final = 0.15


class Threshold(TriggerPart, frozen=True, tag="threshold"):
    """A context is too large when it is over the window less what has to stay free; `inclusive`: or just as large.

    Free stays the larger of `reserve` tokens and `share` of the window, with the model's longest answer, of
    which at most `output` counts, and a `margin`. `tokens` (if over 0), else `percent` of the window (if over
    0; at most 99), say the threshold in place of all that. A reserve that nobody chose and that leaves less than 15 %
    of a small window is itself 15 % of it; with `gives_way`, so is all that would stay free. A threshold is at least 1.
    """

    reserve: Count | None = None
    share: Share = 0.0
    output: Count = 0
    margin: Count = 0
    gives_way: bool = False
    inclusive: bool = False
    tokens: Annotated[int, msgspec.Meta(ge=-1)] = -1
    percent: Annotated[int, msgspec.Meta(ge=-1)] = -1

    def threshold(self, limits: Limits) -> int:
        """Return the largest context that is still small enough; `inclusive`, the smallest that is too large."""
        window = limits.window
        if self.tokens > 0:
            return max(min(self.tokens, window - 1), 1)
        if self.percent > 0:
            return max(window * min(self.percent, 99) // 100, 1)
        return max(min(window - self._free(limits), window - 1), 1)

    def leaves_nothing(self, limits: Limits) -> bool:
        """Return True if so much has to stay free that every context is too large."""
        return max(self.tokens, self.percent) <= 0 and self._free(limits) >= limits.window

    def fires(self, size: int, limits: Limits) -> bool:
        """Return True if a context of so many tokens is too large."""
        threshold = self.threshold(limits)
        return size >= threshold if self.inclusive else size > threshold

    def firing_at(self, tokens: int, percent: int) -> Self:
        return msgspec.structs.replace(self, tokens=tokens, percent=percent)

    def reserving(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, reserve=tokens, gives_way=False)

    def _free(self, limits: Limits) -> int:
        """Tokens that have to stay free."""
        window, reserve = limits.window, self.reserve
        small = int(window * _SMALL_WINDOW_SHARE)
        if reserve is None:
            reserve = DEFAULT_RESERVE if window - DEFAULT_RESERVE >= small else small
        free = max(int(window * self.share), reserve) + min(limits.output, self.output) + self.margin
        return small if self.gives_way and window - free < small else free


AnyTrigger = Threshold
"""The triggers that a policy can name."""
