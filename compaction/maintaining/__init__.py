"""Keeping the contexts of running sessions small."""

from __future__ import annotations

from compaction.maintaining.advice import Advice
from compaction.maintaining.maintainer import Maintainer
from compaction.maintaining.settings import BranchSummaries, Promotion, Settings

__all__ = ["Advice", "BranchSummaries", "Maintainer", "Promotion", "Settings"]
