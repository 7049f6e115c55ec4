"""Compare the contexts before and after an event that replaced something, message for message."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from eventstore.event import Event
from eventstore.log import Snapshot
from eventstore.paths import events
from projections.context.build import context_at
from projections.context.cursor import Cursor
from projections.context.parts import Context, Part
from projections.files import abandoned_entries


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction, a branch summary or a rewrite, and what it did to a context.

    C is `before`, C′ is `after`. H, `removed`, are the messages of C that C′ does not show, or shows with
    other content; K, `kept`, those that both show byte for byte. S, `added`, is what stands in place of H: a
    summary and what was appended with it, or the rewritten messages. `returned` are messages of C′ that C did
    not show and this append did not make: what an older summary stood for and is shown again. So C = H + K
    and C′ = K + S + returned.
    `earlier` are the entries above the event, from the root; `later` is the rest of the branch, up to the leaf
    that one looks from.
    """

    event: Event
    before: Context
    after: Context
    removed: tuple[Part, ...]
    kept: tuple[Part, ...]
    added: tuple[Part, ...]
    returned: tuple[Part, ...]
    later: Sequence[Event]
    earlier: Sequence[Event] = ()

    @property
    def summary(self) -> Part | None:
        """The summary that the event carries, None for a rewrite and for a summary that shows nothing."""
        return next((part for part in self.added if part.is_of(self.event.session, self.event.seq)), None)


def replacement_of(
    event: Event,
    snapshot: Snapshot,
    cursor: Cursor,
    *,
    earlier: Sequence[Event] = (),
    later: Sequence[Event] = (),
) -> Replacement:
    """The replacement that an entry made; `at` is where one stands, `earlier` and `later` what is around it there.

    For a branch summary, C is the context at the leaf that was left.
    """
    before = context_at(snapshot, cursor.at_leaf(start_of_change(event, snapshot)))
    after = context_at(snapshot, cursor.at_leaf(end_of_change(event, snapshot, cursor)))
    return replacement_between(event, before, after, earlier=earlier, later=later)


def start_of_change(event: Event, snapshot: Snapshot) -> int:
    """The entry at which an event's C is: the one above it, or, for a branch summary, the leaf that was left."""
    if event.kind == "branch_summary" and (left := abandoned_entries(event, snapshot)):
        return left[-1].seq
    return event.parent_seq


def end_of_change(event: Event, snapshot: Snapshot, cursor: Cursor) -> int:
    """The entry at which an event's C′ is: the event itself, or the last entry that was appended with a compaction.

    Those are the entries right below it with its cause: files that are shown again, results that give way, a
    message to go on. The model's next answer, another compaction and whatever has come since `at` are not of them.
    """
    end = event.seq
    if event.kind != "compaction" or not event.cause:
        return end
    for entry in events(snapshot, event.session, first=event.seq + 1, last=cursor.as_of):
        if entry.cause != event.cause or entry.kind == "compaction" or entry.role == "assistant":
            break
        if entry.is_entry:
            if entry.parent_seq != end:
                break
            end = entry.seq
    return end


def replacement_between(
    event: Event,
    before: Context,
    after: Context,
    *,
    earlier: Sequence[Event] = (),
    later: Sequence[Event] = (),
) -> Replacement:
    """The replacement between two contexts."""
    shown_before = {part.key: part.raw for part in before.parts}
    shown_after = {part.key: part.raw for part in after.parts}
    kept = tuple(part for part in after.parts if shown_before.get(part.key) == part.raw)
    made = [part for part in after.parts if shown_before.get(part.key) != part.raw]
    added = tuple(
        part
        for part in made
        if (part.session == event.session and part.seq >= event.seq) or part.key in shown_before
    )
    return Replacement(
        event=event,
        before=before,
        after=after,
        removed=tuple(part for part in before.parts if shown_after.get(part.key) != part.raw),
        kept=kept,
        added=added,
        returned=tuple(part for part in made if part not in added),
        earlier=earlier,
        later=later,
    )
