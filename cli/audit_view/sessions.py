"""Audits of many sessions: a line for each, the worst first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from cli.audit_view.lines import dollars, percent
from cli.output import one_line, table, thousands, unbroken
from cli.replaced import counted_once, replacements, undone
from cli.session_names import short_names

if TYPE_CHECKING:
    from rich.table import Table

    from projections.audit import Audit

_TITLE: Final = 60


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What a line tells of a session.

    `future_use` is the smallest share that a replacement has, `losses` and `gone` count those of all; what was
    undone is left out, and so is in the sums what a rewrite lost that came with a compaction: that lost the same.
    `earlier` is the session's generation before this one. `cost` is in dollars, as recorded, or else by the table.
    """

    session: str
    earlier: str | None = None
    title: str
    compactions: int
    future_use: float | None
    losses: int
    gone: int
    cost: float | None


def row_of(audit: Audit) -> Row:
    """The line of a session."""
    without_effect = undone(audit)
    measured = [each.metrics for each in replacements(audit) if each.seq not in without_effect]
    shares = [each.future_use.share for each in measured if each.future_use.share is not None]
    once = [each.metrics for each in counted_once(audit)]
    spent = audit.cost.spent
    return Row(
        session=audit.session,
        earlier=audit.earlier,
        title=one_line(audit.title, _TITLE),
        compactions=len(audit.compactions),
        future_use=min(shares, default=None),
        losses=sum(len(each.future_use.losses) for each in once),
        gone=sum(each.instructions.gone for each in once),
        cost=spent.priced if spent.recorded is None else spent.recorded,
    )


def sessions_table(rows: Iterable[Row]) -> Table:
    """The lines of sessions, the worst first, those of which nothing was needed later last."""
    from rich.text import Text

    from cli.listing import CutLine
    from projections.metrics.order import rank

    worst = sorted(rows, key=lambda row: (rank(row.future_use, row.losses, row.gone), row.session))
    short = short_names([row.session for row in worst])
    numbers = ("COMPACTED", "NEEDED", "LOST", "GONE", "COST")
    listing = table("SESSION", *numbers, "TITLE", right=numbers, shrinks="TITLE", drops=("COMPACTED", "COST"))
    for row in worst:
        listing.add_row(
            unbroken(short[row.session]),
            thousands(row.compactions),
            Text(percent(row.future_use), style="bold red" if row.losses else ""),
            thousands(row.losses),
            Text(thousands(row.gone), style="bold red" if row.gone else ""),
            dollars(row.cost),
            CutLine(row.title),
        )
    return listing


def generations_line(rows: Iterable[Row]) -> list[str]:
    """That some sessions are generations of one, where there are such."""
    later = sum(row.earlier is not None for row in rows)
    if not later:
        return []
    lines = "1 line is a later generation" if later == 1 else f"{later:,} lines are later generations"
    return [f"{lines} (ID~2, ID~3, …) of a session whose file was written anew: each is audited by itself"]
