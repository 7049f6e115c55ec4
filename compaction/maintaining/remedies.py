"""What is done about a context that is too large."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from compaction.change import Reason
from compaction.maintaining.circuit import Past, given_up
from compaction.maintaining.settings import Settings

Remedy = Literal["switch-model", "hand-off", "compact"]
_PROMOTED: Final[frozenset[Reason]] = frozenset({"overflow", "incomplete", "threshold", "idle"})
_HANDED_OFF: Final[frozenset[Reason]] = frozenset({"incomplete", "threshold"})


class GivenUp(msgspec.Struct, frozen=True):
    """Nothing is tried, for what is known to fail."""

    why: str


def remedy(
    reason: Reason, *, has_larger_model: bool, past: Past, settings: Settings, can_hand_off: bool
) -> Remedy | GivenUp:
    """A larger model, if there is one with room; then a handoff, if that is the strategy; else a compaction.

    Neither is tried where the circuit is open. After an overflow a handoff would send again what was too long;
    while nothing happens, and where the model asks for a compaction, nothing goes on elsewhere.
    """
    if has_larger_model and reason in _PROMOTED:
        return "switch-model"
    why = given_up(past, settings.failures)
    if why:
        return GivenUp(why)
    if settings.strategy == "handoff" and reason in _HANDED_OFF and can_hand_off:
        return "hand-off"
    return "compact"
