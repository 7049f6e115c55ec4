"""Decide when a context is too large.

To add a trigger, write a `TriggerPart` with a method `threshold`, its name in `AnyTrigger`, tests and docs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Final, Self

import msgspec

from compaction.part import Count, Limits, PolicyPart, Share


class TriggerPart(PolicyPart, frozen=True):
    """The base class of triggers; a type checker reports one without `threshold`.

    Each trigger also answers to the settings that a person may apply to any trigger.
    """

    @abstractmethod
    def threshold(self, limits: Limits) -> int:
        """Return the largest context that is still small enough, in tokens."""

    def fires(self, size: int, limits: Limits) -> bool:
        """Return True if a context of `size` tokens is too large."""
        return size > self.threshold(limits)

    def leaves_nothing(self, limits: Limits) -> bool:
        """Return True if every context is too large."""
        return self.threshold(limits) <= 0

    def firing_at(self, tokens: int, percent: int) -> Self | None:
        """Return this trigger with another threshold, None if it decides otherwise.

        If `tokens` is 0 or less, the threshold is `percent` of the window.
        """
        del tokens, percent
        return None

    def reserving(self, tokens: int) -> Self:
        """Return this trigger with another number of reserved tokens, if it uses one."""
        del tokens
        return self


DEFAULT_RESERVE: Final = 16_384
"""Tokens that pi and oh-my-pi reserve for an answer."""
_SMALL_WINDOW_SHARE: Final = 0.15


class Threshold(TriggerPart, frozen=True, tag="threshold"):
    """Fire above the window less the reserved tokens; with `inclusive`, also at that size.

    Reserved are the larger of `reserve` tokens and `share` of the window, plus the model's longest answer, of
    which at most `output` counts, plus `margin`. `tokens` (if over 0), else `percent` of the window (if over
    0; at most 99), replaces all of that. A default reserve that leaves less than 15 % of a small window
    becomes 15 % of it; with `gives_way`, so does everything reserved. A threshold is at least 1.
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
        """Return the largest context that is small enough; if `inclusive`, the smallest too large."""
        window = limits.window
        if self.tokens > 0:
            return max(min(self.tokens, window - 1), 1)
        if self.percent > 0:
            return max(window * min(self.percent, 99) // 100, 1)
        return max(min(window - self._free(limits), window - 1), 1)

    def leaves_nothing(self, limits: Limits) -> bool:
        """Return True if the reserved tokens leave no room for any context."""
        return max(self.tokens, self.percent) <= 0 and self._free(limits) >= limits.window

    def fires(self, size: int, limits: Limits) -> bool:
        """Return True if a context of `size` tokens is too large."""
        threshold = self.threshold(limits)
        return size >= threshold if self.inclusive else size > threshold

    def firing_at(self, tokens: int, percent: int) -> Self:
        return msgspec.structs.replace(self, tokens=tokens, percent=percent)

    def reserving(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, reserve=tokens, gives_way=False)

    def _free(self, limits: Limits) -> int:
        """Return the number of reserved tokens."""
        window, reserve = limits.window, self.reserve
        small = int(window * _SMALL_WINDOW_SHARE)
        if reserve is None:
            reserve = DEFAULT_RESERVE if window - DEFAULT_RESERVE >= small else small
        free = max(int(window * self.share), reserve) + min(limits.output, self.output) + self.margin
        return small if self.gives_way and window - free < small else free


AnyTrigger = Threshold
"""The triggers that a policy can name."""
