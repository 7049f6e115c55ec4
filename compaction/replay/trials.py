"""Compact a recorded session at a boundary by another policy, without appending anything."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compaction.composing import Draft, compose_compaction
from compaction.part import Limits
from compaction.plan import Plan, plan_compaction
from compaction.policy.model import Policy
from compaction.replay.boundaries import Boundary
from compaction.replay.variants import Variant
from compaction.rewriting import plan_rewrites
from compaction.summary import SummaryOptions, summarize_plan
from compaction.templates import with_session
from eventstore.errors import RefoldError
from eventstore.formats.refold.events import compose
from eventstore.log import Snapshot
from eventstore.paths import event as event_at
from eventstore.preview import Preview
from eventstore.records import Record
from projections.context.build import context_at
from projections.context.cursor import Cursor, resolve_cursor
from projections.context.parts import Context
from projections.replacement import end_of_change
from projections.tokens import counter


class NothingToCompactError(RefoldError):
    """A variant would leave the context as it is."""

    def __init__(self, why: str) -> None:
        super().__init__(why)


def try_variant(
    snapshot: Snapshot, cursor: Cursor, boundary: Boundary, variant: Variant, *, limits: Limits
) -> Context:
    """Return the context that a variant makes of the one at a boundary.

    Raises NothingToCompactError, SummarizersFailedError, and what a policy's parts raise.
    """
    here = cursor.at_leaf(boundary.leaf.seq)
    if variant.policy is None:
        if not boundary.compaction:
            raise NothingToCompactError("the session was not compacted here")
        event = event_at(snapshot, cursor.session, boundary.compaction).decode()
        return context_at(snapshot, cursor.at_leaf(end_of_change(event, snapshot, cursor)))
    if variant.drops:
        kept = _plan(snapshot, here, variant.policy, limits).kept
        return msgspec.structs.replace(context_at(snapshot, here), parts=kept)
    prospect = _compacted(snapshot, here, variant, variant.policy, limits)
    return context_at(prospect, resolve_cursor(prospect, cursor.session))


def _plan(snapshot: Snapshot, here: Cursor, policy: Policy, limits: Limits) -> Plan:
    plan = plan_compaction(snapshot, here, policy, limits=limits, tokens=counter(policy.counter))
    if isinstance(plan, str):
        raise NothingToCompactError(plan)
    return plan


def _compacted(
    snapshot: Snapshot, here: Cursor, variant: Variant, policy: Policy, limits: Limits
) -> Snapshot:
    """Return the session with the policy's rewrites and its compaction below an entry."""
    tokens = counter(policy.counter)
    leaf = event_at(snapshot, here.session, here.leaf).id
    rewritten = plan_rewrites(
        snapshot,
        here.session,
        policy.rewrites,
        tokens=tokens,
        is_compacting=policy.cut is not None,
        leaf=leaf,
    ).records
    if policy.cut is None:
        if not rewritten:
            raise NothingToCompactError("no rewrite of the policy shortens anything")
        return _with(snapshot, here.session, rewritten, leaf)
    if rewritten:
        snapshot = _with(snapshot, here.session, rewritten, leaf)
        here = resolve_cursor(snapshot, here.session)
        leaf = event_at(snapshot, here.session, here.leaf).id
    plan = _plan(snapshot, here, policy, limits)
    summary = summarize_plan(
        plan,
        policy.prompting,
        variant.chain,
        tokens=tokens,
        sources=with_session(variant.sources, snapshot, here),
        options=SummaryOptions(template=variant.template),
    )
    composed = compose_compaction(
        snapshot,
        here,
        here,
        Draft(plan=plan, summary=summary, reason="threshold"),
        policy=policy,
        limits=limits,
        tokens=tokens,
        parent=leaf,
    )
    if not composed.is_gain:
        raise NothingToCompactError("the context would not get smaller")
    return _with(snapshot, here.session, composed.records, leaf)


def _with(snapshot: Snapshot, session: str, records: Sequence[Record], parent: str) -> Snapshot:
    """Return a snapshot with records below an entry of a session, the leaf at their last."""
    events, above = [], parent
    version = snapshot.head(session).version
    for number, record in enumerate(records, version + 1):
        events.append(compose(record, id=f"\0{number}", time=None, parent=above))
        above = events[-1].id
    return Preview(snapshot, session, events)
