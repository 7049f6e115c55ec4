"""Find content that was sent to the model but is in no record, and estimate its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, islice, pairwise
from typing import Final, NamedTuple

import msgspec

from eventstore.checked import checked
from eventstore.errors import CorruptionError
from eventstore.formats import view_of
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event, events, path
from projections.audit.calls import Measure, ModelCall, expected_prompt, growth_ratio, is_jump
from projections.context.build import context_at
from projections.context.cursor import Cursor, resolve_cursor
from projections.context.parts import Context, Part
from projections.rules import rules_named
from projections.rules.base import SYSTEM_PROMPT, TOOL_DEFINITIONS, Gap, Rules
from projections.settings import harness_prompt
from projections.tokens import Counter
from projections.usage import LateUsages, measured_usage

UNRECORDED: Final = "unrecorded content"
CLEARED: Final = "content removed without a record"
_NOISE: Final = 500
"""Minimum tokens of a gap; below this, the estimate's error is larger."""


class _Measured(NamedTuple):
    """A call on a path, with its size."""

    seq: int
    id: str
    size: Measure


def context_gaps(snapshot: Snapshot, context: Context, tokens: Counter) -> list[Gap]:
    """Return the gaps of a context, oldest first; none if it has no messages.

    Sizes come from the usage of the calls in the context. The cost follows the size of the context.
    """
    if not context.parts:
        return []
    cursor = resolve_cursor(snapshot, context.session, leaf=context.leaf, as_of=context.as_of)
    compaction = event(snapshot, cursor.session, cursor.leaf).compaction_seq
    calls = list(_calls_in(snapshot, cursor, context, tokens, compaction))
    first = None
    if compaction:
        # A damaged call hides only sizes; the context itself does not need it.
        with suppress(CorruptionError), checked(snapshot) as sound:
            first = _first_call(sound, cursor, tokens)
    entries = path(snapshot, cursor.session, cursor.leaf, first=compaction or 1)
    return _gaps(snapshot, cursor, rules_named(context.rules), entries, [first, *calls] if first else calls)


def path_gaps(snapshot: Snapshot, cursor: Cursor, rules: Rules, calls: Iterable[ModelCall]) -> list[Gap]:
    """Return the gaps of all contexts on a leaf's path, oldest first; `calls` are the path's."""
    if not cursor.leaf:
        return []
    measured = [_Measured(call.seq, call.id, call.measure) for call in calls]
    return _gaps(snapshot, cursor, rules, path(snapshot, cursor.session, cursor.leaf), measured)


def _gaps(
    snapshot: Snapshot, cursor: Cursor, rules: Rules, entries: Iterable[LazyEvent], calls: Sequence[_Measured]
) -> list[Gap]:
    ratio = growth_ratio(
        (call.size.prompt - before.size.prompt, call.size.tokens - before.size.tokens)
        for before, call in pairwise(calls)
        if before.size.compaction == call.size.compaction
    )
    fixed = round(calls[0].size.prompt - ratio * calls[0].size.tokens) if calls else 0
    found = [_scaled(gap, ratio) for gap in rules.gaps(snapshot, entries)]
    missing = _missing_prompt(snapshot, cursor, rules)
    if missing:
        found.insert(0, Gap(what=missing, tokens=max(fixed, 0) if calls else None))
    for before, call in pairwise(calls):
        unexplained = call.size.prompt - expected_prompt(before.size, call.size, ratio=ratio, fixed=fixed)
        found = list(_explained(found, before, call, unexplained))
    return sorted(found, key=lambda gap: gap.seq)


def _scaled(gap: Gap, ratio: float) -> Gap:
    return gap if gap.tokens is None else msgspec.structs.replace(gap, tokens=round(ratio * gap.tokens))


def _missing_prompt(snapshot: Snapshot, cursor: Cursor, rules: Rules) -> str:
    """Describe the unrecorded content before the messages of every request; "" for none."""
    prompt = harness_prompt(snapshot, cursor)
    known = {SYSTEM_PROMPT} if prompt.system else set[str]()
    known |= {TOOL_DEFINITIONS} if prompt.tools else set[str]()
    *others, last = [each for each in rules.unrecorded if each not in known] or [""]
    return f"{', '.join(others)} and {last}" if others else last


def _explained(gaps: Iterable[Gap], before: _Measured, call: _Measured, unexplained: int) -> Iterator[Gap]:
    """Size the one gap between two calls, or yield a gap that only the calls' sizes reveal."""
    between = [gap for gap in gaps if before.seq < gap.seq <= call.seq]
    # Content that the rules remove is in no context that refold builds.
    unexplained -= sum(max(gap.tokens or 0, 0) for gap in between)
    unsized = next((gap for gap in between if gap.tokens is None), None)
    for gap in gaps:
        is_sized_here = gap is unsized and abs(unexplained) >= _NOISE
        yield msgspec.structs.replace(gap, tokens=unexplained) if is_sized_here else gap
    if unsized is None and is_jump(before.size, call.size, unexplained):
        what = UNRECORDED if unexplained > 0 else CLEARED
        yield Gap(what=what, event=call.id, seq=call.seq, tokens=unexplained)


def _calls_in(
    snapshot: Snapshot, cursor: Cursor, context: Context, tokens: Counter, compaction: int
) -> Iterator[_Measured]:
    """Yield the measured calls in a context that have the same compaction in effect."""
    late = LateUsages(snapshot, cursor.session, first=compaction + 1, last=cursor.as_of)
    sizes = accumulate(tokens.count(context.parts), initial=0)
    for part, size in zip(context.parts, sizes, strict=False):
        if part.role == "assistant" and part.session == cursor.session:
            its = event(snapshot, cursor.session, part.seq)
            if its.compaction_seq == compaction:
                yield from islice(_measured(snapshot, part, size, late), 1)


def _measured(snapshot: Snapshot, part: Part, size: int, late: LateUsages) -> Iterator[_Measured]:
    """Yield a message's call once for each of its records that has its usage, the last first."""
    for session, seq in reversed(part.events):
        its = event(snapshot, session, seq)
        for message in view_of(its).messages:
            usage = measured_usage(late.added(its.id, message))
            if usage is not None:
                yield _Measured(seq, its.id, Measure(usage.prompt, size, its.compaction_seq))


def _first_call(snapshot: Snapshot, cursor: Cursor, tokens: Counter) -> _Measured | None:
    """Return the session's first measured call.

    The size that its messages do not explain is in every request.
    """
    for each in events(snapshot, cursor.session, last=cursor.as_of):
        if each.role != "assistant":
            continue
        usage = next(filter(None, map(measured_usage, view_of(each).messages)), None)
        if usage is not None:
            sent = context_at(snapshot, cursor.at_leaf(each.parent_seq)).parts
            size = Measure(usage.prompt, sum(tokens.count(sent)), each.compaction_seq)
            return _Measured(each.seq, each.id, size)
    return None
