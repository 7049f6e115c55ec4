"""Execute an action for a context that is too large, log it, and recommend the next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import msgspec

from compaction.branching.handoff import hand_off
from compaction.branching.move import move_to
from compaction.compactor import CompactionResult, Compactor, PreparedCompaction
from compaction.continuations import CONTINUATIONS
from compaction.maintainer.decisions import (
    IN_A_ROW,
    HookCall,
    failure_history,
    must_open_circuit,
    open_circuit_message,
)
from compaction.maintainer.rules import Action, GiveUp, failure_message, is_continued, is_recovery
from compaction.maintainer.settings import Promotion, Settings
from compaction.part import Reason
from compaction.plan import WENT_ON, has_new_messages
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.chain import attempt_ids
from compaction.summary import SummaryOptions
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.records import DecisionOutcome
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.cursor import Leaf, resolve_cursor
from projections.usage import ContextSize

NextStep = Literal["nothing", "retry", "switch-model", "continue"]


class Recommendation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A recommendation to a harness; its events are already appended.

    `do` says to do nothing, to retry the request, to switch to `model`, or to send a request now, because a
    continuation message was appended. `session` is a new session to continue in, now or with the next
    message. `history_rewritten` means that the context no longer extends the previous one, so that provider
    sessions which hold the old prefix must be closed. `events` are the ids of the appended events. `reason`
    explains the recommendation, `error` what went wrong, `warning` why the context is still too large.
    """

    do: NextStep = "nothing"
    reason: str = ""
    history_rewritten: bool = False
    model: str | None = None
    session: str | None = None
    events: list[str] = []
    tokens: int | None = None
    error: str | None = None
    warning: str | None = None


def with_earlier_events(
    events: Sequence[str], recommendation: Recommendation, *, rewritten: bool = False
) -> Recommendation:
    """Add earlier events to a recommendation; `rewritten` means that they rewrote the history."""
    return msgspec.structs.replace(
        recommendation,
        events=[*events, *recommendation.events],
        history_rewritten=recommendation.history_rewritten or rewritten,
    )


_NOTHING_CAME: Final = (SummarizerError, BadInputError, NotFoundError, VersionConflictError)
"""Errors after which no compaction results.

They are failed requests, missing templates, invalid tools, a new session that already exists, and constant
appends by others.
"""


class Actions(msgspec.Struct, frozen=True, kw_only=True):
    """The actions that can make room, for one hook call, one reason and one context size.

    `options` include what the harness sends before its messages. `leaf` is the session's leaf without failed
    answers, None if there are none; `since` is the session's version at that time. `new_session` returns a
    writer of a session to hand off to, None to disallow handoffs. `left_too_large` counts recent compactions
    in a row after which the next was due at once.
    """

    hook_call: HookCall
    compactor: Compactor
    settings: Settings
    reason: Reason
    size: ContextSize
    options: SummaryOptions
    leaf: Leaf = None
    since: int = 0
    new_session: Callable[[], SessionWriter] | None = None
    left_too_large: int = 0

    def take(self, remedy: Action | GiveUp) -> Recommendation:
        """Execute the chosen action; if a handoff yields no document, compact."""
        if isinstance(remedy, GiveUp):
            return self._give_up(remedy.why)
        if remedy == "switch-model" and self.settings.promotion is not None:
            return self._switch_model(self.settings.promotion)
        if remedy == "hand-off" and self.new_session is not None:
            return self._hand_off(self.new_session)
        return self._compact()

    def _switch_model(self, larger: Promotion) -> Recommendation:
        """Switch to a larger model, without the failed answers."""
        why = f"{larger.model} has room for the context"
        left = retry_on_conflict(self._leave_failed_answers)
        recommendation = Recommendation(
            do="switch-model",
            reason=why,
            model=larger.model,
            events=self._log_decision(DecisionOutcome.PROMOTED, why),
            tokens=self.size.tokens,
        )
        return with_earlier_events(left, recommendation, rewritten=bool(left))

    def _leave_failed_answers(self) -> list[str]:
        """Move to before the failed answers, unless others have continued from there."""
        writer = self.hook_call.writer
        if self.leaf is None:
            return []
        with writer.log.snapshot() as snapshot:
            version = snapshot.head(writer.session).version
            if has_new_messages(
                snapshot, resolve_cursor(snapshot, writer.session, leaf=self.leaf), self.since
            ):
                return []
        return [move_to(writer, self.leaf, expected=version)]

    def _hand_off(self, new_session: Callable[[], SessionWriter]) -> Recommendation:
        """Start a new session instead of compacting; compact if that fails."""
        compactor = self.compactor
        try:
            done = hand_off(
                self.hook_call.writer,
                new_session(),
                compactor.chain,
                system=self.options.system,
                tools=self.options.tools,
                sources=compactor.sources,
                reserve=compactor.policy.prompting.reserve,
                leaf=self.leaf,
            )
        except CancelledError as error:
            return self._interrupted(error)
        except _NOTHING_CAME as error:
            return with_earlier_events(attempt_ids(error), self._compact())
        events = self._log_decision(DecisionOutcome.HANDED_OFF, f"to session {done.session}")
        return Recommendation(
            do="nothing" if self.reason == "idle" else "continue",
            reason=DecisionOutcome.HANDED_OFF,
            session=done.session,
            events=events,
            tokens=self.size.tokens,
        )

    def _compact(self) -> Recommendation:
        """Compact; log if hooks cancelled it or nothing was done."""
        reason, compactor = self.reason, self.compactor
        prepared = compactor.prepare(
            self.hook_call.writer,
            reason=reason,
            options=self.options,
            cut=compactor.policy.recovery if reason == "overflow" else None,
            leaf=self.leaf,
            since=self.since if self.leaf is not None else None,
        )
        if isinstance(prepared, CompactionResult):
            return self._nothing_to_do(prepared.reason)
        logged = [
            event
            for error in prepared.hook_errors
            for event in self.hook_call.log_decision_once(DecisionOutcome.HOOK_FAILED, error)
        ]
        if prepared.cancel_reason is not None:
            return with_earlier_events(logged, self._cancelled(prepared.cancel_reason))
        return with_earlier_events(logged, self._execute(prepared))

    def _execute(self, prepared: PreparedCompaction) -> Recommendation:
        follows = CONTINUATIONS[self.compactor.policy.continuation]
        triggered = self._log_decision(DecisionOutcome.TRIGGERED, self.reason)
        try:
            done = self.compactor.execute(
                self.hook_call.writer,
                prepared,
                continues=is_continued(self.reason, self.hook_call.hook, follows, self.settings),
            )
        except CancelledError as error:
            recommendation = self._interrupted(error)
        except _NOTHING_CAME as error:
            recommendation = with_earlier_events(attempt_ids(error), self._failed(str(error)))
        else:
            recommendation = self._report(done)
        return with_earlier_events(triggered, recommendation)

    def _give_up(self, why: str) -> Recommendation:
        """Try nothing; report an error if the harness waits for a recovery."""
        return with_earlier_events(self._open_circuit_if_due(), self._skip(why))

    def _report(self, done: CompactionResult) -> Recommendation:
        if done.outcome == "nothing":
            return with_earlier_events(done.decisions, self._stale(done.reason))
        if done.outcome == "no-gain":
            events = [*done.decisions, *self._open_circuit_if_due()]
            return Recommendation(
                reason=done.reason, error=self._error(done.reason), events=events, tokens=self.size.tokens
            )
        warned: list[str] = []
        if done.warning:
            numbers = {"tokensAfter": done.tokens_after, "tokensKept": done.tokens_kept}
            numbers |= {IN_A_ROW: self.left_too_large + 1}
            warned = self._log_decision(DecisionOutcome.STILL_TOO_LARGE, done.warning, **numbers)
        goes_on = done.continued is not None and done.continued.record is not None
        return Recommendation(
            do="retry" if is_recovery(self.reason) else "continue" if goes_on else "nothing",
            reason=self.reason,
            history_rewritten=True,
            events=[*done.decisions, *done.events, *warned],
            tokens=done.tokens_after,
            warning=done.warning or None,
        )

    def _nothing_to_do(self, why: str) -> Recommendation:
        """Skip, or fail if this is a recovery, which needs something to summarize."""
        return self._failed(why) if is_recovery(self.reason) else self._skip(why)

    def _stale(self, why: str) -> Recommendation:
        """Skip after others' appends made the compaction obsolete; this is no failure."""
        events = self.hook_call.log_decision_once(DecisionOutcome.SKIPPED, why)
        return Recommendation(
            do="retry" if is_recovery(self.reason) else "nothing",
            reason=why,
            history_rewritten=why != WENT_ON,
            events=events,
        )

    def _skip(self, why: str) -> Recommendation:
        events = self.hook_call.log_decision_once(DecisionOutcome.SKIPPED, why)
        return Recommendation(reason=why, events=events, tokens=self.size.tokens, error=self._error(why))

    def _interrupted(self, error: CancelledError) -> Recommendation:
        """Report that a person cancelled the action."""
        message = failure_message(self.reason, str(error))
        return with_earlier_events(
            attempt_ids(error), msgspec.structs.replace(self._cancelled(str(error)), error=message)
        )

    def _cancelled(self, why: str) -> Recommendation:
        """Log the cancellation, which is no failure."""
        events = self.hook_call.log_decision_once(DecisionOutcome.CANCELLED, why, **self._numbers)
        return Recommendation(reason=why, error=self._error(why), events=events, tokens=self.size.tokens)

    def _failed(self, problem: str) -> Recommendation:
        message = failure_message(self.reason, problem)
        events = [*self._log_decision(DecisionOutcome.FAILED, message), *self._open_circuit_if_due()]
        return Recommendation(reason=self.reason, error=message, events=events, tokens=self.size.tokens)

    def _error(self, why: str) -> str | None:
        """Return an error message if the harness waits for a recovery, None otherwise."""
        return failure_message(self.reason, why) if is_recovery(self.reason) else None

    def _open_circuit_if_due(self) -> list[str]:
        """Log that the circuit is open once it opens."""
        writer = self.hook_call.writer
        with writer.log.snapshot() as snapshot:
            so_far = failure_history(snapshot, writer.session, snapshot.head(writer.session).leaf)
        if not must_open_circuit(so_far, self.settings.most_failures):
            return []
        return self._log_decision(DecisionOutcome.CIRCUIT_OPEN, open_circuit_message(so_far.failures))

    def _log_decision(self, outcome: DecisionOutcome, why: str, **more: Any) -> list[str]:
        return self.hook_call.log_decision(outcome, why, **self._numbers, **more)

    @property
    def _numbers(self) -> dict[str, Any]:
        numbers: dict[str, Any] = msgspec.to_builtins(self.size)
        threshold = self.compactor.policy.trigger.threshold(self.compactor.limits)
        return {**numbers, "threshold": threshold}
