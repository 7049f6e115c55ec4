"""The page of a session, by a pure function of what was read of it."""

from __future__ import annotations

from typing import Final

from cli.output import when
from cli.report.charts import context_chart, cost_chart
from cli.report.events import event_groups
from cli.report.fates import outcomes
from cli.report.figures import figures, models
from cli.report.lines import lines_of
from cli.report.material import Material
from cli.report.model import Page
from cli.report.places import places
from cli.report.replacements import replacement_views
from cli.report.texts import line_of
from cli.report.tree_lines import tree_lines

_LONGEST_TITLE: Final = 120


def build_page(material: Material, *, is_full: bool = False) -> Page:
    """The page; texts are cut unless `is_full`, but for those that a loss leads to."""
    audit = material.audit
    lines = lines_of(material.events)
    worst = replacement_views(material, lines)
    sections = {view.seq for view in worst}
    losses = [loss for view in worst for loss in view.metrics.future_use.losses]
    followed = {seq for loss in losses for seq in (loss.had_seq, loss.needed_seq, loss.regained_seq)}

    def target(seq: int) -> str:
        return f"r-{seq}" if seq in sections else f"e-{seq}"

    how = f"Tokens recomputed by {audit.counter}, {'an estimate' if audit.estimate else 'exact'}"
    return Page(
        title=line_of(audit.title, _LONGEST_TITLE) or audit.session,
        session=audit.session,
        models=models(material),
        dates=_dates(material),
        note=f"{how}; {audit.note}" if audit.note else how,
        is_full=is_full,
        figures=list(figures(material)),
        replacements=sorted(worst, key=lambda view: view.seq),
        worst=worst,
        context=context_chart(material, places(material, lines, worst, target)),
        cost=cost_chart(material),
        tree=list(tree_lines(material, lines, target)),
        groups=event_groups(material, lines, outcomes(material), target, whole=None if is_full else followed),
        events=len(material.events),
    )


def _dates(material: Material) -> str:
    """From when to when the entries happened."""
    times = [event.time for event in material.events if event.time is not None and event.is_entry]
    if not times:
        return ""
    first, last = when(min(times)), when(max(times))
    if first[:10] == last[:10]:
        last = last[11:]
    return f"{first[:-3]} to {last[:-3]} UTC"
