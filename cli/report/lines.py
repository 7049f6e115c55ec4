"""Events in a line each: their signs, what they are called, what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from cli.report.texts import line_of
from eventstore.event import Event
from projections.continuation import is_continuation
from projections.summary_line import event_name, summary_line

SIGNS: Final = {
    "compaction": "∑",
    "branch_summary": "⤷",
    "rewrite": "✂",
    "leaf_moved": "↷",
    "undone": "↶",
    "model_change": "⚙",
    "session_info": "✎",
    "custom_message": "+",
}
"""From the kinds that turn a session to their signs."""


_LONGEST_NAME: Final = 40


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """An event in a line: `name` is what it is called: a message's role, or else the kind."""

    sign: str
    name: str
    text: str


Lines = Mapping[int, Line]
"""Lines by the numbers of their events."""


def lines_of(events: Iterable[Event]) -> dict[int, Line]:
    """The lines of events by their numbers."""
    return {
        event.seq: Line(
            sign="" if is_continuation(event) else SIGNS.get(event.kind, ""),
            name=line_of(event_name(event), _LONGEST_NAME),
            # The sign says already that it is a summary.
            text=line_of(summary_line(event).removeprefix("∑ ")),
        )
        for event in events
    }
