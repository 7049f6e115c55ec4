"""Where a window is parted into what a summary stands for and what stays, and the parts that say so."""

from __future__ import annotations

from typing import Self

import msgspec

from compaction.cuts.window import Window
from compaction.part import Limits, PolicyPart


class CutPart(PolicyPart, frozen=True):
    """A cut that a policy names; its method `cut` gives the `Cut` of a window, None where nothing is to summarize.

    What a person may set of cuts of any sort is asked of each of them.
    """

    def why_all(self, window: Window) -> str:
        """Why it keeps all of a window, as far as it knows; "" where it does not."""
        del window
        return ""

    def most_kept(self, limits: Limits) -> int | None:
        """How many tokens it keeps at most, None where that depends on the messages."""
        del limits
        return None

    def keeping(self, tokens: int) -> Self | None:
        """The same cut with so many tokens to keep; None for one that keeps otherwise."""
        del tokens
        return None

    def reserving(self, tokens: int) -> Self:
        """The same cut with so many tokens of the window that stay free, if it heeds them."""
        del tokens
        return self


class Cut(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A window in three: ids of the messages to summarize, of the beginning of a turn that is parted, of those kept.

    `first_kept` is the entry from which on a record says that it keeps, "" where nothing is kept. `quoted` are
    messages before that which go into the summary word for word. `shrinks_to`: what is kept is larger than it
    may be, and its largest outputs have to be shown shorter, until it has so many tokens.
    """

    first_kept: str
    to_summarize: list[str]
    turn_prefix: list[str]
    kept: list[str]
    quoted: list[str] = []
    shrinks_to: int | None = None

    @property
    def splits_turn(self) -> bool:
        """Whether a turn's beginning goes into the summary and its end stays."""
        return bool(self.turn_prefix)


def cut_at(window: Window, place: int) -> Cut | None:
    """The cut before the message at `place`; None where nothing lies before it.

    A cut inside a turn parts it: from the turn's start on, the messages before the cut are its prefix. A
    turn starts with a user's message, a shell command, an extension's message or a branch summary.
    """
    items = window.items
    if place <= 0:
        return None
    start = place
    if place < len(items) and not items[place].starts_turn:
        start = next((at for at in range(place - 1, -1, -1) if items[at].starts_turn), place)
    ids = [item.id for item in items]
    return Cut(
        first_kept=items[place].first if place < len(items) else "",
        to_summarize=ids[:start],
        turn_prefix=ids[start:place],
        kept=ids[place:],
    )


def cut_before(window: Window, first_kept: str) -> Cut | None:
    """Cut before an entry, "" behind all messages; return None where what is kept cannot begin there.

    The entry is a message that may start, or the oldest of the settings and labels right before one.
    """
    places = {
        name: place
        for place, item in enumerate(window.items)
        if item.may_start
        for name in (item.id, item.first)
    }
    if not window.is_open:
        places[""] = len(window.items)
    return cut_at(window, places.get(first_kept, 0))
