"""Print audits: one session on one screen, or many in a table, the worst first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from cli.output import command_line, counted, one_line, print_line, safe_line, table, thousands, wrapped
from cli.store import short_names
from cli.views.readings import given_back_text, lines_of_reading
from cli.views.texts import (
    FREE,
    WINDOW_UNKNOWN,
    dollars,
    failure_text,
    fit_text,
    gap_text,
    restored_text,
    spent_dollars,
    tokens_heading,
    understated_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from cli.views.model import AuditView, ReplacementView, SessionRow, Sizes
    from projections.audit.cache import CacheHistory
    from projections.audit.cost import SessionCost
    from projections.audit.session import Audit
    from projections.rules.base import Gap

_TITLE: Final = 100


def print_overview(out: Console, audit: Audit) -> None:
    """Print a session in a few lines."""
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
    calls = audit.cost.spent.calls if audit.cost else 0
    if audit.cost and calls:
        print_line(out, _cost(audit.cost), style="dim")
    if audit.cache and audit.cache.written:
        print_line(out, _cache(audit.cache), style="dim")
    if audit.original is not None:
        own = "only its own calls count" if calls else "it has no calls of its own"
        print_line(out, f"{own}: the others are those of {safe_line(audit.original)}", style="dim")
    if audit.failed_compactions:
        failed, last = counted(len(audit.failed_compactions), "compaction"), audit.failed_compactions[-1]
        text = f"{failed} failed, the last at #{last.seq}: {safe_line(last.error)}"
        print_line(out, wrapped(text, min(out.width, _WIDE)), style="bold red")
    for each in audit.not_computed:
        print_line(out, wrapped(failure_text(each), min(out.width, _WIDE)), style="bold red")


def print_gaps(out: Console, gaps: Sequence[Gap]) -> None:
    """Print how requests differ from the session, a line each."""
    for gap in gaps:
        print_line(out, gap_text(gap), style="dim")


def _cost(cost: SessionCost) -> str:
    spent = cost.spent
    table = f"{cost.prices} of {cost.prices_date}" if cost.prices_date else cost.prices
    recorded = priced = ""
    if spent.recorded is not None:
        free = "" if spent.recorded else FREE
        recorded = f"{dollars(spent.recorded)} as recorded{free}{_without_note(spent.unrecorded)}"
    if spent.priced is not None:
        priced = f"{dollars(spent.priced)} by {table}{_without_note(spent.unpriced)}"
        priced += understated_text(spent)
    facts = [counted(spent.calls, "call"), recorded or "no cost recorded", priced or f"no price in {table}"]
    return " · ".join(facts)


def _cache(cache: CacheHistory) -> str:
    written = f"{counted(cache.written, 'token')} written to the cache"
    return f"{written}, {cache.unread:,} of them not read by the next call"


def _without_note(calls: int) -> str:
    return f", {calls:,} without" if calls else ""


ROWS: Final = 6
REMARKS: Final = 7
GAPS: Final = 4
"""Maximum items to list; the rest are counted."""

_WIDE: Final = 100
"""Columns from which times and long names fit."""
_MEASURED: Final = (
    "tokens as the provider counted them for the calls before and after, with system prompt and tools"
)
_TIME, _AGAIN, _EVENT, _SAID = "TIME (UTC)", "READ AGAIN", "EVENT", "SAID NEXT"


def print_screen(out: Console, view: AuditView) -> None:
    """Print a session's audit: what replaced what, what to look at, and how to see more."""
    audit, worst = view.audit, view.worst
    print_overview(out, audit)
    names = {each.result.id: each.name for each in view.replacements}
    _print_notes(out, audit, names)
    if not worst:
        print_line(out, "Nothing in the context was replaced.")
    else:
        out.print()
        out.print(_table(worst[:ROWS], view.sizes, is_wide=out.width >= _WIDE), crop=False)
        _print_rest(out, len(worst) - ROWS, "replacement")
        if view.sizes[worst[0].seq].counted == "measured":
            print_line(out, _MEASURED, style="dim")
        for each in worst[:ROWS]:
            if text := restored_text(each.metrics.size):
                print_line(out, f"{each.name}: after, with {text}", style="dim")
        _print_fits(out, worst[:ROWS])
        _print_remarks(out, view)
        if view.not_judged:
            print_line(out, view.not_judged)
    print_gaps(out, audit.gaps[:GAPS])
    _print_rest(out, len(audit.gaps) - GAPS, "gap")
    further = [("all details, as a page", "report")] if worst else []
    if view.not_judged:
        further.append(("have a model judge", "judge --dry-run"))
    for what, command in further:
        print_line(out, f"{what}: {command_line(command, audit.session)}", style="dim")
    out.print()


def _print_notes(out: Console, audit: Audit, names: Mapping[str, str]) -> None:
    """Print what a model read and what was given back at boundaries; `names` are by id."""
    for reading in audit.readings:
        for text, style in lines_of_reading(reading, names.get(reading.boundary, "")):
            print_line(out, text, style=style)
    for given in audit.given_back:
        print_line(out, given_back_text(given, names))


def _table(worst: Sequence[ReplacementView], sizes: Mapping[int, Sizes], *, is_wide: bool) -> Table:
    from rich.text import Text

    is_estimate = sizes[worst[0].seq].counted == "estimated"
    before, after = (tokens_heading(when, is_estimate=is_estimate) for when in ("BEFORE", "AFTER"))
    numbers = (before, after, _AGAIN, _SAID, "DOLLARS SAVED")
    times = (_TIME,) if is_wide else ()
    listing = table(
        "WORST FIRST",
        _EVENT,
        *times,
        *numbers,
        right=(_EVENT, *numbers),
        drops=(_TIME, _SAID, _AGAIN, _EVENT),
    )
    for each in worst:
        size, metrics = sizes[each.seq], each.metrics
        name = each.name + (" ↶" if each.is_undone else "")
        listing.add_row(
            Text(name if is_wide else name.replace("branch summary", "branch")),
            f"#{each.seq}",
            *([(each.result.time or "-")[:16].replace("T", " ")] if is_wide else []),
            thousands(size.before or None),
            Text(thousands(size.after), style="bold red" if each.grew and size.after > size.before else ""),
            thousands(each.fetched),
            thousands(len(each.said_next) if metrics.next else None),
            dollars(metrics.cost.net if metrics.cost else None, is_signed=True),
            style="dim" if each.is_undone else "",
        )
    return listing


def _print_fits(out: Console, shown: Sequence[ReplacementView]) -> None:
    """Print why no dollars saved are computed, and once that a window is not known."""
    texts = {each.name: fit_text(each.metrics.cost) for each in shown}
    for name, text in texts.items():
        if text and text != WINDOW_UNKNOWN:
            print_line(out, f"{name}: {text}", style="dim")
    if WINDOW_UNKNOWN in texts.values():
        print_line(out, f"dollars saved: {WINDOW_UNKNOWN}", style="dim")


def _print_remarks(out: Console, view: AuditView) -> None:
    found = [
        f"! {each.name}: {remark.text}"
        for each in view.worst
        if not each.is_undone
        for remark in each.remarks
    ]
    for line in found[:REMARKS]:
        print_line(out, wrapped(line, min(out.width, _WIDE), hanging=2), style="bold red")
    _print_rest(out, len(found) - REMARKS, "remark")
    if view.worst and not found:
        print_line(out, "no condition holds", style="dim")


def _print_rest(out: Console, count: int, one: str) -> None:
    if count > 0:
        print_line(out, f"… {counted(count, f'more {one}')}", style="dim")


def print_sessions(out: Console, rows: Sequence[SessionRow]) -> None:
    """Print a table of sessions; count those without a compaction, a failed one or a remark."""
    listed = [row for row in rows if row.is_compacted or row.remarks]
    if listed or not rows:
        out.print(_sessions_table(listed), crop=False)
    if rest := len(rows) - len(listed):
        print_line(out, f"{counted(rest, 'session')} without a compaction", style="dim")


def _sessions_table(rows: Iterable[SessionRow]) -> Table:
    """Return the table of sessions: those with a compaction first, of these the worst first.

    The worst have most messages that no summary covers, then most failed compactions, then the first rank.
    """
    from rich.text import Text

    from cli.terminal import CutLine
    from projections.audit.conditions import rank

    worst = sorted(
        rows,
        key=lambda row: (
            not row.is_compacted,
            -row.uncovered,
            -row.failed,
            rank(row.uncovered, row.remarks, row.fetched),
            row.session,
        ),
    )
    short = short_names([row.session for row in worst])
    times, cost = "TIMES COMPACTED", "COST"
    failed = ("FAILED",) if any(row.failed for row in worst) else ()
    uncovered = ("UNCOVERED",) if any(row.uncovered for row in worst) else ()
    numbers = (times, *failed, *uncovered, "REMARKS", _AGAIN, _SAID, cost)
    listing = table(
        "SESSION", *numbers, "TITLE", right=numbers, shrinks="TITLE", drops=(times, cost, _SAID, _AGAIN)
    )
    for row in worst:
        listing.add_row(
            safe_line(short[row.session]),
            thousands(row.compactions),
            *([Text(thousands(row.failed), style="bold red" if row.failed else "")] if failed else []),
            *(
                [Text(thousands(row.uncovered), style="bold red" if row.uncovered else "")]
                if uncovered
                else []
            ),
            Text(thousands(row.remarks), style="bold" if row.remarks else ""),
            thousands(row.fetched),
            thousands(row.messages),
            spent_dollars(row.spent),
            CutLine(row.title),
        )
    return listing
