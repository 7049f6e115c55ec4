"""Compact a recorded session at a boundary by another policy, without appending anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.composing import Draft, compose_compaction
from compaction.part import Limits
from compaction.plan import plan_compaction
from compaction.policy.model import Policy
from compaction.replay.boundaries import Boundary
from compaction.replay.program import Program, ProgramError, compact_by_program
from compaction.replay.variants import Variant
from compaction.rewriting import plan_rewrites
from compaction.summary import SummaryOptions, summarize_plan
from compaction.templates import with_session
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

_SAME_SIZE: Final = 0.02
"""The maximum relative difference of two sizes that count as the same."""
_NO_GAIN: Final = "the context would not get smaller"


def try_variant(
    snapshot: Snapshot, cursor: Cursor, boundary: Boundary, variant: Variant, *, limits: Limits
) -> Context | str:
    """Return the context that a variant makes at a boundary, or why there is nothing to do.

    Raises SummarizersFailedError, and what a policy's parts raise.
    """
    here = cursor.at_leaf(boundary.leaf.seq)
    if variant.program is not None:
        return _by_program(snapshot, here, variant.program, limits)
    if variant.policy is None:
        if boundary.compaction is None:
            return "the session was not compacted here"
        return context_at(snapshot, cursor.at_leaf(end_of_change(boundary.compaction, snapshot, cursor)))
    policy = variant.policy
    if not variant.drops:
        after = compacted(snapshot, here, variant, policy, limits)
        return after if isinstance(after, str) else context_at(after, resolve_cursor(after, here.session))
    plan = plan_compaction(snapshot, here, policy, limits=limits, tokens=counter(policy.counter))
    if isinstance(plan, str):
        return plan
    return msgspec.structs.replace(context_at(snapshot, here), parts=plan.kept)


def try_of_recorded_size(
    snapshot: Snapshot, cursor: Cursor, boundary: Boundary, variant: Variant, *, limits: Limits
) -> Context | str:
    """Return a variant's context, cut so that it is about as large as the recorded one.

    The sizes differ by at most 2 %. Return why there is none, also if no tail makes it so. A variant without a policy
    is tried as it is. Raises SummarizersFailedError.
    """
    if variant.policy is None or boundary.compaction is None:
        return try_variant(snapshot, cursor, boundary, variant, limits=limits)
    if variant.policy.cut is None:
        return "the policy has no cut whose size could be chosen"
    recorded = context_at(snapshot, cursor.at_leaf(end_of_change(boundary.compaction, snapshot, cursor)))
    wanted = _size(recorded)
    # A longer tail makes a larger context, but for the summary of what is left.
    least, most = 0, _size(context_at(snapshot, cursor.at_leaf(boundary.leaf.seq)))
    nearest, reason = 0, ""
    while least <= most:
        tokens = (least + most) // 2
        policy = variant.policy.keeping(tokens)
        found = try_variant(
            snapshot, cursor, boundary, msgspec.structs.replace(variant, policy=policy), limits=limits
        )
        if isinstance(found, str):
            # With nearly everything kept, there is nothing to compact.
            reason, most = found, tokens - 1
            continue
        size = _size(found)
        if abs(size - wanted) <= _SAME_SIZE * wanted:
            return found
        nearest = min(nearest or size, size, key=lambda each: abs(each - wanted))
        least, most = (tokens + 1, most) if size < wanted else (least, tokens - 1)
    if not nearest:
        return reason
    return f"no cut makes the context as large as the recorded one: at best {nearest:,} of {wanted:,} tokens"


def _size(context: Context) -> int:
    return sum(counter("utf16/4").count(context.parts))


def _by_program(snapshot: Snapshot, here: Cursor, program: Program, limits: Limits) -> Context | str:
    before = context_at(snapshot, here)
    try:
        after = compact_by_program(snapshot, before, program, limits)
    except ProgramError as error:
        return str(error)
    if _size(after) >= _size(before):
        return _NO_GAIN
    return after


def compacted(
    snapshot: Snapshot, here: Cursor, variant: Variant, policy: Policy, limits: Limits
) -> Snapshot | str:
    """Return the session after a policy's rewrites and its compaction, or why there are none.

    Raises SummarizersFailedError.
    """
    tokens = counter(policy.counter)
    leaf = event_at(snapshot, here.session, here.leaf).id
    is_compacting = policy.cut is not None
    rewritten = plan_rewrites(
        snapshot, here.session, policy.rewrites, tokens=tokens, is_compacting=is_compacting, leaf=leaf
    ).records
    if rewritten:
        snapshot = _with(snapshot, here.session, rewritten, leaf)
        here = resolve_cursor(snapshot, here.session)
        leaf = event_at(snapshot, here.session, here.leaf).id
    if not is_compacting:
        return snapshot if rewritten else "no rewrite of the policy shortens anything"
    plan = plan_compaction(snapshot, here, policy, limits=limits, tokens=tokens)
    if isinstance(plan, str):
        return plan
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
        return _NO_GAIN
    return _with(snapshot, here.session, composed.records, leaf)


def _with(snapshot: Snapshot, session: str, records: Sequence[Record], parent: str) -> Snapshot:
    """Return a snapshot with records below an entry of a session, the leaf at their last."""
    events, above = [], parent
    version = snapshot.head(session).version
    for number, record in enumerate(records, version + 1):
        events.append(compose(record, id=f"\0{number}", time=None, parent=above))
        above = events[-1].id
    return Preview(snapshot, session, events)
