"""How a compaction's summary stands in a request: the ways that a policy can name.

Adding a placement: a module with its part, a line in `PLACEMENTS`, its tests, its docs.
"""

from __future__ import annotations

from typing import Final

from projections.placements.compacted import COMPACTED
from projections.placements.placement import Placement
from projections.placements.prior_conversation_summary import PRIOR_CONVERSATION_SUMMARY
from projections.placements.reactive_compact import REACTIVE_COMPACT
from projections.placements.summary import SUMMARY

__all__ = ["PLACEMENTS", "Placement", "placement_of"]

PLACEMENTS: Final[dict[str, Placement]] = {
    each.name: each for each in (SUMMARY, PRIOR_CONVERSATION_SUMMARY, COMPACTED, REACTIVE_COMPACT)
}


def placement_of(name: str) -> Placement:
    """The placement that a record names; pi's for one that it does not name, or that nobody knows here."""
    return PLACEMENTS.get(name, SUMMARY)
