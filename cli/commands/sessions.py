"""refold sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from cli.options import chosen_prices, json_option, session_filters

if TYPE_CHECKING:
    from rich.table import Table

    from projections.overview import Family, SessionFilter, SessionOverview

_WIDE: Final = 140
"""Columns from which whole ids and times fit beside titles."""
_LEAST_TITLE: Final = 24
"""Characters of a title that other columns leave room for."""
_LONGEST_TITLE: Final = 120
"""Characters of a title to show if there is room."""


@click.command("sessions", epilog="Example:  refold sessions --project web --since 2w")
@session_filters
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Also list each session's subagents and earlier generations, below it, sessions of a few events without an "
    "answer, and answers of replays.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    chosen: SessionFilter,
    is_all: bool,
    as_json: bool,
) -> None:
    """List the sessions of the store, the one with the newest entry last.

    Tokens and cost of a session include its subagents, except with --all, where each line has its own.
    """
    from cli.output import (
        command_line,
        console,
        counted,
        echo_json,
        echo_note,
        echo_problem,
        paged,
        print_line,
    )
    from cli.store import chosen_sessions, opened
    from projections.audit.prices import prices_of_file

    with opened(ctx) as log:
        prices = chosen_prices(ctx)
        table_of_prices = prices_of_file(prices) if prices else None
        found = chosen_sessions(log, chosen, prices=table_of_prices, with_answers=is_all)
        # A short id has to be unique in the store, not only in the list.
        with log.snapshot() as snapshot:
            names = [head.name for head in snapshot.heads()]
    shown = [each for each in found if is_all or as_json or not each.is_abandoned]
    abandoned = len(found) - len(shown)
    if as_json:
        rows = [_json(family, each) for family in shown for each in _listed(family, is_all=is_all)]
        echo_json({"sessions": rows})
    else:
        out = console()
        with paged(out):
            if shown:
                out.print(listing(shown, names, out.width, is_all=is_all), crop=False)
            if abandoned:
                which = counted(abandoned, "session of a few events", "sessions of a few events")
                print_line(out, f"{which} without an answer: {command_line('sessions --all')}", style="dim")
        if not found:
            echo_note("the store is empty: run refold sync" if chosen.is_empty else "no session matches")
    damaged = [each for family in shown for each in family.members if each.problem]
    for each in damaged:
        echo_problem(each.problem)
    ctx.exit(1 if damaged else 0)


def _listed(family: Family, *, is_all: bool) -> list[SessionOverview]:
    return family.members if is_all else [family.overview]


def listing(found: list[Family], names: list[str], width: int, *, is_all: bool) -> Table:
    """Return a table of families; a short id is unique among `names`, all sessions of the store."""
    from cli.output import one_line, safe_line, table, thousands, when
    from cli.store import short_names
    from cli.terminal import CutLine
    from cli.views.texts import spent_dollars
    from projections.overview import model_name, short_projects

    is_wide = width >= _WIDE
    shown = {name: name for name in names} if is_wide else short_names(names)
    last, title = "LAST ENTRY (UTC)" if is_wide else "AGE", "TITLE OR FIRST REQUEST"
    compacted = "TIMES COMPACTED"
    numbers = ("EVENTS", "TOKENS", compacted, "BRANCHES", "SUBAGENTS", "COST")
    rows = table(
        *("SESSION", last, "PROJECT", "HARNESS", "MODEL", *numbers, title),
        right=numbers if is_wide else (*numbers, last),
        shrinks=title,
        drops=(
            "BRANCHES",
            "SUBAGENTS",
            "MODEL",
            "EVENTS",
            "HARNESS",
            "TOKENS",
            compacted,
            "COST",
            "PROJECT",
            last,
        ),
    )
    projects = short_projects(family.folder for family in found)
    for family in found:
        for each in _listed(family, is_all=is_all):
            is_root = each is family.overview
            spent = each.spent if is_all else family.spent
            ended = each.ended if is_all else family.ended
            rows.add_row(
                ("" if is_root else "└ ") + safe_line(shown[each.name]),
                when(ended)[:16] if is_wide else _age(ended),
                CutLine(one_line(projects[family.folder], 30) if is_root else ""),
                each.harness,
                CutLine(one_line(model_name(each.model), 30)),
                thousands(each.head.version),
                _short_count(spent.tokens),
                thousands(each.compactions),
                thousands(each.branches),
                thousands(len(family.subagents)) if is_root and family.subagents else "",
                spent_dollars(spent),
                CutLine(one_line(each.title or each.first_request, _LONGEST_TITLE), _LEAST_TITLE),
            )
    return rows


def _age(time: int | None) -> str:
    """Return the time since then in the largest fitting unit, "-" if unknown."""
    from eventstore import event

    if time is None:
        return "-"
    minutes = max(event.epoch_milliseconds() - time, 0) // 60_000
    for unit, size in (("y", 365 * 1440), ("w", 7 * 1440), ("d", 1440), ("h", 60)):
        # Two weeks are "14d", because a number of weeks below that is too coarse.
        if minutes >= (2 if unit == "w" else 1) * size:
            return f"{minutes // size}{unit}"
    return f"{minutes}m"


def _short_count(number: int) -> str:
    """Return a number in at most five characters, such as "12.3M"."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 100 * size else f"{number // size}{unit}"
    return str(number)


def _json(family: Family, each: SessionOverview) -> dict[str, Any]:
    import msgspec

    from eventstore.javascript import iso_time

    is_root = each is family.overview
    spent = each.spent
    newer = next((other.name for other in family.members if other.earlier == each.name), None)
    return {
        "id": each.name,
        "title": each.title or None,
        "firstRequest": each.first_request or None,
        "harness": each.harness or None,
        "project": family.project or None,
        "folder": family.folder or None,
        "model": each.model or None,
        "events": each.head.version,
        "entries": each.head.entries,
        "compactions": each.compactions,
        "branches": each.branches,
        "started": iso_time(each.head.first_time),
        "ended": iso_time(each.ended),
        "parent": each.parent or None,
        "newer": newer,
        "original": each.original or None,
        "subagents": len(family.subagents) if is_root else 0,
        "spent": msgspec.to_builtins(spent),
        "total": msgspec.to_builtins(family.spent if is_root else spent),
        "source": each.head.source or None,
        "digest": each.head.digest.hex(),
        "problem": each.problem or None,
    }
