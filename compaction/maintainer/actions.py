"""Carry out what is done about a context that is too large, put it down, and advise the harness."""

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
from compaction.maintainer.rules import Action, GiveUp, continues, failure_message, is_recovery
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
    """Recommendation to a harness; what belongs to it in the log is appended already.

    `do`: nothing; send the request again; go on with `model`; or send a request right away, for the message
    that goes on is in the log. `session`: go on in that one, which has been begun, right away or with what comes
    next. `history_rewritten`: the context is not what it was with something more behind it, so that provider
    sessions which hold the old prefix have to be closed. `events` are the ids of what was appended, `reason` says
    why, `error` what went wrong, `warning` that the context is too large still, and why.
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
    """Recommendation with what was appended before it; `rewritten`: that made the context another."""
    return msgspec.structs.replace(
        recommendation,
        events=[*events, *recommendation.events],
        history_rewritten=recommendation.history_rewritten or rewritten,
    )


_NOTHING_CAME: Final = (SummarizerError, BadInputError, NotFoundError, VersionConflictError)
"""What is raised where nothing came of asking: also for a template that is not there, tools that are none, a new
session that somebody else has begun, and a session to which others append all the time."""


class Actions(msgspec.Struct, frozen=True, kw_only=True):
    """The ways to make room on one occasion, for one reason, in a context of this size.

    `wishes` have what the harness sends before its messages. `leaf` is where the session stands without answers that
    failed, None where there are none, and `since` its version by which that was found. `new_session` gives a writer
    of a session to hand off to, None: there is none to be. `left_too_large` are the compactions in a row, until now,
    after which the next was due at once.
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
        """Do what was decided on; where a handoff comes to no document, compact."""
        if isinstance(remedy, GiveUp):
            return self._give_up(remedy.why)
        if remedy == "switch-model" and self.settings.promotion is not None:
            return self._switch_model(self.settings.promotion)
        if remedy == "hand-off" and self.new_session is not None:
            return self._hand_off(self.new_session)
        return self._compact()

    def _switch_model(self, larger: Promotion) -> Recommendation:
        """Go on with a larger model, without the answers that failed."""
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
        """Move to before the answers that failed, unless somebody has gone on from there since."""
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
        """Begin a new session instead of compacting; compact if that fails. An idle session waits there."""
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
        """Compact; record that hooks cancelled it, or that nothing came of it."""
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
        troubles = [
            event
            for said in prepared.troubles
            for event in self.hook_call.log_decision_once(DecisionOutcome.HOOK_FAILED, said)
        ]
        if prepared.cancel_reason is not None:
            return with_earlier_events(troubles, self._cancelled(prepared.cancel_reason))
        return with_earlier_events(troubles, self._execute(prepared))

    def _execute(self, prepared: PreparedCompaction) -> Recommendation:
        follows = CONTINUATIONS[self.compactor.policy.continuation]
        triggered = self._log_decision(DecisionOutcome.TRIGGERED, self.reason)
        try:
            done = self.compactor.execute(
                self.hook_call.writer,
                prepared,
                continues=continues(self.reason, self.hook_call.hook, follows, self.settings),
            )
        except CancelledError as error:
            recommendation = self._interrupted(error)
        except _NOTHING_CAME as error:
            recommendation = with_earlier_events(attempt_ids(error), self._failed(str(error)))
        else:
            recommendation = self._report(done)
        return with_earlier_events(triggered, recommendation)

    def _give_up(self, why: str) -> Recommendation:
        """Try nothing; tell who waits for a recovery that there is none."""
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
        """Skip, or fail if this is a recovery: then there should have been something to summarize."""
        return self._failed(why) if is_recovery(self.reason) else self._skip(why)

    def _stale(self, why: str) -> Recommendation:
        """Skip what others' appends left nothing to do for: no failure, and a request is for what there is now."""
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
        """Called off by a person, who is told so."""
        said = failure_message(self.reason, str(error))
        return with_earlier_events(
            attempt_ids(error), msgspec.structs.replace(self._cancelled(str(error)), error=said)
        )

    def _cancelled(self, why: str) -> Recommendation:
        """Called off: that is no failure."""
        events = self.hook_call.log_decision_once(DecisionOutcome.CANCELLED, why, **self._numbers)
        return Recommendation(reason=why, error=self._error(why), events=events, tokens=self.size.tokens)

    def _failed(self, problem: str) -> Recommendation:
        said = failure_message(self.reason, problem)
        events = [*self._log_decision(DecisionOutcome.FAILED, said), *self._open_circuit_if_due()]
        return Recommendation(reason=self.reason, error=said, events=events, tokens=self.size.tokens)

    def _error(self, why: str) -> str | None:
        """Return what is told as an error of what is none in the log: only who waits for a recovery has to hear it."""
        return failure_message(self.reason, why) if is_recovery(self.reason) else None

    def _open_circuit_if_due(self) -> list[str]:
        """Put down that the circuit is open, once it is."""
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
