"""One object that a harness calls before and after each turn, and that keeps its context small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from compaction.compactor import Compacted, Compactor, Reason
from compaction.context_size import ContextSize, context_size
from compaction.handoff import hand_off
from compaction.maintaining.answers import CUT_OFF, WENT_WRONG, newest
from compaction.maintaining.compact_tool import Asked, call_result, compact_call
from compaction.maintaining.decisions import (
    FAILED,
    NOTHING,
    Hook,
    Occasion,
    failures_in_a_row,
    gained_nothing_at,
)
from compaction.maintaining.overflow import is_overflow
from compaction.maintaining.settings import Settings
from compaction.navigation.navigate import move_to
from compaction.rewriting import record_rewrites
from compaction.summaries.summary import NO_WISHES, Wishes
from compaction.summarizers import CancelledError, SummarizerError
from eventstore.errors import VersionConflictError
from eventstore.records import Decision
from eventstore.writing import SessionWriter
from projections.context import build_context
from projections.settings import settings_at
from projections.standpoint import ROOT, Leaf, stand

Do = Literal["nothing", "retry", "switch-model", "continue"]
_FAILURE: Final[dict[str, str]] = {
    "overflow": "Context overflow recovery failed: ",
    "incomplete": "Incomplete response recovery failed: ",
}
_RECOVERIES: Final = frozenset(_FAILURE)


class Advice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a harness should do; what belongs to it in the log is appended already.

    `do`: nothing; send the request again; go on with `model`; or send a request right away, for the message
    that goes on is in the log. `session`: go on in that one, which has been begun. `history_rewritten`: the
    context is not what it was with something more behind it, so that provider sessions which hold the old
    prefix have to be closed. `events` are the ids of what was appended, `reason` says why, `error` what went
    wrong.
    """

    do: Do = "nothing"
    reason: str = ""
    history_rewritten: bool = False
    model: str | None = None
    session: str | None = None
    events: list[str] = []
    tokens: int | None = None
    error: str | None = None


class Maintainer(msgspec.Struct, frozen=True, kw_only=True):
    """Keeps the context of sessions small by a compactor's policy, and says what to do next.

    `now` gives epoch milliseconds; `new_session` a writer of a session that is to be, for handoffs.
    """

    compactor: Compactor
    now: Callable[[], int]
    new_session: Callable[[], SessionWriter] | None = None
    settings: Settings = Settings()

    def before_request(self, writer: SessionWriter) -> Advice:
        """Before a request is sent: rewrites that a policy makes every time, then the threshold."""
        events = self._rewrite(writer) if self._is_on and self.compactor.policy.before_requests else []
        advice = self._at_threshold(self._occasion(writer, "before_request"), continues=False)
        return _with(advice, events)

    def after_turn(self, writer: SessionWriter) -> Advice:
        """After an answer: one that was cut off for its length is recovered, else the threshold is looked at.

        An answer that failed or was aborted is no turn. Where the answer calls the `compact` tool, that is
        done as soon as all other calls of the answer have their results.
        """
        occasion = self._occasion(writer, "after_turn")
        with writer.log.snapshot() as snapshot:
            last = newest(snapshot, writer.session)
            asked = compact_call(build_context(snapshot, writer.session).parts)
        if last.stop in WENT_WRONG:
            return self._skip(occasion, "the answer failed or was aborted")
        if last.stop == CUT_OFF:
            return self._recover(occasion, "incomplete")
        if asked is not None and not asked.is_last:
            return Advice(reason="a compaction is asked for, once the other calls have their results")
        if asked is not None:
            return self._as_asked(occasion, asked)
        return self._at_threshold(occasion, continues=self.settings.auto_continue)

    def on_error(self, writer: SessionWriter, error: str, *, model: str | None = None) -> Advice:
        """After a request was refused: one that was too long is recovered, others are not for this.

        `model` is the one in use now, by its name or as provider/name: that another's request was too long says
        nothing of it.
        """
        if not is_overflow(error):
            return Advice(reason="the error says nothing of the context's length")
        return self._recover(self._occasion(writer, "error"), "overflow", model)

    def on_idle(self, writer: SessionWriter, idle_seconds: float) -> Advice:
        """While nothing happens: a large context is made smaller, and nothing goes on by itself."""
        occasion = self._occasion(writer, "idle")
        if not self.settings.idle_enabled or not self._is_on:
            return self._skip(occasion, "idle compaction is off")
        if idle_seconds < self.settings.idle_timeout_seconds:
            return Advice(reason=f"idle for {idle_seconds:g} seconds only")
        return self._made_smaller(
            occasion, "idle", lambda size: size.tokens > self.settings.idle_threshold_tokens
        )

    def compact(self, writer: SessionWriter, wishes: Wishes = NO_WISHES) -> Compacted:
        """What a person asks for, also where automatic compaction is off or has failed."""
        done = self.compactor.compact(writer, reason="manual", wishes=wishes)
        if done.outcome != "nothing":
            return done
        numbers = {"reason": "manual"}
        decision = Decision(
            outcome=NOTHING, reason=done.reason, policy=self.compactor.policy.name, numbers=numbers
        )
        return msgspec.structs.replace(done, decisions=[*done.decisions, *writer.append(decision)])

    @property
    def _is_on(self) -> bool:
        return self.settings.enabled and self.settings.strategy != "off"

    def _occasion(self, writer: SessionWriter, hook: Hook) -> Occasion:
        return Occasion(writer=writer, hook=hook, policy=self.compactor.policy.name)

    def _size(self, writer: SessionWriter, leaf: Leaf = None) -> ContextSize:
        with writer.log.snapshot() as snapshot:
            at = stand(snapshot, writer.session, leaf=leaf)
            return context_size(snapshot, at, self.compactor.tokens, less_saved=self.settings.less_saved)

    def _fires(self, size: ContextSize) -> bool:
        return self.compactor.policy.trigger.fires(size.tokens, self.compactor.limits)

    def _skip(self, occasion: Occasion, reason: str, size: ContextSize | None = None) -> Advice:
        return Advice(reason=reason, events=occasion.skip(reason), tokens=size.tokens if size else None)

    def _rewrite(self, writer: SessionWriter, *, is_compacting: bool = False) -> list[str]:
        policy = self.compactor.policy
        return record_rewrites(
            writer,
            policy.rewrites,
            tokens=self.compactor.tokens,
            now=self.now(),
            is_compacting=is_compacting,
        )

    def _as_asked(self, occasion: Occasion, asked: Asked) -> Advice:
        """What the model asked for by calling a tool. What is kept holds the call, so that its result finds it."""
        wishes = Wishes(instructions=asked.instructions)
        advice = self._compact(occasion, "tool", self._size(occasion.writer), wishes=wishes)
        problem = "" if advice.history_rewritten else advice.error or advice.reason
        answered = occasion.writer.append(call_result(asked.call, problem=problem))
        return msgspec.structs.replace(advice, do="nothing", events=[*advice.events, *answered])

    def _at_threshold(self, occasion: Occasion, *, continues: bool) -> Advice:
        if not self._is_on:
            return self._skip(occasion, "automatic compaction is off")
        return self._made_smaller(occasion, "threshold", self._fires, continues=continues)

    def _made_smaller(
        self,
        occasion: Occasion,
        reason: Reason,
        is_too_large: Callable[[ContextSize], bool],
        *,
        continues: bool = False,
    ) -> Advice:
        """Rewrites first; then a larger model, where there is one, a handoff or a compaction."""
        size = self._size(occasion.writer)
        if not is_too_large(size):
            return self._skip(occasion, "the context is small enough", size)
        rewritten = self._rewrite(occasion.writer, is_compacting=True)
        if rewritten:
            size = self._size(occasion.writer)
        if not is_too_large(size):
            reason_why = "rewrites made the context small enough"
            return Advice(reason=reason_why, history_rewritten=True, events=rewritten, tokens=size.tokens)
        advice = self._promoted(occasion, size) or self._compact(occasion, reason, size, continues=continues)
        return _with(advice, rewritten)

    def _promoted(self, occasion: Occasion, size: ContextSize) -> Advice | None:
        """A larger model in place of a compaction, where one is set, is not in use, and has room."""
        larger, writer = self.settings.promotion, occasion.writer
        if larger is None or self.compactor.policy.trigger.fires(size.tokens, larger.limits):
            return None
        with writer.log.snapshot() as snapshot:
            used = settings_at(snapshot, writer.session, snapshot.head(writer.session).leaf).model
        if used is not None and larger.model in (str(used), str(used.model_id)):
            return None
        reason = f"{larger.model} has room for the context"
        events = writer.append(self._decision(occasion, "promoted", reason, size))
        return Advice(do="switch-model", reason=reason, model=larger.model, events=events, tokens=size.tokens)

    def _handed_off(self, occasion: Occasion, reason: Reason, size: ContextSize, leaf: Leaf) -> Advice | None:
        """A new session in place of a compaction, if that is the strategy; None where no document came of it.

        After an overflow a handoff would send again what was too long; while nothing happens, and where the
        model asks for a compaction, nothing goes on elsewhere.
        """
        if self.settings.strategy != "handoff" or reason not in ("threshold", "incomplete"):
            return None
        if self.new_session is None:
            return None
        writer, compactor = occasion.writer, self.compactor
        try:
            done = hand_off(writer, self.new_session(), compactor.asker, sources=compactor.sources, leaf=leaf)
        except CancelledError as error:
            return self._failed(occasion, reason, str(error), size)
        except (SummarizerError, VersionConflictError):
            return None
        events = writer.append(self._decision(occasion, "handed off", f"to session {done.session}", size))
        return Advice(
            do="continue", reason="handed off", session=done.session, events=events, tokens=size.tokens
        )

    def _recover(self, occasion: Occasion, reason: Reason, model: str | None = None) -> Advice:
        """After a request or an answer failed for its length: that answer leaves the context, and it gets room.

        Where that fails, the session stays as it is.
        """
        if not self._is_on:
            return self._skip(occasion, "automatic compaction is off")
        writer = occasion.writer
        with writer.log.snapshot() as snapshot:
            last = newest(snapshot, writer.session)
        if last.entry is not None and last.entry.kind == "compaction":
            return self._skip(occasion, "the error is older than the newest compaction")
        if model is not None and last.has_failed and not last.is_of(model):
            return self._skip(occasion, "the error is of another model")
        leaf: Leaf = None
        if last.has_failed:
            leaf = last.before.id if last.before is not None else ROOT
        size = self._size(writer, leaf)
        advice = self._promoted(occasion, size)
        if advice is not None:
            return _with(advice, [] if leaf is None else [move_to(writer, leaf)])
        advice = self._compact(occasion, reason, size, leaf=leaf)
        return msgspec.structs.replace(advice, do="retry") if advice.history_rewritten else advice

    def _compact(
        self,
        occasion: Occasion,
        reason: Reason,
        size: ContextSize,
        *,
        wishes: Wishes = NO_WISHES,
        continues: bool = False,
        leaf: Leaf = None,
    ) -> Advice:
        """A compaction, or a handoff in its place, unless that is known to fail."""
        writer = occasion.writer
        with writer.log.snapshot() as snapshot:
            failures = failures_in_a_row(snapshot, writer.session)
            place = stand(snapshot, writer.session, leaf=leaf).leaf
            is_hopeless = gained_nothing_at(snapshot, writer.session, place)
        if failures >= self.settings.failures:
            why = f"{failures} compactions in a row have failed: compact by hand to go on"
            return self._given_up(occasion, reason, why, size)
        if is_hopeless:
            return self._given_up(occasion, reason, "a compaction of this context gained nothing", size)
        handed_off = self._handed_off(occasion, reason, size, leaf)
        if handed_off is not None:
            return handed_off
        try:
            done = self.compactor.compact(
                writer,
                reason=reason,
                wishes=wishes,
                cut=self.compactor.policy.recovery if reason == "overflow" else None,
                leaf=leaf,
                continues=continues,
                decision=self._decision(occasion, "triggered", reason, size),
            )
        except (SummarizerError, CancelledError) as error:
            return self._failed(occasion, reason, str(error), size)
        if done.outcome != "compacted":
            return self._not_compacted(occasion, reason, done, size)
        has_message = done.continued is not None and done.continued.record is not None
        return Advice(
            do="continue" if has_message else "nothing",
            reason=reason,
            history_rewritten=True,
            events=[*done.decisions, *done.events],
            tokens=done.tokens_after,
        )

    def _given_up(self, occasion: Occasion, reason: Reason, why: str, size: ContextSize) -> Advice:
        """What to say where a compaction is not even tried; who waits for a recovery learns that there is none."""
        error = _FAILURE[reason] + why if reason in _RECOVERIES else None
        return msgspec.structs.replace(self._skip(occasion, why, size), error=error)

    def _not_compacted(
        self, occasion: Occasion, reason: Reason, done: Compacted, size: ContextSize
    ) -> Advice:
        """What to say of a compaction that was not done; why not is put down once."""
        if done.outcome == "nothing" and reason not in _RECOVERIES:
            return _with(self._skip(occasion, done.reason, size), done.decisions, rewrites=False)
        if done.outcome == "nothing":
            return _with(self._failed(occasion, reason, done.reason, size), done.decisions, rewrites=False)
        error = _FAILURE[reason] + done.reason if reason in _RECOVERIES else None
        return Advice(reason=done.reason, error=error, events=done.decisions, tokens=size.tokens)

    def _failed(self, occasion: Occasion, reason: Reason, problem: str, size: ContextSize) -> Advice:
        said = _FAILURE.get(reason, "Auto-compaction failed: ") + problem
        events = occasion.writer.append(self._decision(occasion, FAILED, said, size))
        return Advice(reason=reason, error=said, events=events, tokens=size.tokens)

    def _decision(self, occasion: Occasion, outcome: str, reason: str, size: ContextSize) -> Decision:
        numbers: dict[str, Any] = msgspec.to_builtins(size)
        threshold = self.compactor.policy.trigger.threshold(self.compactor.limits)
        return occasion.decision(outcome, reason, **numbers, threshold=threshold)


def _with(advice: Advice, events: list[str], *, rewrites: bool = True) -> Advice:
    """Advice with what was appended before it; `rewrites`: that made the context another."""
    return msgspec.structs.replace(
        advice,
        events=[*events, *advice.events],
        history_rewritten=advice.history_rewritten or (rewrites and bool(events)),
    )
