"""One object that a harness calls before and after each turn, and that keeps its context small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from compaction.compactor import Compacted, Compactor, Reason
from compaction.context_size import ContextSize, context_size
from compaction.handoff import hand_off
from compaction.maintaining.compact_tool import call_result, compact_call
from compaction.maintaining.decisions import (
    FAILED,
    failures_in_a_row,
    gained_nothing_here,
    note_skip,
)
from compaction.maintaining.overflow import is_overflow
from compaction.maintaining.settings import Settings
from compaction.navigate import move_to
from compaction.rewriting import record_rewrites
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summary import NO_WISHES, Wishes
from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.frame import decode
from eventstore.log import Snapshot
from eventstore.records import Decision
from eventstore.views import ToolCall
from eventstore.writing import SessionWriter
from projections.settings import settings_at
from projections.standpoint import ROOT, stand

_FAILED_STOPS: Final = frozenset({"error", "length"})
Do = Literal["nothing", "retry", "switch-model", "continue"]
_FAILURE: Final[dict[str, str]] = {
    "overflow": "Context overflow recovery failed: ",
    "incomplete": "Incomplete response recovery failed: ",
}


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
        advice = self._at_threshold(writer, continues=False)
        return msgspec.structs.replace(
            advice,
            events=[*events, *advice.events],
            history_rewritten=advice.history_rewritten or bool(events),
        )

    def after_turn(self, writer: SessionWriter) -> Advice:
        """After an answer: one that was cut off for its length is recovered, else the threshold is looked at."""
        with writer.log.snapshot() as snapshot:
            leaf = _leaf(snapshot, writer.session)
        asked = compact_call(leaf) if leaf is not None else None
        if asked is not None:
            return self._as_asked(writer, asked)
        if leaf is not None and _stop(leaf) == "length":
            return self._recover(writer, "incomplete")
        return self._at_threshold(writer, continues=self.settings.auto_continue)

    def _as_asked(self, writer: SessionWriter, call: ToolCall) -> Advice:
        """What the model asked for by calling a tool; its call gets a result first, or it would have none."""
        answered = writer.append(call_result(call))
        done = self.compact(writer, Wishes(instructions=str(call.argument("instructions") or "")))
        return Advice(
            do="continue",
            reason=done.reason or "the model asked for it",
            history_rewritten=done.outcome == "compacted",
            events=[*answered, *done.events],
            tokens=done.tokens_after,
        )

    def on_error(self, writer: SessionWriter, error: str) -> Advice:
        """After a request was refused: one that was too long is recovered, others are not for this."""
        if not is_overflow(error):
            return Advice(reason="the error says nothing of the context's length")
        return self._recover(writer, "overflow")

    def on_idle(self, writer: SessionWriter, idle_seconds: float) -> Advice:
        """While nothing happens: a large context is compacted, and nothing goes on by itself."""
        if not self.settings.idle_enabled or not self._is_on:
            return self._skip(writer, "idle compaction is off")
        if idle_seconds < self.settings.idle_timeout_seconds:
            return Advice(reason=f"idle for {idle_seconds:g} seconds only")
        size = self._size(writer)
        if size.tokens <= self.settings.idle_threshold_tokens:
            return self._skip(writer, "idle, and small enough", size)
        return self._compact(writer, "idle", size)

    def compact(self, writer: SessionWriter, wishes: Wishes = NO_WISHES) -> Compacted:
        """What a person asks for, also where automatic compaction is off or has failed."""
        return self.compactor.compact(writer, reason="manual", wishes=wishes)

    @property
    def _is_on(self) -> bool:
        return self.settings.enabled and self.settings.strategy != "off"

    def _size(self, writer: SessionWriter) -> ContextSize:
        with writer.log.snapshot() as snapshot:
            at = stand(snapshot, writer.session)
            return context_size(snapshot, at, self.compactor.tokens, less_saved=self.settings.less_saved)

    def _fires(self, size: ContextSize) -> bool:
        return self.compactor.policy.trigger.fires(size.tokens, self.compactor.limits)

    def _skip(self, writer: SessionWriter, reason: str, size: ContextSize | None = None) -> Advice:
        events = note_skip(writer, reason, self.compactor.policy.name)
        return Advice(reason=reason, events=events, tokens=size.tokens if size else None)

    def _rewrite(self, writer: SessionWriter, *, is_compacting: bool = False) -> list[str]:
        policy = self.compactor.policy
        return record_rewrites(
            writer,
            policy.rewrites,
            tokens=self.compactor.tokens,
            now=self.now(),
            is_compacting=is_compacting,
        )

    def _at_threshold(self, writer: SessionWriter, *, continues: bool) -> Advice:
        if not self._is_on:
            return self._skip(writer, "automatic compaction is off")
        size = self._size(writer)
        if not self._fires(size):
            return self._skip(writer, "the context is small enough", size)
        rewritten = self._rewrite(writer, is_compacting=True)
        if rewritten:
            size = self._size(writer)
        if not self._fires(size):
            reason = "rewrites made the context small enough"
            return Advice(reason=reason, history_rewritten=True, events=rewritten, tokens=size.tokens)
        advice = (
            self._promoted(writer, size)
            or self._handed_off(writer, size)
            or self._compact(writer, "threshold", size, continues=continues)
        )
        return msgspec.structs.replace(
            advice,
            events=[*rewritten, *advice.events],
            history_rewritten=advice.history_rewritten or bool(rewritten),
        )

    def _promoted(self, writer: SessionWriter, size: ContextSize, do: Do = "switch-model") -> Advice | None:
        """A larger model in place of a compaction, where one is set, is not in use, and has room."""
        larger = self.settings.promotion
        if larger is None or self.compactor.policy.trigger.fires(size.tokens, larger.limits):
            return None
        with writer.log.snapshot() as snapshot:
            used = settings_at(snapshot, writer.session, snapshot.head(writer.session).leaf).model
        if used is not None and larger.model in (str(used), str(used.model_id)):
            return None
        reason = f"{larger.model} has room for the context"
        events = writer.append(self._decision("promoted", reason, size))
        return Advice(do=do, reason=reason, model=larger.model, events=events, tokens=size.tokens)

    def _handed_off(self, writer: SessionWriter, size: ContextSize) -> Advice | None:
        """A new session in place of a compaction, if that is the strategy; None where no document came of it."""
        if self.settings.strategy != "handoff" or self.new_session is None:
            return None
        try:
            done = hand_off(writer, self.new_session(), self.compactor.asker, sources=self.compactor.sources)
        except SummarizerError:
            return None
        events = writer.append(self._decision("handed off", f"to session {done.session}", size))
        return Advice(
            do="continue", reason="handed off", session=done.session, events=events, tokens=size.tokens
        )

    def _recover(self, writer: SessionWriter, reason: Reason) -> Advice:
        """After a request or an answer failed for its length: that answer leaves the context, and it gets room."""
        if not self._is_on:
            return self._skip(writer, "automatic compaction is off")
        with writer.log.snapshot() as snapshot:
            leaf = _leaf(snapshot, writer.session)
            is_compacted = leaf is not None and leaf.kind == "compaction"
            answer = leaf if leaf is not None and _stop(leaf) in _FAILED_STOPS else None
            is_of_model = answer is None or _is_of_model_in_use(snapshot, answer)
        if is_compacted:
            return self._skip(writer, "the error is older than the newest compaction")
        if not is_of_model:
            return self._skip(writer, "the error is of another model")
        moved = [] if answer is None else [move_to(writer, answer.parent or ROOT)]
        size = self._size(writer)
        advice = self._promoted(writer, size)
        if advice is None and reason == "incomplete":
            # After an overflow a handoff would send again what was too long.
            advice = self._handed_off(writer, size)
        if advice is None:
            advice = self._compact(writer, reason, size)
            if advice.history_rewritten:
                advice = msgspec.structs.replace(advice, do="retry")
        return msgspec.structs.replace(advice, events=[*moved, *advice.events], history_rewritten=True)

    def _compact(
        self, writer: SessionWriter, reason: Reason, size: ContextSize, *, continues: bool = False
    ) -> Advice:
        with writer.log.snapshot() as snapshot:
            failures = failures_in_a_row(snapshot, writer.session)
            is_hopeless = gained_nothing_here(snapshot, writer.session)
        if failures >= self.settings.failures:
            why = f"{failures} compactions in a row have failed: compact by hand to go on"
            return self._skip(writer, why, size)
        if is_hopeless:
            return self._skip(writer, "a compaction of this context gained nothing", size)
        triggered = writer.append(self._decision("triggered", reason, size))
        policy = self.compactor.policy
        cut = policy.recovery if reason == "overflow" else None
        try:
            done = self.compactor.compact(writer, reason=reason, cut=cut, continues=continues)
        except (SummarizerError, CancelledError) as error:
            return self._failed(writer, reason, str(error), size)
        if done.outcome != "compacted":
            if reason in _FAILURE:
                return self._failed(writer, reason, done.reason, size)
            return Advice(reason=done.reason, events=triggered, tokens=size.tokens)
        has_message = done.continued is not None and done.continued.record is not None
        return Advice(
            do="continue" if has_message else "nothing",
            reason=reason,
            history_rewritten=True,
            events=[*triggered, *done.events],
            tokens=done.tokens_after,
        )

    def _failed(self, writer: SessionWriter, reason: Reason, problem: str, size: ContextSize) -> Advice:
        said = _FAILURE.get(reason, "Auto-compaction failed: ") + problem
        events = writer.append(self._decision(FAILED, said, size))
        return Advice(reason=reason, error=said, events=events, tokens=size.tokens)

    def _decision(self, outcome: str, reason: str, size: ContextSize) -> Decision:
        numbers: dict[str, Any] = msgspec.to_builtins(size)
        threshold = self.compactor.policy.trigger.threshold(self.compactor.limits)
        return Decision(
            outcome=outcome,
            reason=reason,
            policy=self.compactor.policy.name,
            numbers={**numbers, "threshold": threshold},
        )


def _leaf(snapshot: Snapshot, session: str) -> Event | None:
    seq = snapshot.head(session).leaf
    return decode(snapshot.frame(session, seq), session) if seq else None


def _stop(event: Event) -> str:
    """Why an answer ended, "" for any other entry."""
    message = view_of_event(event) if event.role == "assistant" else None
    return message.stop_reason if message else ""


def _is_of_model_in_use(snapshot: Snapshot, answer: Event) -> bool:
    """Whether an answer is of the model that was chosen: an error of one model says nothing of another."""
    message = view_of_event(answer)
    chosen = settings_at(snapshot, answer.session, answer.parent_seq).model
    return message is None or chosen is None or not message.model or chosen.model_id == message.model
