"""Keeping the contexts of running sessions small."""

from __future__ import annotations

from compaction.maintaining.maintainer import Advice, Maintainer
from compaction.maintaining.settings import Promotion, Settings

__all__ = ["Advice", "Maintainer", "Promotion", "Settings"]
