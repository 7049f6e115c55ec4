"""Print audits: one session on one screen, or many in a table, the worst first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from cli.output import command_line, counted, one_line, print_line, safe_line, table, thousands, wrapped
from cli.store import short_names
from cli.views.texts import (
    NO_HARM,
    WINDOW_UNKNOWN,
    dollars,
    fit_text,
    gap_text,
    part_of,
    percent,
    spent_dollars,
    tokens_heading,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from cli.views.model import AuditView, FindingView, ReplacementView, SessionRow
    from projections.audit.cost import SessionCost
    from projections.audit.session import Audit

_TITLE: Final = 100


def print_overview(out: Console, audit: Audit, *, most_gaps: int | None = None) -> None:
    """Print a session in a few lines, with at most `most_gaps` gaps."""
    print_line(out, safe_line(audit.session), style="bold")
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
    if audit.original is not None:
        own = "only its own calls count" if audit.cost.spent.calls else "it has no calls of its own"
        print_line(out, f"{own}: the others are those of {safe_line(audit.original)}", style="dim")
    for gap in audit.gaps[:most_gaps]:
        print_line(out, gap_text(gap), style="dim")

    if most_gaps is not None:
        _print_rest(out, len(audit.gaps) - most_gaps, "gap")


def _cost(cost: SessionCost) -> str:
    spent = cost.spent
    table = f"{cost.prices} of {cost.prices_date}" if cost.prices_date else cost.prices
    recorded = priced = ""
    if spent.recorded is not None:
        recorded = f"{dollars(spent.recorded)} as recorded{_without_note(spent.unrecorded)}"
    if spent.priced is not None:
        priced = f"{dollars(spent.priced)} by {table}{_without_note(spent.unpriced)}"
    facts = [counted(spent.calls, "call"), recorded or "no cost recorded", priced or f"no price in {table}"]
    return " · ".join(facts)


def _without_note(calls: int) -> str:
    return f", {calls:,} without" if calls else ""


ROWS: Final = 6
REMARKS: Final = 4
FINDINGS: Final = 7
GAPS: Final = 4
"""Maximum items to list; the rest are counted."""

_WIDE: Final = 100
"""Columns from which times and long names fit."""
_TIME, _REPEATED, _EVENT = "TIME (UTC)", "CALLS REDONE", "EVENT"
_NARROW: Final = 20
_STYLES: Final = {"serious": "bold red", "minor": "bold yellow"}


def print_screen(out: Console, view: AuditView) -> None:
    """Print a session's audit: findings, what replacements kept, remarks, and how to see more."""
    audit, worst = view.audit, view.worst
    print_overview(out, audit, most_gaps=GAPS)
    if not worst:
        print_line(out, "Nothing in the context was replaced.")
        out.print()
        return
    out.print()
    _print_findings(out, view.findings, has_missing_names=view.has_missing_names)
    out.print(_table(worst[:ROWS], is_wide=out.width >= _WIDE, is_estimate=audit.estimate), crop=False)
    _print_rest(out, len(worst) - ROWS, "replacement")
    _print_fits(out, worst[:ROWS])
    _print_remarks(out, worst)
    for what, command in (("all details", "audit --full"), ("as a page", "report")):
        print_line(out, f"{what}: {command_line(command, audit.session)}", style="dim")
    out.print()


def _table(worst: Sequence[ReplacementView], *, is_wide: bool, is_estimate: bool) -> Table:
    from rich.text import Text

    before, after = (tokens_heading(when, is_estimate=is_estimate) for when in ("BEFORE", "AFTER"))
    numbers = (
        before,
        after,
        "FOUND WHEN NEEDED",
        "USER'S RULES KEPT",
        _REPEATED,
        "DOLLARS SAVED",
    )
    times = (_TIME,) if is_wide else ()
    listing = table(
        "WORST FIRST",
        _EVENT,
        *times,
        *numbers,
        right=(_EVENT, *numbers),
        drops=(_TIME, _REPEATED, before, _EVENT),
    )
    for each in worst:
        metrics = each.metrics
        use, rules = metrics.future_use, metrics.instructions
        name = each.name + (" ↶" if each.is_undone else "")
        listing.add_row(
            Text(name if is_wide else name.replace("branch summary", "branch")),
            f"#{each.seq}",
            *([(each.result.time or "-")[:16].replace("T", " ")] if is_wide else []),
            thousands(metrics.size.before),
            Text(thousands(metrics.size.after), style="bold red" if each.grew else ""),
            Text(part_of(use.found, use.total), style="bold red" if use.losses else ""),
            Text(part_of(rules.total - rules.gone, rules.total), style="bold red" if rules.gone else ""),
            thousands(metrics.rework.repeated),
            dollars(metrics.cost.net, is_signed=True),
            style="dim" if each.is_undone else "",
        )
    return listing


def _print_findings(out: Console, findings: Sequence[FindingView], *, has_missing_names: bool) -> None:
    from rich.text import Text

    if not findings:
        print_line(out, "No findings: no trouble that comes from what was lost.", style="green")
        if has_missing_names:
            print_line(out, wrapped(NO_HARM, min(out.width, _WIDE), hanging=0), style="dim")
    for each in findings[:FINDINGS]:
        weight = each.finding.weight
        line = Text(f"{weight:<9}", style=_STYLES[weight])
        room = max(min(out.width, _WIDE) - line.cell_len, _NARROW)
        text = wrapped(safe_line(each.sentence), room, hanging=0).split("\n")
        for number, part in enumerate(text):
            shown = Text(" " * line.cell_len) if number else line.copy()
            shown.append(part, style="not bold default")
            out.print(shown, crop=False, no_wrap=True, overflow="ignore")
    _print_rest(out, len(findings) - FINDINGS, "finding")
    out.print()


def _print_fits(out: Console, shown: Sequence[ReplacementView]) -> None:
    """Print why there is no saving, and once that a window is not known."""
    texts = {each.name: fit_text(each.metrics.cost) for each in shown}
    for name, text in texts.items():
        if text and text != WINDOW_UNKNOWN:
            print_line(out, one_line(f"{name}: {text}", out.width), style="dim")
    if WINDOW_UNKNOWN in texts.values():
        print_line(out, one_line(f"dollars saved: {WINDOW_UNKNOWN}", out.width), style="dim")


def _print_remarks(out: Console, worst: Sequence[ReplacementView]) -> None:
    found = [f"! {each.name}: {remark}" for each in worst for remark in each.remarks]
    _print_red(out, found)
    _print_rest(out, len(found) - REMARKS, "remark")


def _print_red(out: Console, lines: Sequence[str]) -> None:
    for line in lines[:REMARKS]:
        print_line(out, one_line(line, out.width), style="bold red")


def _print_rest(out: Console, count: int, one: str, many: str = "") -> None:
    if count > 0:
        print_line(out, f"… {counted(count, 'more ' + one, 'more ' + (many or one + 's'))}", style="dim")


def sessions_table(rows: Iterable[SessionRow]) -> Table:
    """Return the table of sessions, the worst first, those with nothing lost or needed later last."""
    from rich.text import Text

    from cli.terminal import CutLine
    from projections.audit.metrics import rank

    worst = sorted(
        rows,
        key=lambda row: (rank(row.dropped, row.serious, row.minor, row.future_use, row.losses), row.session),
    )
    short = short_names([row.session for row in worst])
    times, cost = "TIMES COMPACTED", "COST"
    dropped = ("MESSAGES DROPPED",) if any(row.dropped for row in worst) else ()
    numbers = (times, *dropped, "SERIOUS", "MINOR", "FOUND WHEN NEEDED", cost)
    listing = table("SESSION", *numbers, "TITLE", right=numbers, shrinks="TITLE", drops=(times, cost))
    for row in worst:
        listing.add_row(
            safe_line(short[row.session]),
            thousands(row.compactions),
            *([Text(thousands(row.dropped), style="bold red" if row.dropped else "")] if dropped else []),
            Text(thousands(row.serious), style=_STYLES["serious"] if row.serious else ""),
            Text(thousands(row.minor), style=_STYLES["minor"] if row.minor else ""),
            percent(row.future_use),
            spent_dollars(row.spent),
            CutLine(row.title),
        )
    return listing


def generations_line(rows: Iterable[SessionRow]) -> list[str]:
    """Yield a line if some sessions are generations of one session."""
    later = sum(row.earlier is not None for row in rows)
    if not later:
        return []
    lines = "1 line is a later generation" if later == 1 else f"{later:,} lines are later generations"
    return [f"{lines} (ID~2, ID~3, …) of a session whose file was rewritten: each is audited separately"]
