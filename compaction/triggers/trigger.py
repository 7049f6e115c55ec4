"""What is asked of triggers of any sort."""

from __future__ import annotations

from typing import Self

from compaction.part import Limits, PolicyPart


class TriggerPart(PolicyPart, frozen=True):
    """A trigger that a policy names; its method `threshold` gives the largest context that is still small enough.

    What a person may set of triggers of any sort is asked of each of them.
    """

    def threshold(self, limits: Limits) -> int:
        """The largest context that is still small enough, in tokens."""
        raise NotImplementedError

    def fires(self, size: int, limits: Limits) -> bool:
        """Whether a context of so many tokens is too large."""
        return size > self.threshold(limits)

    def leaves_nothing(self, limits: Limits) -> bool:
        """Whether every context is too large."""
        return self.threshold(limits) <= 0

    def firing_at(self, tokens: int, percent: int) -> Self | None:
        """The same trigger with this threshold, in percent of the window if `tokens` are 0 or less.

        None for one that decides otherwise.
        """
        del tokens, percent
        return None

    def reserving(self, tokens: int) -> Self:
        """The same trigger with so many tokens of the window that stay free, if it heeds them."""
        del tokens
        return self
