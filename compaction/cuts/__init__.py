"""Where a compaction parts the messages since the last one: what a summary stands for, and what stays.

Adding a cut: a module with its part, a `CutPart` with a method `cut`; its name in `AnyCut`; its tests, its docs.
"""

from __future__ import annotations

from compaction.cuts.cut import Cut, cut_before
from compaction.cuts.keep_recent import KeepRecent
from compaction.cuts.last_messages import LastMessages
from compaction.cuts.tail_turn import TailTurn
from compaction.cuts.window import Item, Window, has_open_calls, window

__all__ = [
    "AnyCut",
    "Cut",
    "Item",
    "KeepRecent",
    "LastMessages",
    "TailTurn",
    "Window",
    "cut_before",
    "has_open_calls",
    "window",
]

AnyCut = KeepRecent | TailTurn | LastMessages
"""The cuts that a policy can name."""
