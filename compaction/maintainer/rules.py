"""Decide what a harness's call leads to, by pure functions: nothing is read or asked here."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from compaction.continuations import Continuation
from compaction.maintainer.answers import CompactToolCalls, SessionEnd, is_same_model
from compaction.maintainer.decisions import FailureHistory, HookName, reason_to_give_up
from compaction.maintainer.settings import Promotion, Settings
from compaction.part import Limits, Reason
from compaction.summarizers.refusals import is_context_overflow, single_line_message
from compaction.triggers import AnyTrigger
from projections.context.cursor import ROOT, Leaf
from projections.usage import CUT_OFF, FAILED

Action = Literal["switch-model", "hand-off", "compact"]
_PROMOTED: Final[frozenset[Reason]] = frozenset({"overflow", "incomplete", "threshold", "idle"})
_HANDED_OFF: Final[frozenset[Reason]] = frozenset({"incomplete", "threshold", "idle"})
_RECOVERIES_FAILED: Final[dict[Reason, str]] = {
    "overflow": "Context overflow recovery failed: ",
    "incomplete": "Incomplete response recovery failed: ",
}
_OTHERWISE_FAILED: Final = "Auto-compaction failed: "
_CHASES: Final[frozenset[Reason]] = frozenset({"threshold", "idle"})
_STOPPED: Final = "keep less or act later, and compact by hand to go on"


class Skip(msgspec.Struct, frozen=True):
    """A decision to do nothing, and why."""

    reason: str


OFF: Final = Skip("automatic compaction is off")
IDLE_OFF: Final = Skip("idle compaction is off")
NO_ANSWER: Final = Skip("the answer failed or was aborted")
WAITS: Final = Skip("a compaction is asked for, once the other calls have their results")
NOT_OF_LENGTH: Final = Skip("the error says nothing of the context's length")
OF_ANOTHER_MODEL: Final = Skip("the error is of another model")
SMALL_ENOUGH: Final = Skip("the context is small enough")


def before_request(settings: Settings) -> Reason | Skip:
    """Return the case of a request that is about to be sent: look at the threshold, if anything is automatic."""
    return "threshold" if settings.is_automatic else OFF


def after_turn(
    *, stop: str, is_of_model: bool, asked: CompactToolCalls | None, settings: Settings
) -> Reason | Skip:
    """Return the case of an answer that ended for the reason `stop`, "" without one.

    One that failed or was aborted is no turn. One that was cut off for its length is recovered, if it is of the
    model in use: of another it says nothing. A model may ask for a compaction by its tool, also where the
    automatic ones are off.
    """
    if stop in FAILED:
        return NO_ANSWER
    if stop == CUT_OFF and is_of_model:
        return "incomplete" if settings.is_automatic else OFF
    if asked is not None:
        return "tool" if asked.is_last else WAITS
    return before_request(settings)


def on_error(error: str, *, is_stale: bool, is_of_model: bool, settings: Settings) -> Reason | Skip:
    """Return the case of a refusal; `is_stale`: its failed answer is in the log, and a compaction after it.

    Of another model it says nothing.
    """
    if not is_context_overflow(error):
        return NOT_OF_LENGTH
    if not settings.is_automatic:
        return OFF
    if is_stale:
        return Skip(f"the error is older than the newest compaction: {single_line_message(error)}")
    return "overflow" if is_of_model else OF_ANOTHER_MODEL


def on_idle(seconds: float, settings: Settings) -> Reason | Skip:
    """Return the case of a session that has been idle for so many seconds."""
    if not settings.idle_enabled or not settings.is_automatic:
        return IDLE_OFF
    if seconds < settings.idle_timeout_seconds:
        return Skip(f"idle for less than {settings.idle_timeout_seconds} seconds")
    return "idle"


def is_too_large(
    reason: Reason, tokens: int, *, trigger: AnyTrigger, limits: Limits, settings: Settings
) -> bool:
    """Return True if a context is to be made smaller: an idle one has a threshold of its own, others the policy's."""
    if reason == "idle":
        return tokens > settings.idle_threshold_tokens
    return trigger.fires(tokens, limits)


class GiveUp(msgspec.Struct, frozen=True):
    """A decision to try nothing that is known to fail."""

    why: str


def choose_action(
    reason: Reason, *, has_larger_model: bool, history: FailureHistory, settings: Settings, can_hand_off: bool
) -> Action | GiveUp:
    """Choose a larger model, if there is one with room; then a handoff, if that is the strategy; else a compaction.

    Neither is tried where the circuit is open, or where compactions chase each other: as many in a row as may fail have
    each left the context too large, so that the next was due at once. A recovery is tried then all the same. After an
    overflow a handoff would send again what was too long; where the model asks for a compaction, nothing goes on
    elsewhere. Nor does it while calls are open (`can_hand_off`), whose results the new session would have no calls for.
    """
    if has_larger_model and reason in _PROMOTED:
        return "switch-model"
    why = reason_to_give_up(history, settings.most_failures)
    if why:
        return GiveUp(why)
    if reason in _CHASES and history.left_too_large >= settings.most_failures:
        return GiveUp(
            f"{history.left_too_large} compactions in a row have left the context too large: {_STOPPED}"
        )
    if settings.strategy == "handoff" and reason in _HANDED_OFF and can_hand_off:
        return "hand-off"
    return "compact"


def is_promoted(promotion: Promotion | None, *, tokens: int, trigger: AnyTrigger, in_use: str) -> bool:
    """Return True if a larger model is set, is not `in_use` (name, or provider/name), and has the room."""
    if promotion is None or trigger.fires(tokens, promotion.limits):
        return False
    return not is_same_model(promotion.model, in_use)


def continues(reason: Reason, hook: HookName, continuation: Continuation, settings: Settings) -> bool:
    """Return True if a policy's continuation follows a compaction, of which some do by themselves."""
    return settings.auto_continue and continuation.is_due(reason, is_after_turn=hook == "after_turn")


def is_recovery(reason: Reason) -> bool:
    """Return True if a harness waits with a request until there is room for it."""
    return reason in _RECOVERIES_FAILED


def failure_message(reason: Reason, problem: str) -> str:
    """Return what is said where a context did not get smaller, as oh-my-pi says it."""
    return _RECOVERIES_FAILED.get(reason, _OTHERWISE_FAILED) + problem


def leaf_without_failures(last: SessionEnd) -> Leaf:
    """Return the leaf of a session without failed answers at its end; None: the leaf as it is."""
    if not last.has_failed:
        return None
    return last.before.id if last.before is not None else ROOT
