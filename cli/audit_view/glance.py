"""The head of an audit: which session, how large, what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.audit_view.lines import dollars, print_line
from cli.output import counted, one_line, unbroken

if TYPE_CHECKING:
    from rich.console import Console

    from projections.audit import Audit
    from projections.metrics.session_cost import SessionCost

_TITLE: Final = 100


def print_glance(out: Console, audit: Audit) -> None:
    """A session in a few lines."""
    print_line(out, unbroken(audit.session), style="bold")
    print_line(out, one_line(audit.title, min(out.width, _TITLE)))
    counts = [
        counted(audit.entries, "entry", "entries"),
        counted(len(audit.compactions), "compaction"),
        counted(len(audit.branch_summaries), "branch summary", "branch summaries"),
        counted(len(audit.rewrites), "rewrite"),
    ]
    print_line(out, " · ".join(counts), style="dim")
    messages, tokens = counted(audit.context_messages, "message"), counted(audit.context_tokens, "token")
    how = f"{audit.counter}, {'an estimate' if audit.estimate else 'exact'}"
    note = f"; {audit.note}" if audit.note else ""
    print_line(out, f"context now {messages}, {tokens} by {how}{note}", style="dim")
    if audit.cost.spent.calls:
        print_line(out, _cost(audit.cost), style="dim")


def _cost(cost: SessionCost) -> str:
    spent = cost.spent
    table = f"{cost.prices} of {cost.prices_date}" if cost.prices_date else cost.prices
    recorded = priced = ""
    if spent.recorded is not None:
        recorded = f"{dollars(spent.recorded)} as recorded{_but(spent.unrecorded)}"
    if spent.priced is not None:
        priced = f"{dollars(spent.priced)} by {table}{_but(spent.unpriced)}"
    facts = [counted(spent.calls, "call"), recorded or "no cost recorded", priced or f"no price in {table}"]
    return " · ".join(facts)


def _but(calls: int) -> str:
    return f", {calls:,} without" if calls else ""
