"""Find content that was sent to the model but is in no record, and estimate its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, pairwise
from typing import Final

import msgspec

from eventstore.checked import checked
from eventstore.errors import CorruptionError
from eventstore.harnesses import node_of
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, behind, event, path
from projections.audit.calls import (
    ModelCall,
    expected_prompt,
    first_call,
    fixed_tokens,
    is_jump,
    ratio_along,
    sized_calls,
)
from projections.audit.coverage import kept_entries
from projections.context.cursor import Cursor, resolve_cursor
from projections.context.parts import Context
from projections.rules import rules_named
from projections.rules.base import SENT_AGAIN, SYSTEM_PROMPT, TOOL_DEFINITIONS, Gap, Rules
from projections.settings import harness_prompt
from projections.tokens import Counter
from projections.usage import FAILED

UNRECORDED: Final = "unrecorded content"
CLEARED: Final = "content removed without a record"
KEPT: Final = "kept messages that no record has"
INTERRUPTED: Final = f"{CLEARED}, after an interrupted answer"
_NOISE: Final = 500
"""Minimum tokens of a gap; below this, the estimate's error is larger."""


def context_gaps(snapshot: Snapshot, context: Context, tokens: Counter) -> list[Gap]:
    """Return the gaps of a context, oldest first; none if it has no messages.

    Sizes are as in `path_gaps`; unknown if a call on the path is damaged.
    """
    if not context.parts:
        return []
    cursor = resolve_cursor(snapshot, context.session, leaf=context.leaf, as_of=context.as_of)
    calls, first = list[ModelCall](), None
    # A damaged call hides only sizes; the context itself does not need it.
    with suppress(CorruptionError), checked(snapshot) as sound:
        calls, first = _measured_calls(sound, cursor, tokens)
    compaction = event(snapshot, cursor.session, cursor.leaf).compaction_seq
    gaps = path_gaps(snapshot, cursor, rules_named(context.rules), calls, first)
    return [gap for gap in gaps if gap.seq == 0 or gap.seq >= compaction]


def _measured_calls(
    snapshot: Snapshot, cursor: Cursor, tokens: Counter
) -> tuple[list[ModelCall], ModelCall | None]:
    """Return the newest calls on a path, enough to size gaps, and the session's first call.

    So the cost follows the context, not the history.
    """
    compaction = event(snapshot, cursor.session, cursor.leaf).compaction_seq
    first = min(compaction, cursor.leaf - _NEWEST) - _BEFORE
    if not compaction or first <= 1:
        calls = sized_calls(snapshot, cursor, tokens)
        return calls, next(iter(calls), None)
    return sized_calls(snapshot, cursor, tokens, first=first), first_call(snapshot, cursor, tokens)


_NEWEST: Final = 1_000
"""Events at a leaf whose calls say how far estimates differ from a provider's counts."""
_BEFORE: Final = 50
"""Events before a compaction that usually include the last call before it."""


def path_gaps(
    snapshot: Snapshot,
    cursor: Cursor,
    rules: Rules,
    calls: Sequence[ModelCall],
    first: ModelCall | None,
) -> list[Gap]:
    """Return the gaps of all contexts on a leaf's path, oldest first.

    `calls` are the path's, or its newest; their usage gives the sizes. With the session's `first` call they give that
    of what comes before the messages, unless the session begins in the middle of a conversation.
    """
    if not cursor.leaf:
        return []
    ratio = ratio_along(calls)
    entries = list(path(snapshot, cursor.session, cursor.leaf))
    # Messages before the file's beginning would count as part of the prompt.
    is_whole = not rules.begins_midway(snapshot, entries[0])
    fixed = fixed_tokens(calls, first, ratio=ratio) if first and is_whole else None
    found = [_scaled(gap, ratio) for gap in chain(rules.gaps(snapshot, entries), _kept(snapshot, entries))]
    if missing := unrecorded_prompt(snapshot, cursor, rules):
        *others, last = missing
        found.insert(0, Gap(what=f"{', '.join(others)} and {last}" if others else last, tokens=fixed))
    for before, call in pairwise(calls):
        if fixed is None and before.compaction != call.compaction:
            continue
        expected = expected_prompt(before, call, ratio=ratio, fixed=fixed or 0)
        unexplained = call.usage.prompt - expected
        is_jump_down = unexplained < 0 and is_jump(before, call, unexplained)
        cleared = INTERRUPTED if is_jump_down and _is_interrupted(snapshot, cursor, before, call) else CLEARED
        found = list(_explained(found, before, call, unexplained, cleared))
    return sorted(found, key=lambda gap: gap.seq)


def _kept(snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterator[Gap]:
    """Yield a gap for each compaction that keeps messages which the log lacks."""
    for entry in entries:
        view = node_of(entry, snapshot).compaction if entry.kind == "compaction" else None
        if view is not None and kept_entries(snapshot, entry, view)[1]:
            yield Gap(what=KEPT, event=entry.id, seq=entry.seq)


def reckoned_restored(gaps: Iterable[Gap], calls: Sequence[ModelCall]) -> dict[int, int]:
    """Return the size of what a harness restored without a record, by its compaction's number.

    `gaps` and `calls` are those of a path. Usage gives the sizes; they are scaled to refold's tokens.
    """
    ratio = ratio_along(calls)
    return {gap.seq: round(gap.tokens / ratio) for gap in gaps if gap.what == SENT_AGAIN and gap.tokens}


def _scaled(gap: Gap, ratio: float) -> Gap:
    return gap if gap.tokens is None else msgspec.structs.replace(gap, tokens=round(ratio * gap.tokens))


def unrecorded_prompt(snapshot: Snapshot, cursor: Cursor, rules: Rules) -> list[str]:
    """Name the unrecorded content before the messages of every request."""
    if rules.recorded_prompt(snapshot, event(snapshot, cursor.session, cursor.leaf)).system:
        return []
    prompt = harness_prompt(snapshot, cursor)
    known = {SYSTEM_PROMPT} if prompt.system else set[str]()
    known |= {TOOL_DEFINITIONS} if prompt.tools else set[str]()
    return [each for each in rules.unrecorded if each not in known]


def _is_interrupted(snapshot: Snapshot, cursor: Cursor, before: ModelCall, call: ModelCall) -> bool:
    """Return True if an answer between two calls failed or was interrupted."""
    between = behind(snapshot, cursor.session, call.seq, before.seq)
    answers = (node_of(each) for each in between if each.role == "assistant" and each.seq < call.seq)
    return any(message.stop_reason in FAILED for view in answers for message in view.messages)


def _explained(
    gaps: Iterable[Gap], before: ModelCall, call: ModelCall, unexplained: int, cleared: str
) -> Iterator[Gap]:
    """Size the one gap between two calls, or yield a gap that only the calls' sizes reveal."""
    between = [gap for gap in gaps if before.seq < gap.seq <= call.seq]
    # Content that the rules remove is in no context that refold builds.
    unexplained -= sum(max(gap.tokens or 0, 0) for gap in between)
    # Such a gap is content that was sent, so that it cannot explain that less was.
    unsized = next((gap for gap in between if gap.tokens is None and unexplained >= _NOISE), None)
    for gap in gaps:
        yield msgspec.structs.replace(gap, tokens=unexplained) if gap is unsized else gap
    if unsized is None and is_jump(before, call, unexplained):
        what = UNRECORDED if unexplained > 0 else cleared
        yield Gap(what=what, event=call.id, seq=call.seq, tokens=unexplained)
