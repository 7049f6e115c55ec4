"""Find the messages that each compaction of a path summarized."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import msgspec

from eventstore.event import Event
from projections.context.parts import bears_message
from projections.rules import rules_of_format


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction, the numbers of the message-bearing entries that went into its summary, and the window's end.

    `previous` is the number of the compaction that was in effect above it, 0 for none.
    """

    compaction: Event
    previous: int
    summarized: set[int]
    end: int


def covered(entries: Sequence[Event]) -> Iterator[Coverage]:
    """The coverage of each compaction on a path, oldest first.

    A window ends before the first kept entry, or at the compaction where it kept nothing. Where it begins, the rules
    of its harness say.
    """
    compactions: dict[int, Event] = {}
    in_effect = 0
    messages = [entry.seq for entry in entries if bears_message(entry)]
    for event in entries:
        if event.kind == "compaction":
            start = rules_of_format(event.format).window_start(event, compactions.get(in_effect))
            end = event.target_seq or event.seq
            yield Coverage(
                compaction=event,
                previous=in_effect,
                summarized=set(messages[bisect_left(messages, start) : bisect_left(messages, end)]),
                end=end,
            )
            compactions[event.seq] = event
        in_effect = event.compaction_seq
