"""Compare the contexts before and after an event that replaced messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

import msgspec

from eventstore.event import Event
from eventstore.log import Snapshot
from eventstore.paths import events
from projections.context.build import context_at, is_restored
from projections.context.cursor import Cursor
from projections.context.parts import Context, Fate, Part
from projections.files import abandoned_entries


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction, a branch summary or a rewrite, and what it did to a context.

    `before` is C, `after` is C′. `removed` (H) are the messages of C that C′ lacks or shows with other
    content; `kept` (K) are identical in both. `added` (S) replaces H: a summary and what was appended with
    it, or the rewritten messages. `restored` are those that show content again after a compaction, which S leaves
    out. `returned` are messages of C′ that were not in C and were not made by this append: an older summary covered
    them. So C = H + K and C′ = K + S + restored + returned.

    `earlier` are the entries above the event, from the root; `later` is the rest of the branch, down to the
    cursor's leaf.
    """

    event: Event
    before: Context
    after: Context
    removed: tuple[Part, ...]
    kept: tuple[Part, ...]
    added: tuple[Part, ...]
    restored: tuple[Part, ...]
    returned: tuple[Part, ...]
    later: Sequence[Event]
    earlier: Sequence[Event] = ()

    @property
    def summary(self) -> Part | None:
        """The summary in the event; None for a rewrite and for an empty summary."""
        return next((part for part in self.added if part.is_of(self.event.session, self.event.seq)), None)


def replacement_of(
    event: Event,
    snapshot: Snapshot,
    cursor: Cursor,
    *,
    earlier: Sequence[Event] = (),
    later: Sequence[Event] = (),
) -> Replacement:
    """Return the replacement that an entry made in what was sent.

    `earlier` and `later` are the entries around it on the path to `cursor`. For a branch summary, C is the
    context at the leaf that was left.
    """
    before = context_at(snapshot, cursor.at_leaf(start_of_change(event, snapshot)))
    after = context_at(snapshot, cursor.at_leaf(end_of_change(event, snapshot, cursor)))
    return replacement_between(event, before, after, earlier=earlier, later=later)


def start_of_change(event: Event, snapshot: Snapshot) -> int:
    """Return the entry whose context is C: the parent, or the leaf that a branch summary left."""
    if event.kind == "branch_summary" and (left := abandoned_entries(event, snapshot)):
        return left[-1].seq
    return event.parent_seq


def end_of_change(event: Event, snapshot: Snapshot, cursor: Cursor) -> int:
    """Return the entry whose context is C′: the event, or the last entry appended with it.

    Entries appended with a compaction follow it directly and share its cause: restored files, shortened
    results, a continuation message. A harness has no causes: of its entries, those that restore content count, and
    what comes before them. The model's next answer, another compaction and anything after `cursor` do not count.
    """
    end = above = event.seq
    if event.kind != "compaction":
        return end
    for entry in events(snapshot, event.session, first=event.seq + 1, last=cursor.as_of):
        if not entry.is_entry:
            continue
        if entry.parent_seq != above or entry.kind == "compaction" or entry.role == "assistant":
            break
        is_of_append = event.cause != "" and entry.cause == event.cause
        if entry.kind == "message" and not is_of_append:
            break
        above = entry.seq
        if is_of_append or is_restored(snapshot, entry):
            end = above
    return end


def replacement_between(
    event: Event,
    before: Context,
    after: Context,
    *,
    earlier: Sequence[Event] = (),
    later: Sequence[Event] = (),
) -> Replacement:
    """Return the replacement that leads from one context to another."""
    shown_before = {part.key: part.raw for part in before.parts}
    shown_after = {part.key: part.raw for part in after.parts}
    kept = tuple(part for part in after.parts if shown_before.get(part.key) == part.raw)
    made = [part for part in after.parts if shown_before.get(part.key) != part.raw]
    own = [
        part
        for part in made
        if (part.session == event.session and part.seq >= event.seq)
        or part.key in shown_before
        or part.fate is Fate.RESTORED
    ]
    return Replacement(
        event=event,
        before=before,
        after=after,
        removed=tuple(part for part in before.parts if shown_after.get(part.key) != part.raw),
        kept=kept,
        added=tuple(part for part in own if part.fate is not Fate.RESTORED),
        restored=tuple(part for part in own if part.fate is Fate.RESTORED),
        returned=tuple(part for part in made if part not in own),
        earlier=earlier,
        later=later,
    )


_ENDS_EFFECT: Final = frozenset({"compaction", "undone"})


def entries_in_effect(replacement: Replacement) -> Iterator[Event]:
    """Yield the entries after a replacement whose contexts grow from its C′.

    Stops at the next compaction or undo.
    """
    return takewhile(lambda entry: entry.kind not in _ENDS_EFFECT, replacement.later)
