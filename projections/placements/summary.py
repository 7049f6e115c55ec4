"""pi's way: in its tags, below a sentence that says what it is."""

from __future__ import annotations

from typing import Final

from projections.placements.placement import Placement

_LEAD_IN: Final = "Earlier parts of this conversation were replaced by this summary:"


def below(lead_in: str, summary: str) -> str:
    """A summary in its tags, below a sentence of its own."""
    return f"{lead_in}\n\n<summary>\n{summary}\n</summary>"


SUMMARY: Final = Placement(name="summary", told=lambda summary: below(_LEAD_IN, summary))
