"""The two charts of a session: its context's size, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cli.audit_view.lines import dollars
from cli.output import thousands
from cli.report.calls import spent, spent_at
from cli.report.chart import Place, Point, chart
from cli.report.material import Material
from cli.report.model import Chart

_CONTEXT_HEIGHT: Final = 300
_COST_HEIGHT: Final = 130


def context_chart(material: Material, places: Sequence[Place]) -> Chart | None:
    """The context's size after every entry, as recomputed and as measured; None for an empty path."""
    moments = material.timeline.moments
    if not moments:
        return None
    return chart(
        [Point(moment.seq, moment.tokens) for moment in moments],
        height=_CONTEXT_HEIGHT,
        label=f"Tokens in the context after each of {len(moments):,} entries",
        name=lambda value: thousands(round(value)),
        second=[Point(moment.seq, moment.measured) for moment in moments if moment.measured is not None],
        places=places,
    )


def cost_chart(material: Material) -> Chart | None:
    """What was spent by each entry; None where no cost is known."""
    total = spent(material.calls)
    moments = material.timeline.moments
    if not total or not moments:
        return None
    points = spent_at(material.calls, [moment.seq for moment in moments])
    return chart(
        [Point(seq, value) for seq, value in points],
        height=_COST_HEIGHT,
        label=f"US dollars spent by each of {len(moments):,} entries: {dollars(total)} in all",
        name=dollars,
    )
