"""Find the messages that each compaction of a path summarized."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec

from eventstore import paths
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.log import Snapshot
from eventstore.node import CompactionView
from eventstore.paths import LazyEvent
from eventstore.paths import event as event_at
from projections.context.parts import has_message
from projections.rules import beside_path


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that a compaction summarized.

    `summarized` are the numbers of the entries with messages that went into the summary of `compaction`, and
    `end` is the end of its window. `previous` is the number of the compaction in effect above it, 0 for none.
    `kept` are the numbers of the entries that it lists as kept.
    """

    compaction: Event
    previous: int
    summarized: set[int]
    end: int
    kept: frozenset[int] = frozenset()


def compaction_coverage(entries: Sequence[Event], snapshot: Snapshot) -> Iterator[Coverage]:
    """Yield the coverage of each compaction on a path, oldest first.

    A window begins where the compaction above left off, or behind that one, and ends before the first kept entry, or
    at the compaction if it kept nothing. If a compaction lists what it keeps, everything else above it is in the
    window. Entries off the path that show with it belong to the window too. A compaction that only its provider can
    read summarizes nothing, and is in nobody's way.
    """
    compactions: dict[int, Event] = {}
    lists: dict[int, frozenset[int]] = {}
    unread: dict[int, int] = {}
    in_effect = 0
    messages = [entry.seq for entry in entries if has_message(entry)]
    for event in entries:
        if event.kind == "compaction":
            view = node_of(event, snapshot).compaction
            if view and view.native:
                unread[event.seq] = in_effect
                yield Coverage(compaction=event, previous=in_effect, summarized=set(), end=event.seq)
                in_effect = event.seq
                continue
            above = in_effect
            while above in unread:
                above = unread[above]
            start = 0
            if (previous := compactions.get(above)) is not None:
                is_behind = view is not None and view.skips_kept
                start = previous.seq if is_behind else previous.target_seq or previous.seq
            end = event.target_seq or event.seq
            kept, listed = frozenset[int](), frozenset[str]()
            if view and view.kept is not None:
                listed = frozenset(view.kept)
                kept = frozenset(entry.seq for entry in entries if entry.id in listed)
                end = event.seq
            start = min((start, *lists.get(above, ())))
            beside = _beside(snapshot, event, start)
            if view and view.kept is not None:
                kept |= {entry.seq for entry in beside if entry.id in listed}
                lists[event.seq] = kept
            summarized = set(messages[bisect_left(messages, start) : bisect_left(messages, end)])
            summarized |= {entry.seq for entry in beside if start <= entry.seq < end and has_message(entry)}
            summarized -= kept
            if above in lists:
                # Entries that the compaction above did not list are in its own summary.
                summarized = {seq for seq in summarized if seq > above or seq in lists[above]}
            yield Coverage(compaction=event, previous=in_effect, summarized=summarized, end=end, kept=kept)
            compactions[event.seq] = event
        in_effect = event.compaction_seq


def _beside(snapshot: Snapshot, compaction: Event, first: int) -> list[LazyEvent]:
    """Return entries off the path that show with it above a compaction, from `first` on."""
    if not compaction.parent_seq:
        return []
    return beside_path(
        snapshot, [*paths.path(snapshot, compaction.session, compaction.parent_seq, first=first)]
    )


def kept_entries(
    snapshot: Snapshot, compaction: Event | LazyEvent, view: CompactionView
) -> tuple[dict[int, LazyEvent], int]:
    """Return the entries that a compaction keeps, by number; count those not there."""
    session, above, lacking = compaction.session, compaction.parent_seq, 0
    if view.kept is not None:
        places = [snapshot.locate(session, name) for name in view.kept]
        found = [event_at(snapshot, session, seq) for seq in sorted(filter(None, places))]
        lacking = places.count(0)
    else:
        if view.last_kept:
            above = snapshot.locate(session, view.last_kept)
            lacking = int(not above or not compaction.target_seq)
        first = compaction.target_seq or compaction.seq
        run = [] if lacking else list(paths.path(snapshot, session, above, first=first))
        # Results of parallel calls stand beside the path and show with it.
        kept = [each for each in (*run, *beside_path(snapshot, run)) if each.id not in view.removed]
        found = sorted(kept, key=attrgetter("seq"))
    return {entry.seq: entry for entry in found}, lacking
