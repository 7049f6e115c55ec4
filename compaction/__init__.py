"""Event producers: what makes contexts smaller appends events, and what those say is recomputed from the log."""

from __future__ import annotations

from compaction.compact import record_compaction
from compaction.fork import fork
from compaction.navigation.branch import record_branch_summary
from compaction.navigation.navigate import go, move_to, plan_move
from compaction.rewrite import record_rewrite
from compaction.undo import plan_undo, undo

__all__ = [
    "fork",
    "go",
    "move_to",
    "plan_move",
    "plan_undo",
    "record_branch_summary",
    "record_compaction",
    "record_rewrite",
    "undo",
]
