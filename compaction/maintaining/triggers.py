"""What each call of a harness is a case for: a reason to make the context smaller, or nothing."""

from __future__ import annotations

from typing import Final

import msgspec

from compaction.change import Reason
from compaction.maintaining.compact_tool import Asked
from compaction.maintaining.settings import Settings
from compaction.part import Limits
from compaction.summarizers.too_long import says_too_long
from compaction.trigger import Trigger
from projections.usage import CUT_OFF, FAILED


class Skip(msgspec.Struct, frozen=True):
    """Nothing is done, for this reason."""

    reason: str


_OFF: Final = Skip("automatic compaction is off")


def before_request(settings: Settings) -> Reason | Skip:
    """Before each request the threshold is looked at."""
    return "threshold" if settings.is_automatic else _OFF


def after_turn(*, stop: str, is_of_model: bool, asked: Asked | None, settings: Settings) -> Reason | Skip:
    """After an answer that ended for the reason `stop`, "" without one.

    One that failed or was aborted is no turn. One that was cut off for its length is recovered, if it is of the
    model in use: of another it says nothing. A model may ask for a compaction by its tool, also where the
    automatic ones are off.
    """
    if stop in FAILED:
        return Skip("the answer failed or was aborted")
    if stop == CUT_OFF and is_of_model:
        return "incomplete" if settings.is_automatic else _OFF
    if asked is not None:
        waits = Skip("a compaction is asked for, once the other calls have their results")
        return "tool" if asked.is_last else waits
    return before_request(settings)


def on_error(error: str, *, is_stale: bool, is_of_model: bool, settings: Settings) -> Reason | Skip:
    """After a refusal; `is_stale`: the session has been compacted since. Of another model it says nothing."""
    if not says_too_long(error):
        return Skip("the error says nothing of the context's length")
    if not settings.is_automatic:
        return _OFF
    if is_stale:
        return Skip("the error is older than the newest compaction")
    return "overflow" if is_of_model else Skip("the error is of another model")


def on_idle(seconds: float, settings: Settings) -> Reason | Skip:
    """While nothing happens, for so many seconds by now."""
    if not settings.idle_enabled or not settings.is_automatic:
        return Skip("idle compaction is off")
    if seconds < settings.idle_timeout_seconds:
        return Skip(f"idle for less than {settings.idle_timeout_seconds} seconds")
    return "idle"


def is_too_large(
    reason: Reason, tokens: int, *, trigger: Trigger, limits: Limits, settings: Settings
) -> bool:
    """Whether a context is to be made smaller: an idle one has a threshold of its own, others the policy's."""
    if reason == "idle":
        return tokens > settings.idle_threshold_tokens
    return trigger.fires(tokens, limits)
