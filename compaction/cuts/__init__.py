"""Where a compaction parts the messages since the last one: what a summary stands for, and what stays.

Adding a cut: a module with its part, a `CutPart` with a method `cut`; its name in `AnyCut`; its tests, its docs.
"""

from __future__ import annotations

from compaction.cuts.cut import Cut, cut_before
from compaction.cuts.keep_recent import KeepRecent
from compaction.cuts.last_messages import LastMessages
from compaction.cuts.tail_turn import TailTurn

__all__ = [
    "AnyCut",
    "Cut",
    "KeepRecent",
    "LastMessages",
    "TailTurn",
    "cut_before",
]

AnyCut = KeepRecent | TailTurn | LastMessages
"""The cuts that a policy can name."""
