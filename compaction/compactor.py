"""Compacting: a plan, a summary, and one append of all that it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from compaction.continuation import Continued, continuation
from compaction.cuts import AnyCut
from compaction.file_tags import with_file_tags
from compaction.hooks import Cancel, Hooks, Prompted, Supplied, Troubles
from compaction.memory import notes_of
from compaction.part import Limits
from compaction.plan import Plan, plan_compaction
from compaction.policies import Placement, Policy
from compaction.prospect import Prospect
from compaction.request_record import request_record
from compaction.restore import restored
from compaction.rewrites import Evict, Offload, scene
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.asking import Asker, AskingError
from compaction.summary import NO_WISHES, Summary, Wishes, summarize
from compaction.templates import Source, with_session
from eventstore.errors import VersionConflictError
from eventstore.event import Parent
from eventstore.frame import decode, header_of
from eventstore.log import Snapshot
from eventstore.records import Attempt, Compaction, Decision, Record, Rewrite, compose
from eventstore.writing import SessionWriter
from projections.context import context_at
from projections.standpoint import Leaf, Standpoint, path, stand
from projections.tokens import Counter

Reason = Literal["manual", "overflow", "incomplete", "threshold", "idle"]
Outcome = Literal["compacted", "nothing", "cancelled", "no-gain"]


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a compaction.

    `outcome`: it was done, there was nothing to do, a hook called it off, or the context would have got no
    smaller. `events` are the ids of what was appended, the compaction's first; `missing` the sections that
    the summary lacks; `troubles` what hooks that raised said.
    """

    outcome: Outcome
    reason: str = ""
    events: list[str] = []
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
    ) -> Compacted:
        """Compact a session where it stands, or at another leaf; `continues`: with the policy's continuation.

        Everything is appended at once, and can be undone as one: the compaction, images that give way, what
        is shown again, and the message that goes on. A request that fails or is cancelled leaves the tree as
        it was, and an `attempt`. Where somebody has appended to the branch in the meantime, the summary
        stands all the same, for what it covers has not changed; where somebody has compacted it, there is
        nothing to do. Raises AskingError, CancelledError, NotFoundError, VersionConflictError.
        """
        with writer.log.snapshot() as snapshot:
            at = stand(snapshot, writer.session, leaf=leaf)
            plan = plan_compaction(snapshot, at, self.policy, limits=self.limits, tokens=self.tokens, cut=cut)
            sources = with_session(self.sources, snapshot, at)
            notes = notes_of(path(snapshot, at), self.policy.memory)
        if plan is None:
            return Compacted(outcome="nothing", reason="nothing to summarize")
        troubles = Troubles()
        said, data, wishes = self._hooked(plan, wishes, troubles)
        if isinstance(said, Cancel):
            writer.append(Decision(outcome="cancelled", reason=said.reason, policy=self.policy.name))
            return Compacted(outcome="cancelled", reason=said.reason, plan=plan, troubles=troubles)
        if said is None and notes:
            said = Supplied(summary=notes)
        if isinstance(said, Supplied):
            summary = Summary(text=said.summary, short=said.short_summary)
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
        for trouble in troubles:
            writer.append(Decision(outcome="hook failed", reason=trouble, policy=self.policy.name))
        return msgspec.structs.replace(done, troubles=troubles)

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
                if not is_elsewhere and not _only_grew(snapshot, at, here):
                    return Compacted(
                        outcome="nothing", reason="somebody has compacted or left the branch", plan=made.plan
                    )
                compaction, more, continued = self._records(snapshot, at, made)
                parent = _id(snapshot, here) if is_elsewhere else Parent.LEAF
                after = self._tokens_after(snapshot, here, compaction)
            if after >= made.plan.tokens_before:
                return self._no_gain(writer, made, after)
            records = [msgspec.structs.replace(compaction, tokens_after=after), *more]
            ids = writer.fresh_ids(len(records))
            try:
                writer.append(*records, parent=parent, cause=ids[0], expected=version, ids=ids)
            except VersionConflictError:
                continue
            return Compacted(
                outcome="compacted",
                events=ids,
                plan=made.plan,
                tokens_after=after,
                missing=made.summary.missing,
                continued=continued,
            )

    def _records(
        self, snapshot: Snapshot, at: Standpoint, made: _Made
    ) -> tuple[Compaction, list[Record], Continued]:
        plan, summary = made.plan, made.summary
        before = context_at(snapshot, at).parts
        kept = set(plan.cut.kept)
        way = self.policy.continuation if made.continues else "none"
        continued = continuation(way, before, kept, entries=path(snapshot, at))
        more: list[Record] = []
        if plan.cut.shrinks_to is not None:
            more += self._shrunk(at.session, plan, plan.cut.shrinks_to)
        if continued.evicts:
            targets = Evict().plan(scene(at.session, plan.kept, self.tokens))
            more += [Rewrite(reason="evict", targets=targets)] if targets else []
        if self.policy.restoring:
            more += restored(scene(at.session, before, self.tokens), self.policy.restoring, kept, self.tokens)
        more += [continued.record] if continued.record else []
        return (
            Compaction(
                summary=with_file_tags(summary.text, plan.files),
                short_summary=summary.short,
                first_kept_entry_id=plan.cut.first_kept,
                tokens_before=plan.tokens_before,
                details=plan.files,
                placement=self._placement(made.reason),
                reason=made.reason,
                policy=self.policy.name,
                template=summary.template,
                from_extension=made.is_supplied,
                preserve_data=made.preserve_data,
                request=_request(summary),
            ),
            more,
            continued,
        )

    def _placement(self, reason: Reason) -> Placement:
        is_reactive = reason == "overflow" and self.policy.recovery is not None
        return "reactive-compact" if is_reactive else self.policy.placement

    def _shrunk(self, session: str, plan: Plan, budget: int) -> list[Record]:
        """A rewrite of the largest results of what is kept, so that it fits a budget if it can."""
        seen = scene(session, plan.kept, self.tokens)
        others = sum(line.tokens for line in seen.lines if not line.is_result)
        room = max(budget - others, 0) * sum(line.characters for line in seen.results)
        characters = room // max(sum(line.tokens for line in seen.results), 1)
        targets = Offload(characters=characters).plan(seen)
        return [Rewrite(reason="offload", targets=targets)] if targets else []

    def _tokens_after(self, snapshot: Snapshot, here: Standpoint, compaction: Compaction) -> int:
        """The size of the context right behind a compaction that is not there yet."""
        event = compose(compaction, id="\0", time=None, parent=_id(snapshot, here))
        prospect = Prospect(snapshot, here.session, event)
        return sum(self.tokens.count(context_at(prospect, stand(prospect, here.session)).parts))

    def _no_gain(self, writer: SessionWriter, made: _Made, after: int) -> Compacted:
        """Nothing is gained by a context that is no smaller: it stays, and the log says so."""
        before = made.plan.tokens_before
        numbers = {"tokensBefore": before, "tokensAfter": after, "firstKept": made.plan.cut.first_kept}
        numbers |= _request(made.summary)
        reason = f"the context would have {after} tokens in place of {before}"
        writer.append(Decision(outcome="no-gain", reason=reason, policy=self.policy.name, numbers=numbers))
        return Compacted(outcome="no-gain", reason=reason, plan=made.plan, tokens_after=after)


def _request(summary: Summary) -> dict[str, Any]:
    return request_record(summary.requests, missing=summary.missing, left_out=summary.left_out)


def _only_grew(snapshot: Snapshot, at: Standpoint, here: Standpoint) -> bool:
    """Whether a branch is what it was, or longer, with the same compaction in effect."""
    frames = {head.seq: head for head in map(header_of, snapshot.path(here.session, here.leaf))}
    return at.leaf in frames and frames[at.leaf].compaction_seq == frames[here.leaf].compaction_seq


def _id(snapshot: Snapshot, at: Standpoint) -> str | None:
    return decode(snapshot.frame(at.session, at.leaf), at.session).id if at.leaf else None
