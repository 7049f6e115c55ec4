"""The four-layer pipeline's way: behind a word that says what happened."""

from __future__ import annotations

from typing import Final

from projections.placements.placement import Placement

COMPACTED: Final = Placement(name="compacted", told=lambda summary: f"[Compacted]\n\n{summary}")
