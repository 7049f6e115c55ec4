"""Taking a measure against a context that is too large, and putting down what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from compaction.change import Reason
from compaction.compactor import Compacted, Compactor
from compaction.handoff import hand_off
from compaction.maintaining.advice import Advice, after
from compaction.maintaining.asked_first import asked_first
from compaction.maintaining.circuit import open_for, opens
from compaction.maintaining.decisions import (
    CANCELLED,
    CIRCUIT_OPEN,
    FAILED,
    HANDED_OFF,
    HOOK_FAILED,
    PROMOTED,
    SKIPPED,
    TRIGGERED,
    Occasion,
    past,
)
from compaction.maintaining.recovery import failure_message, is_recovery
from compaction.maintaining.settings import Promotion
from compaction.navigation.navigate import move_to
from compaction.summaries.summary import Wishes
from compaction.summarizers import CancelledError, SummarizerError
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.frame import header_of
from eventstore.writing import SessionWriter
from projections.context_size import ContextSize
from projections.harness_prompt import HarnessPrompt
from projections.standpoint import Leaf

_NO_SUMMARY: Final = (SummarizerError, BadInputError, NotFoundError)
"""What is raised where none came of asking: also for a template that is not there, and tools that are none."""


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """What may be done on one occasion, for one reason, about a context of this size.

    `leaf` is where the session stands without answers that failed, None where there are none; `failures` in a
    row open the circuit. `sent_before` is what the harness sends before its messages.
    """

    occasion: Occasion
    compactor: Compactor
    reason: Reason
    size: ContextSize
    leaf: Leaf
    failures: int
    sent_before: HarnessPrompt

    def switch_model(self, larger: Promotion) -> Advice:
        """Go on with a larger model, without the answers that failed."""
        why = f"{larger.model} has room for the context"
        events = self._put_down(PROMOTED, why)
        advice = Advice(
            do="switch-model", reason=why, model=larger.model, events=events, tokens=self.size.tokens
        )
        if self.leaf is None:
            return advice
        return after([move_to(self.occasion.writer, self.leaf)], advice, rewritten=True)

    def hand_off(self, new_session: Callable[[], SessionWriter]) -> Advice | None:
        """A new session in place of a compaction; None where no document came of it."""
        compactor = self.compactor
        try:
            done = hand_off(
                self.occasion.writer,
                new_session(),
                compactor.asker,
                system=self.sent_before.system,
                tools=self.sent_before.tools,
                sources=compactor.sources,
                reserve=compactor.policy.prompting.reserve,
                leaf=self.leaf,
            )
        except CancelledError as error:
            return self._interrupted(error)
        except (*_NO_SUMMARY, VersionConflictError):
            return None
        events = self._put_down(HANDED_OFF, f"to session {done.session}")
        return Advice(
            do="continue",
            reason=HANDED_OFF,
            session=done.session,
            events=events,
            tokens=self.size.tokens,
        )

    def compact(self, wishes: Wishes, *, continues: bool) -> Advice:
        """A compaction; where the hooks call it off, or nothing comes of it, that is put down."""
        writer, reason = self.occasion.writer, self.reason
        cut = self.compactor.policy.recovery if reason == "overflow" else None
        with writer.log.snapshot() as snapshot:
            plan = self.compactor.plan(snapshot, writer.session, leaf=self.leaf, cut=cut)
        if plan is None:
            return self._nothing_to_do("nothing to summarize")
        asked = asked_first(self.compactor, plan)
        troubles = [
            event for said in asked.troubles for event in self.occasion.put_down_once(HOOK_FAILED, said)
        ]
        if asked.called_off is not None:
            return after(troubles, self._called_off(asked.called_off))
        try:
            done = asked.compactor.compact(
                writer,
                reason=reason,
                wishes=wishes,
                cut=cut,
                leaf=self.leaf,
                continues=continues,
                decision=self.occasion.decision(TRIGGERED, reason, **self._numbers),
            )
        except CancelledError as error:
            return after(troubles, self._interrupted(error))
        except _NO_SUMMARY as error:
            return after(troubles, self._failed(str(error)))
        return after(troubles, self._come_of(done))

    def give_up(self, why: str) -> Advice:
        """Nothing is tried; who waits for a recovery learns that there is none."""
        return after(self._opened(), self._skipped(why))

    def _come_of(self, done: Compacted) -> Advice:
        if done.outcome == "nothing":
            since = done.plan.version if done.plan is not None else None
            is_theirs = since is not None and self._is_compacted(since)
            advice = self._overtaken(done.reason) if is_theirs else self._nothing_to_do(done.reason)
            return after(done.decisions, advice)
        if done.outcome == "cancelled":
            return after(done.decisions, self._called_off(done.reason))
        if done.outcome == "no-gain":
            events = [*done.decisions, *self._opened()]
            return Advice(
                reason=done.reason, error=self._error(done.reason), events=events, tokens=self.size.tokens
            )
        goes_on = done.continued is not None and done.continued.record is not None
        return Advice(
            do="retry" if is_recovery(self.reason) else "continue" if goes_on else "nothing",
            reason=self.reason,
            history_rewritten=True,
            events=[*done.decisions, *done.events],
            tokens=done.tokens_after,
        )

    def _nothing_to_do(self, why: str) -> Advice:
        """Where a recovery has nothing to summarize, it has failed."""
        return self._failed(why) if is_recovery(self.reason) else self._skipped(why)

    def _overtaken(self, why: str) -> Advice:
        """Somebody else has compacted: there is room, though not by us."""
        events = self.occasion.put_down_once(SKIPPED, why)
        return Advice(
            do="retry" if is_recovery(self.reason) else "nothing",
            reason=why,
            history_rewritten=True,
            events=events,
        )

    def _is_compacted(self, since: int) -> bool:
        """Whether the session stands below a compaction that came after a version."""
        writer = self.occasion.writer
        with writer.log.snapshot() as snapshot:
            leaf = snapshot.head(writer.session).leaf
            return header_of(snapshot.frame(writer.session, leaf)).compaction_seq > since

    def _skipped(self, why: str) -> Advice:
        events = self.occasion.put_down_once(SKIPPED, why)
        return Advice(reason=why, events=events, tokens=self.size.tokens, error=self._error(why))

    def _interrupted(self, error: CancelledError) -> Advice:
        """Called off by a person, who is told so."""
        said = failure_message(self.reason, str(error))
        return msgspec.structs.replace(self._called_off(str(error)), error=said)

    def _called_off(self, why: str) -> Advice:
        """Called off: that is no failure."""
        events = self.occasion.put_down_once(CANCELLED, why, **self._numbers)
        return Advice(reason=why, error=self._error(why), events=events, tokens=self.size.tokens)

    def _failed(self, problem: str) -> Advice:
        said = failure_message(self.reason, problem)
        events = [*self._put_down(FAILED, said), *self._opened()]
        return Advice(reason=self.reason, error=said, events=events, tokens=self.size.tokens)

    def _error(self, why: str) -> str | None:
        """What is told as an error of what is none in the log: only who waits for a recovery has to hear it."""
        return failure_message(self.reason, why) if is_recovery(self.reason) else None

    def _opened(self) -> list[str]:
        """Put down that the circuit is open, once it is."""
        writer = self.occasion.writer
        with writer.log.snapshot() as snapshot:
            so_far = past(snapshot, writer.session, snapshot.head(writer.session).leaf)
        if not opens(so_far, self.failures):
            return []
        return self._put_down(CIRCUIT_OPEN, open_for(so_far.failures))

    def _put_down(self, outcome: str, why: str) -> list[str]:
        return self.occasion.put_down(outcome, why, **self._numbers)

    @property
    def _numbers(self) -> dict[str, Any]:
        numbers: dict[str, Any] = msgspec.to_builtins(self.size)
        threshold = self.compactor.policy.trigger.threshold(self.compactor.limits)
        return {**numbers, "threshold": threshold}
