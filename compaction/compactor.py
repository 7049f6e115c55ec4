"""Compact a session: plan, summarize, then append all changes at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from compaction.composing import CompactionAppend, Draft, compose_compaction
from compaction.continuations import ContinuationPlan
from compaction.cuts import AnyCut, cut_before
from compaction.decisions import DecisionOutcome
from compaction.hooks import (
    Cancel,
    HookErrors,
    Hooks,
    SuppliedSummary,
    call_hooks_before,
    collect_prompt_additions,
    recording_hook_errors,
)
from compaction.part import Limits, Reason
from compaction.plan import Plan, make_plan, plan_compaction, stale_reason
from compaction.policy.model import Policy
from compaction.prompts import PROMPT_SHAPES
from compaction.summarizers.chain import SummarizerChain, recording_failed_attempt
from compaction.summary import DEFAULT_SUMMARY_OPTIONS, Summary, SummaryOptions, summarize_plan
from compaction.templates import Source, with_session
from eventstore.checked import checked
from eventstore.event import Event, Parent
from eventstore.log import Snapshot
from eventstore.node import PromptView
from eventstore.paths import entry_id
from eventstore.records import Attempt, Custom, Decision, own_record
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.cursor import Leaf, newest_first, resolve_cursor
from projections.settings import harness_prompt
from projections.tokens import Counter

Outcome = Literal["compacted", "nothing", "cancelled", "no-gain"]


class CompactionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a compaction.

    `outcome` says if the compaction was appended, there was nothing to do, a hook cancelled it, or the
    context would not have shrunk. `events` are the ids of the appended events, the compaction first.
    `decisions` are the ids of the decisions logged about it. `missing` are the sections that the summary
    lacks, `hook_errors` the messages of hooks that raised. `tokens_kept` counts the kept messages within
    `tokens_after`. `warning` says why the context is still too large, "" if it is not.
    """

    outcome: Outcome
    reason: str = ""
    events: list[str] = []
    decisions: list[str] = []
    plan: Plan | None = None
    tokens_after: int | None = None
    tokens_kept: int | None = None
    warning: str = ""
    missing: list[str] = []
    continued: ContinuationPlan | None = None
    hook_errors: list[str] = []


class PreparedCompaction(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction that lacks only its summary, planned from one snapshot of the session.

    `is_elsewhere` means that the caller chose a leaf other than the session's own. `since` is the session's
    version at planning time. `notes` replace the summary, "" if there are none. `hook_answer` is the hooks'
    decision about the plan, `hook_errors` the messages of hooks that raised.
    """

    plan: Plan
    since: int
    reason: Reason
    options: SummaryOptions
    sources: Sequence[Source]
    is_elsewhere: bool = False
    notes: str = ""
    hook_answer: Cancel | SuppliedSummary | None = None
    hook_errors: list[str] = []

    @property
    def cancel_reason(self) -> str | None:
        """The reason that a hook gave for cancelling, None if no hook cancelled."""
        return self.hook_answer.reason if isinstance(self.hook_answer, Cancel) else None


class Compactor(msgspec.Struct, frozen=True, kw_only=True):
    """Compact sessions by a policy, with summarizers, for one model.

    `tokens` counts tokens. Templates are looked up in `sources` first, then among the built-in ones.
    """

    policy: Policy
    chain: SummarizerChain
    limits: Limits
    tokens: Counter
    sources: Sequence[Source] = ()
    hooks: Sequence[Hooks] = ()

    def plan(
        self, snapshot: Snapshot, session: str, *, leaf: Leaf = None, cut: AnyCut | None = None
    ) -> Plan | str:
        """Return the plan of a compaction, or why there is nothing to do. Raises NotFoundError."""
        cursor = resolve_cursor(snapshot, session, leaf=leaf)
        return plan_compaction(snapshot, cursor, self.policy, limits=self.limits, tokens=self.tokens, cut=cut)

    def compact(
        self,
        writer: SessionWriter,
        *,
        reason: Reason = "manual",
        options: SummaryOptions = DEFAULT_SUMMARY_OPTIONS,
        cut: AnyCut | None = None,
        leaf: Leaf = None,
        continues: bool = False,
    ) -> CompactionResult:
        """Compact a session at its leaf or at another one: `prepare`, then `execute`."""
        prepared = self.prepare(writer, reason=reason, options=options, cut=cut, leaf=leaf)
        if isinstance(prepared, CompactionResult):
            return prepared
        return self.execute(writer, prepared, continues=continues)

    def prepare(
        self,
        writer: SessionWriter,
        *,
        reason: Reason = "manual",
        options: SummaryOptions = DEFAULT_SUMMARY_OPTIONS,
        cut: AnyCut | None = None,
        leaf: Leaf = None,
        since: int | None = None,
    ) -> PreparedCompaction | CompactionResult:
        """Plan a compaction and ask the hooks; append nothing.

        Return a CompactionResult that says why if there is nothing to do. `since` is the session's version at
        which the caller chose `leaf`, None for the current one. Raises NotFoundError.
        """
        with checked(writer.log) as snapshot:
            plan = self.plan(snapshot, writer.session, leaf=leaf, cut=cut)
            if isinstance(plan, str):
                return CompactionResult(outcome="nothing", reason=plan)
            sources = with_session(self.sources, snapshot, plan.at)
            notes = latest_notes(newest_first(snapshot, plan.at), self.policy.memory)
            sent = PromptView(system=options.system, tools=options.tools)
            if PROMPT_SHAPES[self.policy.prompting.shape].follows_harness:
                sent = sent.or_else(harness_prompt(snapshot, plan.at))
        hook_errors = HookErrors()
        hook_answer = call_hooks_before(self.hooks, "before_compaction", plan, hook_errors)
        if isinstance(hook_answer, SuppliedSummary) and hook_answer.first_kept is not None:
            chosen = cut_before(plan.window, hook_answer.first_kept) or plan.cut
            source = self.policy.prompting.source
            with checked(writer.log) as snapshot:
                plan = make_plan(snapshot, plan.at, plan.window, chosen, source=source, tokens=self.tokens)
        return PreparedCompaction(
            plan=plan,
            since=plan.at.as_of if since is None else since,
            reason=reason,
            options=msgspec.structs.replace(options, system=sent.system, tools=sent.tools),
            sources=sources,
            is_elsewhere=leaf is not None,
            notes=notes,
            hook_answer=hook_answer,
            hook_errors=hook_errors,
        )

    def execute(
        self, writer: SessionWriter, prepared: PreparedCompaction, *, continues: bool = False
    ) -> CompactionResult:
        """Make the summary of a prepared compaction and append it.

        Everything goes into one append and can be undone as one: the compaction, replaced images, restored
        files, and with `continues` the policy's continuation message. A failed or cancelled request leaves
        the tree unchanged and appends an `attempt`. If others appended to the branch meanwhile, the summary
        is still valid, because the messages that it covers have not changed. If others compacted the branch,
        or continued below a leaf that the caller chose, nothing is appended but an `attempt` that records the
        cost. Raises SummarizersFailedError, CancelledError, and VersionConflictError if others keep
        appending.
        """
        requests: list[dict[str, Any]] = []
        with recording_hook_errors(writer, self.policy.name, prepared.hook_errors) as hook_errors:
            if prepared.cancel_reason is not None:
                return self._cancelled(writer, prepared)
            with recording_failed_attempt(writer, prepared.reason, self.policy.name, answered=requests):
                draft = self._draft(prepared, hook_errors, continues=continues)
                requests += draft.summary.requests
                done = retry_on_conflict(lambda: self._append(writer, prepared, draft))
            for hooks in self.hooks if done.outcome == "compacted" else ():
                hook_errors.call(hooks, "after_compaction", done.events)
        return msgspec.structs.replace(done, hook_errors=hook_errors)

    def _draft(self, prepared: PreparedCompaction, hook_errors: HookErrors, *, continues: bool) -> Draft:
        """Return a compaction with its summary: a hook's, the session's notes, or a summarizer's."""
        plan, reason, answer = prepared.plan, prepared.reason, prepared.hook_answer
        if isinstance(answer, SuppliedSummary):
            return Draft(
                plan=plan,
                summary=Summary(text=answer.summary, short=answer.short_summary),
                reason=reason,
                preserve_data=answer.preserve_data,
                extension_details=answer.details,
                is_supplied=True,
                continues=continues,
            )
        added = collect_prompt_additions(self.hooks, plan, hook_errors)
        if prepared.notes:
            summary = Summary(text=prepared.notes)
        else:
            summary = summarize_plan(
                plan,
                self.policy.prompting,
                self.chain,
                tokens=self.tokens,
                sources=prepared.sources,
                options=prepared.options.with_prompt(added.prompt, added.context),
            )
        data = added.preserve_data
        return Draft(plan=plan, summary=summary, reason=reason, preserve_data=data, continues=continues)

    def _append(self, writer: SessionWriter, prepared: PreparedCompaction, draft: Draft) -> CompactionResult:
        """Append all records at once, or none. Raises VersionConflictError if others appended first."""
        at, is_elsewhere = prepared.plan.at, prepared.is_elsewhere
        with checked(writer.log) as snapshot:
            version = snapshot.head(writer.session).version
            problem = stale_reason(snapshot, at, since=prepared.since, is_elsewhere=is_elsewhere)
            if problem:
                return self._stale(writer, draft, problem)
            here = at if is_elsewhere else resolve_cursor(snapshot, writer.session)
            parent = entry_id(snapshot, writer.session, at.leaf) if is_elsewhere else Parent.LEAF
            composed = compose_compaction(
                snapshot,
                here,
                draft,
                policy=self.policy,
                limits=self.limits,
                tokens=self.tokens,
                parent=parent,
            )
        if not composed.is_gain:
            return self._no_gain(writer, draft, composed)
        ids = writer.fresh_ids(len(composed.records))
        writer.append(*composed.records, parent=parent, cause=ids[0], expected=version, ids=ids)
        return CompactionResult(
            outcome="compacted",
            events=ids,
            plan=draft.plan,
            tokens_after=composed.tokens_after,
            tokens_kept=composed.tokens_kept,
            warning=self._warning(composed),
            missing=draft.summary.missing,
            continued=composed.continued,
        )

    def _warning(self, composed: CompactionAppend) -> str:
        """Explain why the next compaction is already due, "" if it is not."""
        after, kept, trigger = composed.tokens_after, composed.tokens_kept, self.policy.trigger
        if not trigger.fires(after, self.limits):
            return ""
        window, threshold = self.limits.window, trigger.threshold(self.limits)
        over = f"the model takes {window:,}" if after > window else f"the policy acts at {threshold:,}"
        remedy = "shorten summaries, keep less, or act later"
        if trigger.fires(kept, self.limits):
            remedy = f"the kept messages alone have {kept:,}: keep less, or act later"
        return f"the context still has {after:,} tokens, and {over}; {remedy}"

    def _cancelled(self, writer: SessionWriter, prepared: PreparedCompaction) -> CompactionResult:
        """Record that a hook cancelled the compaction."""
        why = prepared.cancel_reason or ""
        decision = self._decision(DecisionOutcome.CANCELLED, why, reason=prepared.reason)
        return CompactionResult(
            outcome="cancelled",
            reason=why,
            decisions=writer.append(decision),
            plan=prepared.plan,
            hook_errors=prepared.hook_errors,
        )

    def _stale(self, writer: SessionWriter, draft: Draft, problem: str) -> CompactionResult:
        """Return "nothing", but keep the record of a summary that was paid for."""
        kept: list[str] = []
        if draft.summary.request:
            request = {"reason": draft.reason, "policy": self.policy.name, **draft.summary.request}
            kept = writer.append(Attempt(request=request, error=problem))
        return CompactionResult(outcome="nothing", reason=problem, decisions=kept, plan=draft.plan)

    def _no_gain(self, writer: SessionWriter, draft: Draft, composed: CompactionAppend) -> CompactionResult:
        """Leave a context alone that would not shrink, and record why."""
        before, after = composed.tokens_before, composed.tokens_after
        why = f"the context would have {after} tokens instead of {before}"
        sizes = {"tokensBefore": before, "tokensAfter": after, "firstKept": draft.plan.cut.first_kept}
        request = draft.summary.request
        decision = self._decision(DecisionOutcome.NO_GAIN, why, **sizes, reason=draft.reason, **request)
        return CompactionResult(
            outcome="no-gain",
            reason=why,
            decisions=writer.append(decision),
            plan=draft.plan,
            tokens_after=after,
        )

    def _decision(self, outcome: DecisionOutcome, why: str, **numbers: object) -> Decision:
        return Decision(outcome=outcome, reason=why, policy=self.policy.name, numbers=numbers)


def latest_notes(newest_first: Iterable[Event], memory: str) -> str:
    """Return the newest notes since the last compaction, "" if there are none.

    Notes are the `text` of `custom` entries of the type `memory` that were appended, not imported. If `memory` is "",
    there are none.
    """
    for entry in newest_first if memory else ():
        if entry.kind == "compaction":
            return ""
        found = own_record(entry)
        data = found.data if isinstance(found, Custom) and found.custom_type == memory else None
        if isinstance(data, dict) and isinstance(data.get("text"), str):
            return str(data["text"])
    return ""
