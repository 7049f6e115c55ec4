"""Collect the messages since the last compaction, and the places where a cut may go."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from eventstore import paths
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, append_with, event
from eventstore.views import call_indexes
from projections.context.build import context_at, parts_from
from projections.context.cursor import Cursor, path, resolve_cursor
from projections.context.parts import Part, has_message, is_bare_continuation, view_of_part
from projections.rules import rules_at, select_readable
from projections.rules.base import Selection
from projections.tokens import Counter
from projections.usage import FAILED, LateUsages, measured_usage

TURN_STARTS: Final = frozenset({"user", "bashExecution", "custom", "branchSummary"})
"""Roles that begin a turn: a person's message or command, an extension's, a branch summary."""


class WindowItem(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a window.

    `id` is its entry, of kind `kind`. `first` is the entry to record as first kept if the cut is here: the
    message itself, or the oldest of the settings and labels right before it. `begins` means that a harness
    could begin the kept part here: it is the first message of one of the session's own entries, no tool
    result, and no earlier call still waits for its result. `may_start` means that, in addition, no later
    result belongs to an earlier call. `starts_turn` means that a turn begins here; a continuation message in
    the middle of a task begins none. `after_compaction` means that a compaction is right before `first`.
    """

    id: str
    first: str
    kind: str
    role: str
    tokens: int
    begins: bool
    may_start: bool
    starts_turn: bool
    after_compaction: bool = False


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that a compaction may summarize, oldest first.

    `items` has one for each of the `parts`. `previous_summary` is that of the compaction in effect. `measured` is the
    provider's token count of the newest successful call since, `last_measured` that of the newest one on the path, even
    before that compaction. `is_compacted` means that no message follows that compaction. `is_open` means that tool
    calls of the newest answer have no results yet and must be kept.
    """

    items: tuple[WindowItem, ...]
    parts: tuple[Part, ...] = ()
    previous_summary: str | None = None
    measured: int | None = None
    last_measured: int | None = None
    is_compacted: bool = False
    is_open: bool = False

    @property
    def tokens(self) -> int:
        """The window's size in tokens."""
        return sum(item.tokens for item in self.items)


def build_window(snapshot: Snapshot, cursor: Cursor, tokens: Counter) -> Window:
    """Return the window at a leaf.

    It starts at the first kept entry of the compaction in effect, because no summary covers that yet. Without
    such an entry it starts after the compaction; without a compaction it starts at the root, including
    messages that the context takes from another session. A compaction that only its provider can read is no summary:
    the window starts as if it were not there.
    """
    if not cursor.leaf:
        return Window(items=())
    leaf = event(snapshot, cursor.session, cursor.leaf)
    selected = select_window(snapshot, cursor)
    entries = path(snapshot, cursor, first=selected.first)
    parts = _parts(snapshot, cursor, selected)
    open_until = _open_until(parts)
    measured, last_measured = (
        (None, None) if tokens.ignores_usage else _measured(snapshot, cursor, leaf, entries)
    )
    return Window(
        items=tuple(_items(cursor.session, parts, entries, tokens.count(parts), open_until)),
        parts=parts,
        previous_summary=_summary_of(selected.compaction) if selected.compaction else None,
        measured=measured,
        last_measured=last_measured,
        is_compacted=selected.compaction is not None
        and selected.compaction.seq == leaf.compaction_seq
        and is_compacted(snapshot, cursor),
        is_open=_is_open(open_until),
    )


def select_window(snapshot: Snapshot, cursor: Cursor) -> Selection:
    """Return what the window at a leaf begins with: no summary that only its provider can read."""
    leaf = event(snapshot, cursor.session, cursor.leaf)
    return select_readable(snapshot, leaf, rules_at(snapshot, leaf))


def _parts(snapshot: Snapshot, cursor: Cursor, selected: Selection) -> tuple[Part, ...]:
    """Return the messages of the window at a leaf."""
    own = parts_from(snapshot, cursor, selected)
    if selected.prefix is None:
        return own
    session, entry = selected.prefix.session, selected.prefix.entry
    return (*context_at(snapshot, resolve_cursor(snapshot, session, leaf=entry)).parts, *own)


def _summary_of(compaction: LazyEvent) -> str:
    view = node_of(compaction).compaction
    return view.summary if view else ""


def has_open_calls(parts: Sequence[Part]) -> bool:
    """Return True if tool calls of the newest answer still wait for their results.

    They do not wait if anything but results follows.
    """
    newest = next((part for part in reversed(parts) if part.role != "toolResult"), None)
    return newest is not None and newest.role == "assistant" and _is_open(_open_until(parts))


def is_compacted(snapshot: Snapshot, cursor: Cursor) -> bool:
    """Return True if no message follows the compaction in effect and its own append."""
    compaction = event(snapshot, cursor.session, cursor.leaf).compaction_seq if cursor.leaf else 0
    if not compaction:
        return False
    own = append_with(snapshot, cursor.session, compaction)
    behind = paths.path(snapshot, cursor.session, cursor.leaf, first=compaction)
    return all(entry.append == own or not has_message(entry) for entry in behind)


def _measured(
    snapshot: Snapshot, cursor: Cursor, leaf: LazyEvent, entries: Sequence[Event]
) -> tuple[int | None, int | None]:
    """Return the provider's newest count since the last compaction, and on the whole path."""
    late = LateUsages(
        snapshot, cursor.session, first=entries[0].seq if entries else leaf.seq, last=cursor.as_of
    )
    since = (entry for entry in reversed(entries) if entry.compaction_seq == leaf.compaction_seq)
    measured = _newest_count(since, late)
    if measured is not None or not leaf.compaction_seq:
        return measured, measured
    return None, _newest_count(paths.upward(snapshot, cursor.session, cursor.leaf), late)


def _newest_count(newest_first: Iterable[Event | LazyEvent], late: LateUsages) -> int | None:
    for entry in newest_first:
        if entry.role == "assistant":
            view = node_of(entry).message
            usage = measured_usage(late.added(entry.seq, view)) if view else None
            if usage is not None:
                return usage.prompt or usage.total
    return None


def _items(
    session: str,
    parts: Sequence[Part],
    entries: Sequence[Event],
    counts: Sequence[int],
    open_until: Sequence[int],
) -> list[WindowItem]:
    seqs = [entry.seq for entry in entries]
    # Where a parent came late, a path is not in the order of its numbers.
    places = {seq: place for place, seq in enumerate(seqs)}
    words = {entry.seq for entry in entries if is_bare_continuation(entry)}
    items = []
    before: Part | None = None
    waiting = -1
    for place, (part, tokens) in enumerate(zip(parts, counts, strict=True)):
        is_own = part.session == session
        begins = is_own and (before is None or not before.is_of(part.session, part.seq))
        may_begin = begins and part.role != "toolResult" and waiting < len(parts)
        at = places.get(part.seq, min(bisect_left(seqs, part.seq), len(seqs) - 1))
        first = _first(entries, at) if is_own else 0
        items.append(
            WindowItem(
                id=part.id,
                first=entries[first].id if is_own else part.id,
                kind=part.kind,
                role=part.role,
                tokens=tokens,
                begins=may_begin,
                may_start=may_begin and waiting < place,
                starts_turn=part.role in TURN_STARTS and not (is_own and part.seq in words),
                after_compaction=is_own and first > 0 and entries[first - 1].kind == "compaction",
            )
        )
        waiting = max(waiting, open_until[place])
        before = part
    return items


def _open_until(parts: Sequence[Part]) -> list[int]:
    """Return for each message the place of the last result of its calls, -1 for none.

    A call of the newest answer without a result stays open past the end, unless the answer failed.
    """
    views = [view_of_part(part) for part in parts]
    until = [-1] * len(views)
    results = call_indexes(views)
    for result, caller in results.items():
        until[caller] = result
    newest = max((place for place, view in enumerate(views) if view.role == "assistant"), default=-1)
    if newest >= 0 and views[newest].stop_reason not in FAILED:
        done = {views[result].tool_call_id for result, caller in results.items() if caller == newest}
        if any(call.id not in done for call in views[newest].tool_calls):
            until[newest] = len(views)
    return until


def _is_open(open_until: Sequence[int]) -> bool:
    return max(open_until, default=-1) >= len(open_until)


def _first(entries: Sequence[Event], place: int) -> int:
    """Return the place of the oldest of the settings and labels right before a message."""
    while place and not has_message(entries[place - 1]) and entries[place - 1].kind != "compaction":
        place -= 1
    return place
