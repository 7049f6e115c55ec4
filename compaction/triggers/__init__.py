"""When a context is too large.

Adding a trigger: a module with its part, a `TriggerPart` with a method `threshold`; its name in `AnyTrigger`; its
tests, its docs.
"""

from __future__ import annotations

from compaction.triggers.threshold import DEFAULT_RESERVE, Threshold
from compaction.triggers.trigger import TriggerPart

__all__ = ["DEFAULT_RESERVE", "AnyTrigger", "Threshold", "TriggerPart"]

AnyTrigger = Threshold
"""The triggers that a policy can name."""
