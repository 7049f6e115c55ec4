"""The four-layer pipeline's way after a request was refused for its length."""

from __future__ import annotations

from typing import Final

from projections.placements.placement import Placement

REACTIVE_COMPACT: Final = Placement(
    name="reactive-compact", told=lambda summary: f"[Reactive compact]\n\n{summary}"
)
