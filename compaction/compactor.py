"""Compacting: a plan, a summary, and one append of all that changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from compaction.change import Change, Made, Reason, change_of
from compaction.continuation import Continued
from compaction.cuts import AnyCut
from compaction.hooks import Cancel, Hooks, Supplied, Troubles, decided, prompted, recorded_troubles
from compaction.overtaken import overtaken
from compaction.part import Limits
from compaction.plan import Plan, plan_compaction
from compaction.policies import Policy
from compaction.summaries.memory import notes_of
from compaction.summaries.summary import NO_WISHES, Summary, Wishes, summarize
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.asking import Asker, AskingError
from compaction.templates import Source, with_session
from eventstore.event import Parent
from eventstore.log import Snapshot
from eventstore.records import Attempt, Decision
from eventstore.writing import SessionWriter, until_ours
from projections.harness_prompt import HarnessPrompt, harness_prompt
from projections.standpoint import Leaf, Standpoint, entry_id, path, stand
from projections.tokens import Counter

__all__ = ["Compacted", "Compactor", "Outcome", "Reason"]

Outcome = Literal["compacted", "nothing", "cancelled", "no-gain"]


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a compaction.

    `outcome`: it was done, there was nothing to do, a hook called it off, or the context would have got no
    smaller. `events` are the ids of what was appended, the compaction's first; `decisions` those of what was
    put down about it; `missing` the sections that the summary lacks; `troubles` what hooks that raised said.
    """

    outcome: Outcome
    reason: str = ""
    events: list[str] = []
    decisions: list[str] = []
    plan: Plan | None = None
    tokens_after: int | None = None
    missing: list[str] = []
    continued: Continued | None = None
    troubles: list[str] = []


class Compactor(msgspec.Struct, frozen=True, kw_only=True):
    """How sessions are compacted: by which policy, with which summarizers, for which model.

    `tokens` counts; `sources` are where templates are looked for before those that come with refold.
    """

    policy: Policy
    asker: Asker
    limits: Limits
    tokens: Counter
    sources: Sequence[Source] = ()
    hooks: Sequence[Hooks] = ()

    def plan(
        self, snapshot: Snapshot, session: str, *, leaf: Leaf = None, cut: AnyCut | None = None
    ) -> Plan | None:
        """What a compaction would do; None where there is nothing to do. Raises NotFoundError."""
        return self._plan(snapshot, stand(snapshot, session, leaf=leaf), cut)

    def compact(
        self,
        writer: SessionWriter,
        *,
        reason: Reason = "manual",
        wishes: Wishes = NO_WISHES,
        cut: AnyCut | None = None,
        leaf: Leaf = None,
        continues: bool = False,
        decision: Decision | None = None,
    ) -> Compacted:
        """Compact a session where it stands, or at another leaf; `continues`: with the policy's continuation.

        Everything is appended at once, and can be undone as one: the compaction, images that give way, what
        is shown again, and the message that goes on. `decision` is put down before, once there is something to
        do that no hook calls off. A request that fails or is cancelled leaves the tree as it was, and an
        `attempt`. Where somebody has appended to the branch in the meantime, the summary stands all the same,
        for what it covers has not changed; where somebody has compacted it, or has gone on below another leaf
        that was asked for, there is nothing to do, and an `attempt` keeps what the summary cost. Raises
        AskingError, CancelledError, NotFoundError.
        """
        with writer.log.snapshot() as snapshot:
            at = stand(snapshot, writer.session, leaf=leaf)
            plan = self._plan(snapshot, at, cut)
            sources = with_session(self.sources, snapshot, at)
            notes = notes_of(path(snapshot, at), self.policy.memory)
            sent = HarnessPrompt(system=wishes.system, tools=wishes.tools)
            if self.policy.prompting.shape == "live-prefix":
                sent = sent.or_else(harness_prompt(snapshot, at))
        wishes = msgspec.structs.replace(wishes, system=sent.system, tools=sent.tools)
        if plan is None:
            return Compacted(outcome="nothing", reason="nothing to summarize")
        with recorded_troubles(writer, self.policy.name) as troubles:
            said = decided(self.hooks, "before_compaction", plan, troubles)
            if isinstance(said, Cancel):
                return self._cancelled(writer, said, plan, reason, troubles)
            decisions = writer.append(decision) if decision is not None else []
            if isinstance(said, Supplied):
                summary = Summary(text=said.summary, short=said.short_summary)
                data = said.preserve_data
            else:
                added = prompted(self.hooks, plan, troubles)
                wishes, data = wishes.with_prompt(added.prompt, added.context), added.preserve_data
                summary = Summary(text=notes) if notes else self._asked(writer, plan, sources, wishes, reason)
            made = Made(
                plan=plan,
                summary=summary,
                reason=reason,
                preserve_data=data,
                is_supplied=isinstance(said, Supplied),
                continues=continues,
            )
            done = until_ours(lambda: self._append(writer, at, made, is_elsewhere=leaf is not None))
            for hooks in self.hooks if done.outcome == "compacted" else ():
                troubles.ask(hooks, "after_compaction", done.events)
        return msgspec.structs.replace(done, decisions=[*decisions, *done.decisions], troubles=troubles)

    def _plan(self, snapshot: Snapshot, at: Standpoint, cut: AnyCut | None) -> Plan | None:
        return plan_compaction(snapshot, at, self.policy, limits=self.limits, tokens=self.tokens, cut=cut)

    def _asked(
        self, writer: SessionWriter, plan: Plan, sources: Sequence[Source], wishes: Wishes, reason: Reason
    ) -> Summary:
        try:
            return summarize(
                plan, self.policy.prompting, self.asker, tokens=self.tokens, sources=sources, wishes=wishes
            )
        except (SummarizerError, CancelledError) as error:
            requests = error.requests if isinstance(error, AskingError | CancelledError) else []
            request = {"reason": reason, "policy": self.policy.name, "requests": requests}
            writer.append(Attempt(request=request, error=str(error)))
            raise

    def _append(self, writer: SessionWriter, at: Standpoint, made: Made, *, is_elsewhere: bool) -> Compacted:
        """One append of all that changes, or none. Raises VersionConflictError where somebody was faster."""
        with writer.log.snapshot() as snapshot:
            version = snapshot.head(writer.session).version
            problem = overtaken(snapshot, at, since=made.plan.version, is_elsewhere=is_elsewhere)
            if problem:
                return self._overtaken(writer, made, problem)
            here = at if is_elsewhere else stand(snapshot, writer.session)
            parent = entry_id(snapshot, writer.session, at.leaf) if is_elsewhere else Parent.LEAF
            change = change_of(
                snapshot, at, here, made, policy=self.policy, tokens=self.tokens, parent=parent
            )
        if not change.is_gain:
            return self._no_gain(writer, made, change)
        ids = writer.fresh_ids(len(change.records))
        writer.append(*change.records, parent=parent, cause=ids[0], expected=version, ids=ids)
        return Compacted(
            outcome="compacted",
            events=ids,
            plan=made.plan,
            tokens_after=change.tokens_after,
            missing=made.summary.missing,
            continued=change.continued,
        )

    def _cancelled(
        self, writer: SessionWriter, said: Cancel, plan: Plan, reason: Reason, troubles: Troubles
    ) -> Compacted:
        decisions = self._put_down(writer, "cancelled", said.reason, reason=reason)
        return Compacted(
            outcome="cancelled", reason=said.reason, decisions=decisions, plan=plan, troubles=troubles
        )

    def _overtaken(self, writer: SessionWriter, made: Made, problem: str) -> Compacted:
        """Nothing is left to do; a summary that was asked for all the same was paid for, and its record stays."""
        kept: list[str] = []
        if made.summary.request:
            request = {"reason": made.reason, "policy": self.policy.name, **made.summary.request}
            kept = writer.append(Attempt(request=request, error=problem))
        return Compacted(outcome="nothing", reason=problem, decisions=kept, plan=made.plan)

    def _no_gain(self, writer: SessionWriter, made: Made, change: Change) -> Compacted:
        """Nothing is gained by a context that is no smaller: it stays, and the log says so."""
        before, after = change.tokens_before, change.tokens_after
        why = f"the context would have {after} tokens in place of {before}"
        numbers = {"tokensBefore": before, "tokensAfter": after, "firstKept": made.plan.cut.first_kept}
        decisions = self._put_down(
            writer, "no-gain", why, **numbers, reason=made.reason, **made.summary.request
        )
        return Compacted(
            outcome="no-gain", reason=why, decisions=decisions, plan=made.plan, tokens_after=after
        )

    def _put_down(self, writer: SessionWriter, outcome: Outcome, why: str, **numbers: object) -> list[str]:
        return writer.append(
            Decision(outcome=outcome, reason=why, policy=self.policy.name, numbers=dict(numbers))
        )
