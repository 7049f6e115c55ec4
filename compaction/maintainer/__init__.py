"""Keep the contexts of running sessions small: a harness calls one object around each turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from compaction.branching.move import Navigator
from compaction.compactor import CompactionResult, Compactor
from compaction.maintainer import rules
from compaction.maintainer.actions import Actions, Recommendation, with_earlier_events
from compaction.maintainer.answers import (
    CompactToolCalls,
    answer_calls,
    failed_before_compaction,
    find_compact_calls,
    report_no_compaction,
    session_end,
)
from compaction.maintainer.decisions import HookCall, HookName, failure_history
from compaction.maintainer.settings import Settings, compactor_with
from compaction.part import Reason
from compaction.rewriting import record_rewrites
from compaction.summarizers.refusals import single_line_message
from compaction.summary import DEFAULT_SUMMARY_OPTIONS, SummaryOptions
from compaction.window import has_open_calls
from eventstore.checked import checked
from eventstore.formats.base import PromptView
from eventstore.records import Decision, DecisionOutcome
from eventstore.writing import SessionWriter
from projections.context.build import build_context, context_at
from projections.context.cursor import Leaf, resolve_cursor
from projections.usage import ContextSize, context_size


class ActiveCalls:
    """Run one call at a time for each session.

    A call with priority cancels the running one and waits until it has ended: at once if that waits for a
    cancellable summarizer, otherwise when it is done.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._sessions: WeakValueDictionary[str, _Session] = WeakValueDictionary()

    @contextmanager
    def one(self, session: str) -> Iterator[None]:
        """Enter a block that excludes other calls for the session."""
        calls = self._of(session)
        with calls.running:
            yield

    @contextmanager
    def first(self, session: str) -> Iterator[None]:
        """Enter a block that excludes other calls, and cancel those that run."""
        calls, own = self._of(session), object()
        try:
            calls.go_first.add(own)
            with calls.running:
                calls.go_first.discard(own)
                yield
        finally:
            # A wait may be interrupted at any point.
            calls.go_first.discard(own)

    def is_cancelled(self, session: str) -> bool:
        """Return True if a call with priority is waiting."""
        calls = self._sessions.get(session)
        return calls is not None and bool(calls.go_first)

    def _of(self, session: str) -> _Session:
        with self._lock:
            return self._sessions.setdefault(session, _Session())


class _Session:
    """The lock of one session, dropped when unused; reentrant, so that hooks may call."""

    def __init__(self) -> None:
        self.running = RLock()
        self.go_first = set[object]()


REWRITES_WERE_ENOUGH: Final = "rewrites made the context small enough"
_ANSWERED: Final = "the calls of the compact tool already have results"


class Maintainer(msgspec.Struct, frozen=True, kw_only=True):
    """Keep the context of sessions small by a compactor's policy, and recommend what to do next.

    `now` returns epoch milliseconds, `new_session` a writer of a new session for handoffs. `sent_before` is
    what the harness sends before its messages, for live prompts; missing parts are taken from the log. Calls
    for one session run one at a time; `compact` and `cancel` cancel the running one first. Maintainers that
    share `running` exclude and cancel each other's calls.

    Raises BadInputError for settings that do not fit the compactor's window.
    """

    compactor: Compactor
    now: Callable[[], int]
    new_session: Callable[[], SessionWriter] | None = None
    settings: Settings = Settings()
    sent_before: PromptView = PromptView()
    running: ActiveCalls = msgspec.field(default_factory=ActiveCalls)

    def __post_init__(self) -> None:
        self.settings.check(self.compactor.limits)

    def before_request(self, writer: SessionWriter) -> Recommendation:
        """Apply the policy's rewrites before a request, then check the threshold."""
        rewrites = self.settings.is_automatic and self.compactor.policy.before_requests
        with self.running.one(writer.session):
            events = self._rewrite(writer) if rewrites else []
            case = rules.before_request(self.settings)
            return with_earlier_events(
                events, self._handle(writer, "before_request", case), rewritten=bool(events)
            )

    def after_turn(self, writer: SessionWriter, *, model: str | None = None) -> Recommendation:
        """Recover an answer that was cut off for its length; otherwise check the threshold.

        Ignore an answer that failed or was aborted. If the answer calls the `compact` tool, append the call's
        result and compact as soon as all other calls have theirs. `model` is the one in use now, as name or
        provider/name; None means the one in the log.
        """
        with self.running.one(writer.session):
            with checked(writer.log) as snapshot:
                last = session_end(snapshot, writer.session)
                asked = find_compact_calls(build_context(snapshot, writer.session).parts)
            case = rules.after_turn(
                stop=last.stop, is_of_model=last.is_of(model), asked=asked, settings=self.settings
            )
            return self._handle(writer, "after_turn", case, asked=asked, model=model)

    def on_error(self, writer: SessionWriter, error: str, *, model: str | None = None) -> Recommendation:
        """Recover a request that was refused for its length; ignore other errors.

        `model` is the one in use now, as for `after_turn`; an error of another model is ignored. So is an
        error whose failed answer is in the log before the newest compaction. An error without a failed answer
        in the log counts.
        """
        with self.running.one(writer.session):
            with writer.log.snapshot() as snapshot:
                last = session_end(snapshot, writer.session)
                is_stale = failed_before_compaction(snapshot, writer.session)
            case = rules.on_error(
                error,
                is_stale=is_stale,
                is_of_model=not last.is_left_out or last.is_of(model),
                settings=self.settings,
            )
            return self._handle(writer, "error", case, model=model)

    def on_idle(self, writer: SessionWriter, idle_seconds: float) -> Recommendation:
        """Use idle time to compact a large context or hand it off; never continue by itself."""
        with self.running.one(writer.session):
            return self._handle(writer, "idle", rules.on_idle(idle_seconds, self.settings))

    def compact(
        self, writer: SessionWriter, options: SummaryOptions = DEFAULT_SUMMARY_OPTIONS
    ) -> CompactionResult:
        """Compact on a person's request, even if automatic compaction is off or has failed.

        Cancel the session's running call in another thread first; it leaves an `attempt`.
        """
        with self.running.first(writer.session):
            compactor = self._compactor_for(writer.session)
            done = compactor.compact(writer, reason="manual", options=self._with_prompt(options))
            return self._close_circuit(writer, done) if done.outcome == "nothing" else done

    def cancel(self, writer: SessionWriter) -> None:
        """Cancel a session's running call in another thread, and wait until it has ended."""
        with self.running.first(writer.session):
            pass

    def _close_circuit(self, writer: SessionWriter, done: CompactionResult) -> CompactionResult:
        """Record that a person's request found nothing to do, to reset the failure count."""
        with writer.log.snapshot() as snapshot:
            so_far = failure_history(snapshot, writer.session, resolve_cursor(snapshot, writer.session).leaf)
        if not so_far.failures and not so_far.left_too_large:
            return done
        decision = Decision(
            outcome=DecisionOutcome.NOTHING,
            reason=done.reason,
            policy=self.compactor.policy.name,
            numbers={"reason": "manual"},
        )
        return msgspec.structs.replace(done, decisions=[*done.decisions, *writer.append(decision)])

    @property
    def navigator(self) -> Navigator:
        """A navigator that summarizes branches if the settings say so."""
        branches, compactor = self.settings.branch_summary, self._compactor
        return Navigator(
            limits=compactor.limits,
            tokens=compactor.tokens,
            chain=compactor.chain if branches.enabled else None,
            sources=compactor.sources,
            hooks=compactor.hooks,
            reserve=branches.reserve_tokens,
        )

    @property
    def _compactor(self) -> Compactor:
        return compactor_with(self.compactor, self.settings)

    def _compactor_for(self, session: str) -> Compactor:
        """Return the compactor, with requests that a call with priority cancels."""
        compactor = self._compactor
        is_cancelled = compactor.chain.is_cancelled
        chain = msgspec.structs.replace(
            compactor.chain, is_cancelled=lambda: is_cancelled() or self.running.is_cancelled(session)
        )
        return msgspec.structs.replace(compactor, chain=chain)

    def _handle(
        self,
        writer: SessionWriter,
        hook: HookName,
        case: Reason | rules.Skip,
        *,
        asked: CompactToolCalls | None = None,
        model: str | None = None,
    ) -> Recommendation:
        hook_call = HookCall(writer=writer, hook=hook, policy=self.compactor.policy.name, model=model)
        if isinstance(case, rules.Skip):
            return self._skip(hook_call, case.reason)
        if case == "tool" and asked is not None:
            return self._compact_for_tool(hook_call, asked)
        if rules.is_recovery(case):
            return self._recover(hook_call, case)
        return self._shrink(hook_call, case)

    def _compact_for_tool(self, hook_call: HookCall, asked: CompactToolCalls) -> Recommendation:
        """Compact because the model called the tool, once its calls have their results.

        The results are a separate append, so that an undo of the compaction keeps them. If no compaction
        results, whatever the cause, correct the results.
        """
        writer = hook_call.writer
        results = answer_calls(writer, asked)
        if not results:
            return self._skip(hook_call, _ANSWERED)
        options = SummaryOptions(instructions=asked.instructions)
        try:
            recommendation = self._choose_and_run(hook_call, "tool", self._size(writer), options=options)
        except BaseException as error:
            report_no_compaction(writer, results, single_line_message(str(error)) or type(error).__name__)
            raise
        reported: list[str] = []
        if not recommendation.history_rewritten:
            reported = report_no_compaction(writer, results, recommendation.error or recommendation.reason)
        return msgspec.structs.replace(
            recommendation, do="nothing", events=[*results, *recommendation.events, *reported]
        )

    def _shrink(self, hook_call: HookCall, reason: Reason) -> Recommendation:
        """Try rewrites; if they are not enough, take another action."""
        writer = hook_call.writer
        size = self._size(writer)
        if not self._is_too_large(reason, size.tokens):
            return self._skip(hook_call, rules.SMALL_ENOUGH.reason, size)
        rewritten = self._rewrite(writer, is_compacting=True)
        size = self._size(writer) if rewritten else size
        if not self._is_too_large(reason, size.tokens):
            recommendation = Recommendation(reason=REWRITES_WERE_ENOUGH, tokens=size.tokens)
        else:
            recommendation = self._choose_and_run(hook_call, reason, size)
        return with_earlier_events(rewritten, recommendation, rewritten=bool(rewritten))

    def _recover(self, hook_call: HookCall, reason: Reason) -> Recommendation:
        """Make room for the failed answer's request: larger model, rewrites, or another action.

        If nothing makes room, the session stays unchanged except for rewrites.
        """
        writer, rewritten = hook_call.writer, list[str]()
        with writer.log.snapshot() as snapshot:
            since = snapshot.head(writer.session).version
            leaf = rules.leaf_without_failures(session_end(snapshot, writer.session))
        size = self._size(writer, leaf)
        if not self._is_promoted(hook_call, size):
            rewritten = self._rewrite(writer, is_compacting=True, leaf=leaf, since=since)
        if rewritten:
            leaf, size = None, self._size(writer)
        if rewritten and not self._is_too_large(reason, size.tokens):
            recommendation = Recommendation(do="retry", reason=REWRITES_WERE_ENOUGH, tokens=size.tokens)
        else:
            recommendation = self._choose_and_run(hook_call, reason, size, leaf=leaf, since=since)
        return with_earlier_events(rewritten, recommendation, rewritten=bool(rewritten))

    def _choose_and_run(
        self,
        hook_call: HookCall,
        reason: Reason,
        size: ContextSize,
        *,
        options: SummaryOptions = DEFAULT_SUMMARY_OPTIONS,
        leaf: Leaf = None,
        since: int = 0,
    ) -> Recommendation:
        writer = hook_call.writer
        with checked(writer.log) as snapshot:
            cursor = resolve_cursor(snapshot, writer.session, leaf=leaf)
            so_far = failure_history(snapshot, writer.session, cursor.leaf)
            is_open = has_open_calls(context_at(snapshot, cursor).parts)
        remedy = rules.choose_action(
            reason,
            has_larger_model=self._is_promoted(hook_call, size),
            history=so_far,
            settings=self.settings,
            can_hand_off=self.new_session is not None and not is_open,
        )
        recommendation = Actions(
            hook_call=hook_call,
            compactor=self._compactor_for(writer.session),
            settings=self.settings,
            reason=reason,
            size=size,
            options=self._with_prompt(options),
            leaf=leaf,
            since=since,
            new_session=self.new_session,
            left_too_large=so_far.left_too_large,
        ).take(remedy)
        return self._report_if_too_large(reason, recommendation)

    def _report_if_too_large(self, reason: Reason, recommendation: Recommendation) -> Recommendation:
        """Warn if a context stays too large; send nothing if the model does not take it."""
        window, tokens = self.compactor.limits.window, recommendation.tokens
        is_elsewhere = recommendation.do == "switch-model" or recommendation.session
        if is_elsewhere or recommendation.error or not tokens:
            return recommendation
        if tokens <= window and not self._is_too_large(reason, tokens):
            return recommendation
        warning = (
            recommendation.warning or f"the context still has {tokens:,} tokens: {recommendation.reason}"
        )
        if tokens <= window:
            return msgspec.structs.replace(recommendation, warning=warning)
        problem = (
            f"the context has {tokens:,} tokens, and the model takes {window:,}: {recommendation.reason}"
        )
        error = rules.failure_message(reason, recommendation.warning or problem)
        return msgspec.structs.replace(recommendation, do="nothing", warning=warning, error=error)

    def _is_promoted(self, hook_call: HookCall, size: ContextSize) -> bool:
        """Return True if a larger model than the one in use is configured.

        The harness names the model in use; otherwise the log does.
        """
        writer = hook_call.writer
        with writer.log.snapshot() as snapshot:
            logged = session_end(snapshot, writer.session).model
        return rules.is_promoted(
            self.settings.promotion,
            tokens=size.tokens,
            trigger=self._compactor.policy.trigger,
            in_use=hook_call.model or logged,
        )

    def _with_prompt(self, options: SummaryOptions) -> SummaryOptions:
        """Add what the harness sends before its messages to summary options."""
        sent = PromptView(system=options.system, tools=options.tools).or_else(self.sent_before)
        return msgspec.structs.replace(options, system=sent.system, tools=sent.tools)

    def _size(self, writer: SessionWriter, leaf: Leaf = None) -> ContextSize:
        with checked(writer.log) as snapshot:
            cursor = resolve_cursor(snapshot, writer.session, leaf=leaf)
            return context_size(
                snapshot, cursor, self.compactor.tokens, less_saved=self.settings.subtracts_savings
            )

    def _is_too_large(self, reason: Reason, tokens: int) -> bool:
        compactor = self._compactor
        return rules.is_too_large(
            reason,
            tokens,
            trigger=compactor.policy.trigger,
            limits=compactor.limits,
            settings=self.settings,
        )

    def _rewrite(
        self, writer: SessionWriter, *, is_compacting: bool = False, leaf: Leaf = None, since: int = 0
    ) -> list[str]:
        return record_rewrites(
            writer,
            self.compactor.policy.rewrites,
            tokens=self.compactor.tokens,
            now=self.now(),
            is_compacting=is_compacting,
            leaf=leaf,
            since=since,
        ).events

    def _skip(self, hook_call: HookCall, why: str, size: ContextSize | None = None) -> Recommendation:
        events = hook_call.log_decision_once(DecisionOutcome.SKIPPED, why)
        return Recommendation(reason=why, events=events, tokens=size.tokens if size else None)
