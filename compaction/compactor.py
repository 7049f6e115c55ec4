"""Compacting: a plan, a summary, and one append of all that it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from compaction.continuation import Continued, continuation
from compaction.cuts import AnyCut
from compaction.hooks import Cancel, Hooks, Prompted, Supplied, Troubles
from compaction.navigation.branch import entry_id
from compaction.part import Limits
from compaction.plan import Plan, plan_compaction
from compaction.policies import Placement, Policy
from compaction.prospect import foreseen
from compaction.restore import restored
from compaction.rewrites import Evict, Offload, shown_after, sized
from compaction.summaries.file_tags import with_file_tags
from compaction.summaries.memory import notes_of
from compaction.summaries.request_record import request_record
from compaction.summaries.summary import NO_WISHES, Summary, Wishes, summarize
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.asking import Asker, AskingError
from compaction.templates import Source, with_session
from eventstore.errors import VersionConflictError
from eventstore.event import Parent
from eventstore.frame import decode, header_of
from eventstore.log import Snapshot
from eventstore.records import Attempt, Compaction, Decision, Record, Rewrite, compose
from eventstore.writing import SessionWriter
from projections.context import context_at
from projections.coverage import bears_message
from projections.standpoint import Leaf, Standpoint, path, stand
from projections.tokens import Counter

Reason = Literal["manual", "tool", "overflow", "incomplete", "threshold", "idle"]
Outcome = Literal["compacted", "nothing", "cancelled", "no-gain"]
_PREVIEWS: Final = (2_000, 1_000, 500, 250, 125, 0)
"""How many characters results that have to shrink may show of themselves: the most with which they fit."""


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


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    """All that goes into a compaction's record beside what the log says."""

    plan: Plan
    summary: Summary
    reason: Reason
    preserve_data: dict[str, Any]
    is_supplied: bool
    continues: bool


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction appends, and the size of the context with all of it."""

    records: list[Record]
    continued: Continued
    tokens_before: int
    tokens_after: int


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
        at = stand(snapshot, session, leaf=leaf)
        return plan_compaction(snapshot, at, self.policy, limits=self.limits, tokens=self.tokens, cut=cut)

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
        that was asked for, there is nothing to do. Raises AskingError, CancelledError, NotFoundError,
        VersionConflictError.
        """
        with writer.log.snapshot() as snapshot:
            at = stand(snapshot, writer.session, leaf=leaf)
            plan = plan_compaction(snapshot, at, self.policy, limits=self.limits, tokens=self.tokens, cut=cut)
            sources = with_session(self.sources, snapshot, at)
            notes = notes_of(path(snapshot, at), self.policy.memory)
        if plan is None:
            return Compacted(outcome="nothing", reason="nothing to summarize")
        troubles = Troubles()
        try:
            said, data, wishes = self._hooked(plan, wishes, troubles)
            if isinstance(said, Cancel):
                return self._cancelled(writer, said, plan, reason, troubles)
            decided = writer.append(decision) if decision is not None else []
            if isinstance(said, Supplied):
                summary = Summary(text=said.summary, short=said.short_summary)
            elif notes:
                summary = Summary(text=notes)
            else:
                summary = self._summary(writer, plan, sources, wishes, reason)
            made = _Made(
                plan=plan,
                summary=summary,
                reason=reason,
                preserve_data=data,
                is_supplied=isinstance(said, Supplied),
                continues=continues,
            )
            done = self._append(writer, at, made, is_elsewhere=leaf is not None)
            for hooks in self.hooks if done.outcome == "compacted" else ():
                troubles.ask(hooks, "after_compaction", done.events)
        finally:
            for trouble in troubles:
                writer.append(Decision(outcome="hook failed", reason=trouble, policy=self.policy.name))
        return msgspec.structs.replace(done, decisions=[*decided, *done.decisions], troubles=troubles)

    def _cancelled(
        self, writer: SessionWriter, said: Cancel, plan: Plan, reason: Reason, troubles: Troubles
    ) -> Compacted:
        decision = Decision(
            outcome="cancelled", reason=said.reason, policy=self.policy.name, numbers={"reason": reason}
        )
        decided = writer.append(decision)
        return Compacted(
            outcome="cancelled", reason=said.reason, decisions=decided, plan=plan, troubles=troubles
        )

    def _hooked(
        self, plan: Plan, wishes: Wishes, troubles: Troubles
    ) -> tuple[Cancel | Supplied | None, dict[str, Any], Wishes]:
        """What hooks say before: the first that cancels or supplies leads, all may add to the prompt."""
        for hooks in self.hooks:
            said = troubles.ask(hooks, "before_compaction", plan)
            if isinstance(said, Cancel | Supplied):
                return said, said.preserve_data if isinstance(said, Supplied) else {}, wishes
        data: dict[str, Any] = {}
        for hooks in self.hooks:
            added = troubles.ask(hooks, "prompting", plan)
            if isinstance(added, Prompted):
                data |= added.preserve_data
                wishes = msgspec.structs.replace(
                    wishes, prompt=added.prompt or wishes.prompt, context=(*wishes.context, *added.context)
                )
        return None, data, wishes

    def _summary(
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

    def _append(self, writer: SessionWriter, at: Standpoint, made: _Made, *, is_elsewhere: bool) -> Compacted:
        """One append of all that changes; where somebody was faster, once more after another look."""
        while True:
            with writer.log.snapshot() as snapshot:
                version = snapshot.head(writer.session).version
                here = at if is_elsewhere else stand(snapshot, writer.session)
                overtaken = ""
                if not is_elsewhere and not _only_grew(snapshot, at, here):
                    overtaken = "somebody has compacted or left the branch"
                if is_elsewhere and _went_on(snapshot, at, made.plan.version):
                    overtaken = "somebody has compacted that leaf or gone on from it"
                if overtaken:
                    return Compacted(outcome="nothing", reason=overtaken, plan=made.plan)
                parent = entry_id(snapshot, writer.session, here.leaf) if is_elsewhere else Parent.LEAF
                change = self._change(snapshot, at, here, made, parent)
            if change.tokens_after >= change.tokens_before:
                return self._no_gain(writer, made, change)
            ids = writer.fresh_ids(len(change.records))
            try:
                writer.append(*change.records, parent=parent, cause=ids[0], expected=version, ids=ids)
            except VersionConflictError:
                continue
            return Compacted(
                outcome="compacted",
                events=ids,
                plan=made.plan,
                tokens_after=change.tokens_after,
                missing=made.summary.missing,
                continued=change.continued,
            )

    def _change(
        self, snapshot: Snapshot, at: Standpoint, here: Standpoint, made: _Made, parent: str | Parent | None
    ) -> _Change:
        """What is appended `here` for a plan that was made `at` the same leaf, or one before it."""
        plan = made.plan
        before, entries = context_at(snapshot, here).parts, path(snapshot, here)
        come_since = [entry.id for entry in entries if entry.seq > at.leaf]
        kept = {*plan.cut.kept, *come_since}
        more: list[Record] = []
        if plan.cut.shrinks_to is not None:
            more += self._shrunk(at.session, plan, plan.cut.shrinks_to)
        way = self.policy.continuation if made.continues else "none"
        continued = continuation(way, before, kept, entries=entries)
        if continued.evicts:
            staying = [part for part in before if part.id in kept]
            targets = Evict().plan(sized(at.session, staying, self.tokens))
            more += [Rewrite(reason="evict", targets=targets)] if targets else []
        if self.policy.restoring:
            more += restored(sized(at.session, before, self.tokens), self.policy.restoring, kept, self.tokens)
        more += [continued.record] if continued.record else []
        compaction = Compaction(
            summary=with_file_tags(made.summary.text, plan.files),
            short_summary=made.summary.short,
            first_kept_entry_id=plan.cut.first_kept or next(iter(come_since), ""),
            tokens_before=sum(self.tokens.count(before)),
            details=plan.files,
            placement=self._placement(made.reason),
            reason=made.reason,
            policy=self.policy.name,
            template=made.summary.template,
            from_extension=made.is_supplied,
            preserve_data=made.preserve_data,
            request=_request(made.summary),
        )
        after = self._tokens_after(snapshot, here.session, [compaction, *more], parent)
        return _Change(
            records=[msgspec.structs.replace(compaction, tokens_after=after), *more],
            continued=continued,
            tokens_before=compaction.tokens_before,
            tokens_after=after,
        )

    def _placement(self, reason: Reason) -> Placement:
        is_reactive = reason == "overflow" and self.policy.recovery is not None
        return "reactive-compact" if is_reactive else self.policy.placement

    def _shrunk(self, session: str, plan: Plan, budget: int) -> list[Record]:
        """A rewrite of the largest results of what is kept, so that it fits a budget if it can."""
        seen = sized(session, plan.kept, self.tokens)
        others = sum(each.tokens for each in seen.messages if not each.is_result)
        room = max(budget - others, 0) * sum(each.characters for each in seen.results)
        characters = room // max(sum(each.tokens for each in seen.results), 1)
        for preview in _PREVIEWS:
            targets = Offload(characters=characters, preview=preview).plan(seen)
            if sum(each.tokens for each in shown_after(seen, targets, self.tokens).messages) <= budget:
                break
        return [Rewrite(reason="offload", targets=targets)] if targets else []

    def _tokens_after(
        self, snapshot: Snapshot, session: str, records: Sequence[Record], parent: str | Parent | None
    ) -> int:
        """The size of the context with records that are not there yet."""
        events, above = [], parent
        for number, record in enumerate(records):
            events.append(compose(record, id=f"\0{number}", time=None, parent=above))
            above = events[-1].id
        prospect = foreseen(snapshot, session, events)
        return sum(self.tokens.count(context_at(prospect, stand(prospect, session)).parts))

    def _no_gain(self, writer: SessionWriter, made: _Made, change: _Change) -> Compacted:
        """Nothing is gained by a context that is no smaller: it stays, and the log says so."""
        before, after = change.tokens_before, change.tokens_after
        numbers = {"tokensBefore": before, "tokensAfter": after, "firstKept": made.plan.cut.first_kept}
        numbers |= {"reason": made.reason, **_request(made.summary)}
        reason = f"the context would have {after} tokens in place of {before}"
        decision = Decision(outcome="no-gain", reason=reason, policy=self.policy.name, numbers=numbers)
        decided = writer.append(decision)
        return Compacted(
            outcome="no-gain", reason=reason, decisions=decided, plan=made.plan, tokens_after=after
        )


def _request(summary: Summary) -> dict[str, Any]:
    return request_record(summary.requests, missing=summary.missing, left_out=summary.left_out)


def _only_grew(snapshot: Snapshot, at: Standpoint, here: Standpoint) -> bool:
    """Whether a branch is what it was, or longer, with the same compaction in effect."""
    frames = {head.seq: head for head in map(header_of, snapshot.path(here.session, here.leaf))}
    return at.leaf in frames and frames[at.leaf].compaction_seq == frames[here.leaf].compaction_seq


def _went_on(snapshot: Snapshot, at: Standpoint, version: int) -> bool:
    """Whether a message or a compaction has come below a leaf since a version of the session."""
    for frame in snapshot.frames(at.session, first=version + 1):
        entry = decode(frame, at.session)
        if entry.kind == "compaction" or bears_message(entry):
            above = next(iter(snapshot.path(at.session, entry.seq, first=at.leaf)), None)
            if above is not None and header_of(above).seq == at.leaf:
                return True
    return False
