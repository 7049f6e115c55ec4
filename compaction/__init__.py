"""Event producers: what makes contexts smaller appends events, and what those say is recomputed from the log."""

from __future__ import annotations

from compaction.branch import move_to, record_branch_summary
from compaction.compact import record_compaction
from compaction.rewrite import record_rewrite

__all__ = ["move_to", "record_branch_summary", "record_compaction", "record_rewrite"]
