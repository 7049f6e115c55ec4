"""Name the outcomes of decisions."""

from __future__ import annotations

from enum import StrEnum


class DecisionOutcome(StrEnum):
    """The outcome of a decision."""

    TRIGGERED = "triggered"
    PROMOTED = "promoted"
    HANDED_OFF = "handed off"
    SKIPPED = "skipped"
    NOTHING = "nothing"
    CANCELLED = "cancelled"
    NO_GAIN = "no-gain"
    STILL_TOO_LARGE = "still too large"
    FAILED = "failed"
    CIRCUIT_OPEN = "circuit open"
    HOOK_FAILED = "hook failed"
