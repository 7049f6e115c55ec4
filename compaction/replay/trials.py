"""Compact a recorded session at a boundary by another policy, without appending anything."""

from __future__ import annotations

from itertools import count
from typing import Final

import msgspec

from compaction.compactor import Compactor
from compaction.part import Limits
from compaction.plan import plan_compaction
from compaction.policy.model import Policy
from compaction.processes import ProgramError
from compaction.replay.boundaries import Boundary
from compaction.replay.program import Program, compact_by_program
from compaction.replay.variants import Variant
from compaction.rewriting import record_rewrites
from compaction.summary import SummaryOptions
from eventstore.log import Snapshot
from eventstore.paths import event as event_at
from eventstore.preview import PreviewLog
from eventstore.writing import SessionWriter
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
    wanted = _size(recorded) + boundary.reckoned
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
    session, tokens = here.session, counter(policy.counter)
    log = PreviewLog(snapshot, session)
    writer, leaf = preview_writer(log, session), event_at(snapshot, session, here.leaf).id
    rewritten = record_rewrites(
        writer,
        policy.rewrites,
        tokens=tokens,
        is_compacting=policy.cut is not None,
        leaf=leaf,
        since=snapshot.head(session).version,
    ).events
    if policy.cut is not None:
        compactor = Compactor(
            policy=policy, chain=variant.chain, limits=limits, tokens=tokens, sources=variant.sources
        )
        done = compactor.compact(
            writer,
            reason="threshold",
            options=SummaryOptions(template=variant.template),
            leaf=[leaf, *rewritten][-1],
        )
        if done.outcome != "compacted":
            return _NO_GAIN if done.outcome == "no-gain" else done.reason
    elif not rewritten:
        return "no rewrite of the policy shortens anything"
    with log.snapshot() as preview:
        return preview


def preview_writer(log: PreviewLog, session: str) -> SessionWriter:
    """Return a writer that reads no clock and draws no random ids."""
    numbers = count(1)
    return SessionWriter(log, session, clock=lambda: 0, new_id=lambda: f"new-{next(numbers)}")
