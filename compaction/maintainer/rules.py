"""Decide by pure functions what a harness's call leads to."""

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
_AUTO_FAILED: Final = "Auto-compaction failed: "
_CHASES: Final[frozenset[Reason]] = frozenset({"threshold", "idle"})
_STOPPED: Final = "keep less or act later, and compact manually to continue"


class Skip(msgspec.Struct, frozen=True):
    """A decision to do nothing, with its reason."""

    reason: str


OFF: Final = Skip("automatic compaction is off")
IDLE_OFF: Final = Skip("idle compaction is off")
NO_ANSWER: Final = Skip("the answer failed or was aborted")
WAITS: Final = Skip("a compaction follows once the other calls have results")
NOT_OF_LENGTH: Final = Skip("the error is not about the context's length")
OF_ANOTHER_MODEL: Final = Skip("the error is of another model")
SMALL_ENOUGH: Final = Skip("the context is small enough")


def before_request(settings: Settings) -> Reason | Skip:
    """Return the case of a request about to be sent: the threshold, if automation is on."""
    return "threshold" if settings.is_automatic else OFF


def after_turn(
    *, stop: str, is_of_model: bool, asked: CompactToolCalls | None, settings: Settings
) -> Reason | Skip:
    """Return the case of an answer with the stop reason `stop`, "" without an answer.

    Skip an answer that failed or was aborted. Recover one that was cut off for its length, if it is by the
    model in use. A model may call the compact tool even if automatic compaction is off.
    """
    if stop in FAILED:
        return NO_ANSWER
    if stop == CUT_OFF and is_of_model:
        return "incomplete" if settings.is_automatic else OFF
    if asked is not None:
        return "tool" if asked.is_last else WAITS
    return before_request(settings)


def on_error(error: str, *, is_stale: bool, is_of_model: bool, settings: Settings) -> Reason | Skip:
    """Return the case of a refused request.

    `is_stale` means that a compaction follows its failed answer in the log. Skip an error of another model.
    """
    if not is_context_overflow(error):
        return NOT_OF_LENGTH
    if not settings.is_automatic:
        return OFF
    if is_stale:
        return Skip(f"the error is older than the newest compaction: {single_line_message(error)}")
    return "overflow" if is_of_model else OF_ANOTHER_MODEL


def on_idle(seconds: float, settings: Settings) -> Reason | Skip:
    """Return the case of a session that has been idle for `seconds` seconds."""
    if not settings.idle_enabled or not settings.is_automatic:
        return IDLE_OFF
    if seconds < settings.idle_timeout_seconds:
        return Skip(f"idle for less than {settings.idle_timeout_seconds} seconds")
    return "idle"


def is_too_large(
    reason: Reason, tokens: int, *, trigger: AnyTrigger, limits: Limits, settings: Settings
) -> bool:
    """Return True if a context should shrink, by the idle threshold or the policy's trigger."""
    if reason == "idle":
        return tokens > settings.idle_threshold_tokens
    return trigger.fires(tokens, limits)


class GiveUp(msgspec.Struct, frozen=True):
    """A decision to try nothing because it would fail again."""

    why: str


def choose_action(
    reason: Reason, *, has_larger_model: bool, history: FailureHistory, settings: Settings, can_hand_off: bool
) -> Action | GiveUp:
    """Choose a larger model, else a handoff if that is the strategy, else a compaction.

    Give up on the latter two if the circuit is open. Give up too, except for a recovery, if as many
    compactions in a row as may fail have left the context too large, because the next would be due at once.
    Do not hand off after an overflow, which would send the long request again, nor if the model asked for the
    compaction, nor while calls are open (`can_hand_off`), because the new session would not have the calls.
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
    """Return True if a larger model with room is configured and is not `in_use`.

    Models are given as name or provider/name.
    """
    if promotion is None or trigger.fires(tokens, promotion.limits):
        return False
    return not is_same_model(promotion.model, in_use)


def is_continued(reason: Reason, hook: HookName, continuation: Continuation, settings: Settings) -> bool:
    """Return True if a policy's continuation follows a compaction."""
    return settings.auto_continue and continuation.is_due(reason, is_after_turn=hook == "after_turn")


def is_recovery(reason: Reason) -> bool:
    """Return True if the harness waits to retry a request."""
    return reason in _RECOVERIES_FAILED


def failure_message(reason: Reason, problem: str) -> str:
    """Return the error message in oh-my-pi's words."""
    return _RECOVERIES_FAILED.get(reason, _AUTO_FAILED) + problem


def leaf_without_failures(last: SessionEnd) -> Leaf:
    """Return the leaf without failed answers at the end, None for the present leaf."""
    if not last.has_failed:
        return None
    return last.before.id if last.before is not None else ROOT
