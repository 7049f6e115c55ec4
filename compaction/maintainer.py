"""Keep the contexts of running sessions small: a harness calls one object around each turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import msgspec

from compaction.active_calls import ActiveCalls
from compaction.branching.handoff import hand_off
from compaction.branching.move import Navigator, move_to
from compaction.compactor import CompactionResult, Compactor
from compaction.continuations import CONTINUATIONS
from compaction.decisions import (
    IN_A_ROW,
    DecisionOutcome,
    FailureHistory,
    HookName,
    failure_history,
    is_logged,
)
from compaction.newest_answer import (
    CompactToolCalls,
    answer_calls,
    failed_before_compaction,
    find_compact_calls,
    is_same_model,
    report_no_compaction,
    session_end,
)
from compaction.part import Count, Limits, Positive, Reason
from compaction.plan import WENT_ON, has_new_messages
from compaction.policy.model import Policy
from compaction.rewriting import record_rewrites
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.chain import SummarizerChain, attempt_ids
from compaction.summarizers.http import HttpSummarizer
from compaction.summarizers.refusals import is_context_overflow, single_line_message
from compaction.summary import DEFAULT_SUMMARY_OPTIONS, SummaryOptions
from compaction.triggers import AnyTrigger, Threshold
from compaction.validation import InvalidInputError, ValidationIssue, key_path
from compaction.window import has_open_calls
from eventstore.checked import checked
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.node import PromptView
from eventstore.records import Decision
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.build import build_context, context_at
from projections.context.cursor import Leaf, resolve_cursor
from projections.usage import CUT_OFF, FAILED, ContextSize, context_size

TokenThreshold = Annotated[int, msgspec.Meta(ge=-1)]
"""A threshold in tokens; -1 and 0 mean none."""
Percent = Annotated[int, msgspec.Meta(ge=-1, le=100)]
"""A threshold in percent; -1 and 0 mean none."""


class Promotion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A larger model to switch to instead of compacting."""

    model: str
    window: Positive
    output: Count = 32_000

    def has_room(self, tokens: int, trigger: AnyTrigger, *, in_use: str) -> bool:
        """Return True if the model has room for a context, and is not `in_use`."""
        limits = Limits(window=self.window, output=self.output)
        return not trigger.fires(tokens, limits) and not is_same_model(self.model, in_use)


class BranchSummaries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of branch summaries: on or off, and the reserved tokens of the window.

    None means 16,384, or 15 % of a small window.
    """

    enabled: bool = False
    reserve_tokens: Count | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of compaction, with oh-my-pi's names (in snake case) and defaults.

    A compaction that a person requests obeys only `reserve_tokens`, `keep_recent_tokens` and
    `remote_endpoint`. The first two override the policy's parts (16,384 and 20,000 in pi and oh-my-pi). With
    `remote_enabled`, the service at `remote_endpoint` is asked before all other summarizers.

    The others control automatic compaction. `threshold_tokens`, or else `threshold_percent`, overrides the
    policy's trigger. With `subtracts_savings`, tokens saved by rewrites since the last measured call are
    subtracted from the measured size. `idle_threshold_tokens` and `idle_timeout_seconds` control when an idle
    session is compacted. `most_failures` in a row stop automatic compaction until one succeeds or a person
    asks. `promotion` is a larger model.
    """

    enabled: bool = True
    strategy: Literal["context-full", "handoff", "off"] = "context-full"
    reserve_tokens: Positive | None = None
    keep_recent_tokens: Positive | None = None
    threshold_percent: Percent = -1
    threshold_tokens: TokenThreshold = -1
    auto_continue: bool = True
    remote_enabled: bool = True
    remote_endpoint: str | None = None
    idle_enabled: bool = False
    idle_threshold_tokens: Count = 200_000
    idle_timeout_seconds: Count = 300
    most_failures: Positive = 3
    subtracts_savings: bool = True
    promotion: Promotion | None = None
    branch_summary: BranchSummaries = BranchSummaries()

    @property
    def is_automatic(self) -> bool:
        """True if automatic compaction is on."""
        return self.enabled and self.strategy != "off"

    @property
    def remote(self) -> str | None:
        """The address of the service to ask first, None for none."""
        return (self.remote_endpoint or None) if self.remote_enabled else None

    def find_issues(self, limits: Limits) -> list[ValidationIssue]:
        """Return the settings that do not fit a model's window."""
        given = {
            ("reserve_tokens",): self.reserve_tokens,
            ("keep_recent_tokens",): self.keep_recent_tokens,
            ("branch_summary", "reserve_tokens"): self.branch_summary.reserve_tokens,
        }
        window, remedy = f"the window has {limits.window:,} tokens", "give fewer, or a larger window"
        return [
            ValidationIssue(key_path(keys), f"it is {tokens:,}, and {window}", remedy)
            for keys, tokens in given.items()
            if tokens is not None and tokens >= limits.window
        ]

    def applied_to(self, policy: Policy) -> Policy:
        """Return a policy with the settings applied; unset ones leave its parts unchanged.

        A threshold overrides both of the policy's, and a trigger that has none. A number of tokens to keep
        replaces any other cut; a policy without a cut stays without.
        """
        trigger, cut, prompting = policy.trigger, policy.cut, policy.prompting
        if self.threshold_tokens > 0 or self.threshold_percent > 0:
            tokens, percent = self.threshold_tokens, self.threshold_percent
            trigger = trigger.firing_at(tokens, percent) or Threshold(tokens=tokens, percent=percent)
        if self.reserve_tokens is not None:
            trigger = trigger.reserving(self.reserve_tokens)
            prompting = msgspec.structs.replace(prompting, reserve=self.reserve_tokens)
            cut = cut.reserving(self.reserve_tokens) if cut else None
        policy = msgspec.structs.replace(policy, trigger=trigger, cut=cut, prompting=prompting)
        return policy if self.keep_recent_tokens is None else policy.keeping(self.keep_recent_tokens)

    def with_remote_summarizer(self, chain: SummarizerChain) -> SummarizerChain:
        """Return a chain with the configured service in front."""
        if self.remote is None:
            return chain
        remote = HttpSummarizer(self.remote)
        return msgspec.structs.replace(chain, summarizers=[remote, *chain.summarizers])


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
ANSWERED: Final = Skip("the calls of the compact tool already have results")
GAINED_NOTHING: Final = Skip("a compaction of this context saved nothing")
REWRITES_WERE_ENOUGH: Final = "rewrites made the context small enough"


def case_before_request(settings: Settings) -> Reason | Skip:
    """Return the case of a request about to be sent: the threshold, if automation is on."""
    return "threshold" if settings.is_automatic else OFF


def case_after_turn(
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
    return case_before_request(settings)


def case_of_error(error: str, *, is_stale: bool, is_of_model: bool, settings: Settings) -> Reason | Skip:
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


def case_of_idle(seconds: float, settings: Settings) -> Reason | Skip:
    """Return the case of a session that has been idle for `seconds` seconds."""
    if not settings.idle_enabled or not settings.is_automatic:
        return IDLE_OFF
    if seconds < settings.idle_timeout_seconds:
        return Skip(f"idle for less than {settings.idle_timeout_seconds} seconds")
    return "idle"


Action = Literal["switch-model", "hand-off", "compact"]
_MAY_SWITCH: Final[frozenset[Reason]] = frozenset({"overflow", "incomplete", "threshold", "idle"})
_MAY_HAND_OFF: Final[frozenset[Reason]] = frozenset({"incomplete", "threshold", "idle"})
_MAY_CHASE: Final[frozenset[Reason]] = frozenset({"threshold", "idle"})
_RECOVERIES_FAILED: Final[dict[Reason, str]] = {
    "overflow": "Context overflow recovery failed: ",
    "incomplete": "Incomplete response recovery failed: ",
}


def choose_action(
    reason: Reason, *, has_larger_model: bool, history: FailureHistory, settings: Settings, can_hand_off: bool
) -> Action | Skip:
    """Choose a larger model, else a handoff if that is the strategy, else a compaction.

    Skip the latter two if as many in a row have failed as may (the circuit is open), or one of this context
    gained nothing. Skip them too, except for a recovery, if as many compactions in a row have left the context
    too large, because the next would be due at once. Do not hand off after an overflow, which would send the
    long request again, nor if the model asked for the compaction, nor while calls are open (`can_hand_off`),
    because the new session would not have the calls.
    """
    most = settings.most_failures
    if has_larger_model and reason in _MAY_SWITCH:
        return "switch-model"
    if history.failures >= most:
        return Skip(open_circuit_message(history.failures))
    if history.gained_nothing:
        return GAINED_NOTHING
    if reason in _MAY_CHASE and history.left_too_large >= most:
        have_left = f"{history.left_too_large} compactions in a row have left the context too large"
        return Skip(f"{have_left}: keep less or act later, and compact manually to continue")
    if settings.strategy == "handoff" and reason in _MAY_HAND_OFF and can_hand_off:
        return "hand-off"
    return "compact"


def open_circuit_message(failures: int) -> str:
    """Return the message about an open circuit."""
    return f"{failures} compactions in a row have failed: compact manually to continue"


def is_recovery(reason: Reason) -> bool:
    """Return True if the harness waits to retry a request."""
    return reason in _RECOVERIES_FAILED


def failure_message(reason: Reason, problem: str) -> str:
    """Return the error message in oh-my-pi's words."""
    return _RECOVERIES_FAILED.get(reason, "Auto-compaction failed: ") + problem


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
        if issues := self.settings.find_issues(self.compactor.limits):
            raise InvalidInputError("settings", issues)

    def before_request(self, writer: SessionWriter) -> Recommendation:
        """Apply the policy's rewrites before a request, then check the threshold."""
        with self.running.one(writer.session):
            call = _Call(self, writer, "before_request")
            if self.settings.is_automatic and self.compactor.policy.before_requests:
                call.rewrite(is_compacting=False)
            return call.handle(case_before_request(self.settings))

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
            case = case_after_turn(
                stop=last.stop, is_of_model=last.is_of(model), asked=asked, settings=self.settings
            )
            return _Call(self, writer, "after_turn", model).handle(case, asked)

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
            is_of_model = not last.is_left_out or last.is_of(model)
            case = case_of_error(error, is_stale=is_stale, is_of_model=is_of_model, settings=self.settings)
            return _Call(self, writer, "error", model).handle(case)

    def on_idle(self, writer: SessionWriter, idle_seconds: float) -> Recommendation:
        """Use idle time to compact a large context or hand it off; never continue by itself."""
        with self.running.one(writer.session):
            return _Call(self, writer, "idle").handle(case_of_idle(idle_seconds, self.settings))

    def compact(
        self, writer: SessionWriter, options: SummaryOptions = DEFAULT_SUMMARY_OPTIONS
    ) -> CompactionResult:
        """Compact on a person's request, even if automatic compaction is off or has failed.

        Cancel the session's running call in another thread first; it leaves an `attempt`.
        """
        with self.running.first(writer.session):
            compactor = self.compactor_of(writer.session)
            done = compactor.compact(writer, reason="manual", options=self.with_prompt(options))
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
        branches, compactor = self.settings.branch_summary, self.compactor
        return Navigator(
            limits=compactor.limits,
            tokens=compactor.tokens,
            chain=self.settings.with_remote_summarizer(compactor.chain) if branches.enabled else None,
            sources=compactor.sources,
            hooks=compactor.hooks,
            reserve=branches.reserve_tokens,
        )

    def compactor_of(self, session: str) -> Compactor:
        """Return the compactor by the settings, with requests that a call with priority cancels."""
        chain = self.settings.with_remote_summarizer(self.compactor.chain)
        is_cancelled = chain.is_cancelled
        chain = msgspec.structs.replace(
            chain, is_cancelled=lambda: is_cancelled() or self.running.is_cancelled(session)
        )
        policy = self.settings.applied_to(self.compactor.policy)
        return msgspec.structs.replace(self.compactor, policy=policy, chain=chain)

    def with_prompt(self, options: SummaryOptions) -> SummaryOptions:
        """Add what the harness sends before its messages to summary options."""
        sent = PromptView(system=options.system, tools=options.tools).or_else(self.sent_before)
        return msgspec.structs.replace(options, system=sent.system, tools=sent.tools)


_NOTHING_CAME: Final = (SummarizerError, BadInputError, NotFoundError, VersionConflictError)
"""Errors after which no compaction results.

They are failed requests, missing templates, invalid tools, a new session that already exists, and constant
appends by others.
"""


class _Call:
    """One call of a harness: what it has appended, and how it comes to its recommendation.

    `model` is the one in use as the harness says, None if it does not say. `leaf` is the session's leaf
    without failed answers at the end, None if there are none; `since` is the session's version at that time.
    """

    size: ContextSize
    history: FailureHistory

    def __init__(
        self, maintainer: Maintainer, writer: SessionWriter, hook: HookName, model: str | None = None
    ) -> None:
        self.maintainer, self.writer, self.hook, self.model = maintainer, writer, hook, model
        self.settings, self.compactor = maintainer.settings, maintainer.compactor_of(writer.session)
        self.reason: Reason = "threshold"
        self.leaf: Leaf = None
        self.since = 0
        self.events: list[str] = []
        self.is_rewritten = False
        self.tokens: int | None = None

    def handle(self, case: Reason | Skip, asked: CompactToolCalls | None = None) -> Recommendation:
        """Do what the case asks for; `asked` are calls of the compact tool."""
        if isinstance(case, Skip):
            return self._skip(case)
        self.reason = case
        return self._make_room() if asked is None or case != "tool" else self._compact_for_tool(asked)

    def rewrite(self, *, is_compacting: bool) -> bool:
        """Append the policy's rewrites; return True if there are any."""
        rewrites = record_rewrites(
            self.writer,
            self.compactor.policy.rewrites,
            tokens=self.compactor.tokens,
            now=self.maintainer.now(),
            is_compacting=is_compacting,
            leaf=self.leaf,
            since=self.since,
        ).events
        self.events += rewrites
        self.is_rewritten = self.is_rewritten or bool(rewrites)
        return bool(rewrites)

    def _make_room(self) -> Recommendation:
        """Try rewrites; if they are not enough, take another action.

        A recovery makes room for the failed answer's request: a larger model goes before rewrites, and if
        nothing makes room, the session stays unchanged except for them.
        """
        is_retried = is_recovery(self.reason)
        if is_retried:
            with self.writer.log.snapshot() as snapshot:
                self.since = snapshot.head(self.writer.session).version
                self.leaf = session_end(snapshot, self.writer.session).leaf_before
        self._measure()
        if not is_retried and not self._is_too_large(self.size.tokens):
            return self._skip(SMALL_ENOUGH)
        if not (is_retried and self._has_larger_model()) and self.rewrite(is_compacting=True):
            self.leaf = None
            self._measure()
            if not self._is_too_large(self.size.tokens):
                return self._recommend(REWRITES_WERE_ENOUGH, do="retry" if is_retried else "nothing")
        return self._act(DEFAULT_SUMMARY_OPTIONS)

    def _compact_for_tool(self, asked: CompactToolCalls) -> Recommendation:
        """Compact because the model called the tool, once its calls have their results.

        The results are a separate append, so that an undo of the compaction keeps them. If no compaction
        results, whatever the cause, correct the results.
        """
        results = answer_calls(self.writer, asked)
        if not results:
            return self._skip(ANSWERED)
        self.events += results
        try:
            self._measure()
            recommendation = self._act(SummaryOptions(instructions=asked.instructions))
        except BaseException as error:
            problem = single_line_message(str(error)) or type(error).__name__
            report_no_compaction(self.writer, results, problem)
            raise
        if not recommendation.history_rewritten:
            problem = recommendation.error or recommendation.reason
            self.events += report_no_compaction(self.writer, results, problem)
        return msgspec.structs.replace(recommendation, do="nothing", events=self.events)

    def _act(self, options: SummaryOptions) -> Recommendation:
        """Take the action that is chosen; warn if the context stays too large."""
        with checked(self.writer.log) as snapshot:
            cursor = resolve_cursor(snapshot, self.writer.session, leaf=self.leaf)
            self.history = failure_history(snapshot, self.writer.session, cursor.leaf)
            is_open = has_open_calls(context_at(snapshot, cursor).parts)
        options, new_session = self.maintainer.with_prompt(options), self.maintainer.new_session
        action = choose_action(
            self.reason,
            has_larger_model=self._has_larger_model(),
            history=self.history,
            settings=self.settings,
            can_hand_off=new_session is not None and not is_open,
        )
        if isinstance(action, Skip):
            self._open_circuit_if_due()
            recommendation = self._skip(action)
        elif action == "switch-model" and self.settings.promotion is not None:
            recommendation = self._switch_model(self.settings.promotion.model)
        elif action == "hand-off" and new_session is not None:
            recommendation = self._hand_off(new_session, options)
        else:
            recommendation = self._compact(options)
        return self._warned(recommendation)

    def _switch_model(self, larger: str) -> Recommendation:
        """Switch to a larger model, without the failed answers."""
        left = retry_on_conflict(self._leave_failed_answers)
        self.events += left
        self.is_rewritten = self.is_rewritten or bool(left)
        why = f"{larger} has room for the context"
        self._log(DecisionOutcome.PROMOTED, why)
        return self._recommend(why, do="switch-model", model=larger)

    def _leave_failed_answers(self) -> list[str]:
        """Move to before the failed answers, unless others have continued from there."""
        if self.leaf is None:
            return []
        with self.writer.log.snapshot() as snapshot:
            version = snapshot.head(self.writer.session).version
            cursor = resolve_cursor(snapshot, self.writer.session, leaf=self.leaf)
            if has_new_messages(snapshot, cursor, self.since):
                return []
        return [move_to(self.writer, self.leaf, expected=version)]

    def _hand_off(self, new_session: Callable[[], SessionWriter], options: SummaryOptions) -> Recommendation:
        """Start a new session instead of compacting; compact if that yields no document."""
        compactor = self.compactor
        try:
            done = hand_off(
                self.writer,
                new_session(),
                compactor.chain,
                system=options.system,
                tools=options.tools,
                sources=compactor.sources,
                reserve=compactor.policy.prompting.reserve,
                leaf=self.leaf,
            )
        except CancelledError as error:
            return self._interrupted(error)
        except _NOTHING_CAME as error:
            self.events += attempt_ids(error)
            return self._compact(options)
        self._log(DecisionOutcome.HANDED_OFF, f"to session {done.session}")
        do: NextStep = "nothing" if self.reason == "idle" else "continue"
        return self._recommend(DecisionOutcome.HANDED_OFF, do=do, session=done.session)

    def _compact(self, options: SummaryOptions) -> Recommendation:
        """Compact; log if hooks cancelled it or nothing was done."""
        policy = self.compactor.policy
        prepared = self.compactor.prepare(
            self.writer,
            reason=self.reason,
            options=options,
            cut=policy.recovery if self.reason == "overflow" else None,
            leaf=self.leaf,
            since=self.since if self.leaf is not None else None,
        )
        if isinstance(prepared, CompactionResult):
            # A recovery needs something to summarize.
            why = prepared.reason
            return self._failed(why) if is_recovery(self.reason) else self._skip(Skip(why))
        for problem in prepared.hook_errors:
            self._log_once(DecisionOutcome.HOOK_FAILED, problem)
        prepared = msgspec.structs.replace(prepared, hook_errors=[])
        if prepared.cancel_reason is not None:
            return self._cancelled(prepared.cancel_reason, self._error(prepared.cancel_reason))
        follows = CONTINUATIONS[policy.continuation]
        is_due = follows.is_due(self.reason, is_after_turn=self.hook == "after_turn")
        self._log(DecisionOutcome.TRIGGERED, self.reason)
        try:
            done = self.compactor.execute(
                self.writer, prepared, continues=self.settings.auto_continue and is_due
            )
        except CancelledError as error:
            return self._interrupted(error)
        except _NOTHING_CAME as error:
            self.events += attempt_ids(error)
            return self._failed(str(error))
        return self._report(done)

    def _report(self, done: CompactionResult) -> Recommendation:
        self.events += [*done.decisions, *done.events]
        if done.outcome == "nothing":
            return self._overtaken(done.reason)
        if done.outcome == "no-gain":
            self._open_circuit_if_due()
            return self._recommend(done.reason, error=self._error(done.reason))
        if done.warning:
            numbers = {"tokensAfter": done.tokens_after, "tokensKept": done.tokens_kept}
            in_a_row = self.history.left_too_large + 1
            self._log(DecisionOutcome.STILL_TOO_LARGE, done.warning, **numbers, **{IN_A_ROW: in_a_row})
        self.is_rewritten, self.tokens = True, done.tokens_after
        goes_on = done.continued is not None and done.continued.record is not None
        do: NextStep = "retry" if is_recovery(self.reason) else "continue" if goes_on else "nothing"
        return self._recommend(self.reason, do=do, warning=done.warning or None)

    def _overtaken(self, why: str) -> Recommendation:
        """Skip after others' appends made the compaction obsolete; this is no failure."""
        self._log_once(DecisionOutcome.SKIPPED, why)
        self.is_rewritten, self.tokens = self.is_rewritten or why != WENT_ON, None
        return self._recommend(why, do="retry" if is_recovery(self.reason) else "nothing")

    def _skip(self, skip: Skip) -> Recommendation:
        self._log_once(DecisionOutcome.SKIPPED, skip.reason)
        return self._recommend(skip.reason, error=self._error(skip.reason))

    def _interrupted(self, error: CancelledError) -> Recommendation:
        """Report that a person cancelled the action."""
        self.events += attempt_ids(error)
        return self._cancelled(str(error), failure_message(self.reason, str(error)))

    def _cancelled(self, why: str, error: str | None) -> Recommendation:
        """Log the cancellation, which is no failure."""
        self._log_once(DecisionOutcome.CANCELLED, why, **self._numbers)
        return self._recommend(why, error=error)

    def _failed(self, problem: str) -> Recommendation:
        message = failure_message(self.reason, problem)
        self._log(DecisionOutcome.FAILED, message)
        self._open_circuit_if_due()
        return self._recommend(self.reason, error=message)

    def _error(self, why: str) -> str | None:
        """Return an error message if the harness waits for a recovery, None otherwise."""
        return failure_message(self.reason, why) if is_recovery(self.reason) else None

    def _open_circuit_if_due(self) -> None:
        """Log that the circuit is open once it opens."""
        with self.writer.log.snapshot() as snapshot:
            leaf = snapshot.head(self.writer.session).leaf
            so_far = failure_history(snapshot, self.writer.session, leaf)
        if so_far.failures >= self.settings.most_failures and not so_far.is_open:
            self._log(DecisionOutcome.CIRCUIT_OPEN, open_circuit_message(so_far.failures))

    def _warned(self, recommendation: Recommendation) -> Recommendation:
        """Warn if a context stays too large; send nothing if the model does not take it."""
        window, tokens = self.compactor.limits.window, recommendation.tokens
        is_elsewhere = recommendation.do == "switch-model" or recommendation.session
        if is_elsewhere or recommendation.error or not tokens:
            return recommendation
        if tokens <= window and not self._is_too_large(tokens):
            return recommendation
        reason = recommendation.reason
        warning = recommendation.warning or f"the context still has {tokens:,} tokens: {reason}"
        if tokens <= window:
            return msgspec.structs.replace(recommendation, warning=warning)
        problem = f"the context has {tokens:,} tokens, and the model takes {window:,}: {reason}"
        error = failure_message(self.reason, recommendation.warning or problem)
        return msgspec.structs.replace(recommendation, do="nothing", warning=warning, error=error)

    def _measure(self) -> None:
        """Measure the context at the leaf."""
        with checked(self.writer.log) as snapshot:
            cursor = resolve_cursor(snapshot, self.writer.session, leaf=self.leaf)
            saved = self.settings.subtracts_savings
            self.size = context_size(snapshot, cursor, self.compactor.tokens, less_saved=saved)
        self.tokens = self.size.tokens

    def _is_too_large(self, tokens: int) -> bool:
        """Return True if a context should shrink, by the idle threshold or the policy's trigger."""
        if self.reason == "idle":
            return tokens > self.settings.idle_threshold_tokens
        return self.compactor.policy.trigger.fires(tokens, self.compactor.limits)

    def _has_larger_model(self) -> bool:
        """Return True if a larger model than the one in use is configured, and has room."""
        larger = self.settings.promotion
        if larger is None:
            return False
        with self.writer.log.snapshot() as snapshot:
            in_use = self.model or session_end(snapshot, self.writer.session).model
        return larger.has_room(self.size.tokens, self.compactor.policy.trigger, in_use=in_use)

    def _recommend(self, reason: str, **more: Any) -> Recommendation:
        """Return a recommendation with this call's events."""
        return Recommendation(
            reason=reason,
            history_rewritten=self.is_rewritten,
            events=self.events,
            tokens=self.tokens,
            **more,
        )

    def _log(self, outcome: DecisionOutcome, why: str, **numbers: Any) -> None:
        self.events += self.writer.append(self._decision(outcome, why, {**self._numbers, **numbers}))

    def _log_once(self, outcome: DecisionOutcome, why: str, **numbers: Any) -> None:
        """Log a decision unless the newest one at this hook is equal."""
        decision = self._decision(outcome, why, numbers)
        with self.writer.log.snapshot() as snapshot:
            if is_logged(snapshot, self.writer.session, decision):
                return
        self.events += self.writer.append(decision)

    def _decision(self, outcome: DecisionOutcome, why: str, numbers: dict[str, Any]) -> Decision:
        policy = self.compactor.policy.name
        return Decision(outcome=outcome, reason=why, policy=policy, numbers={**numbers, "hook": self.hook})

    @property
    def _numbers(self) -> dict[str, Any]:
        threshold = self.compactor.policy.trigger.threshold(self.compactor.limits)
        return {**msgspec.to_builtins(self.size), "threshold": threshold}
