"""refold stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from cli.options import chosen_prices, json_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventstore.log import StoreSize
    from projections.overview import Family, SessionOverview, Spent
    from projections.stats import Stats

_GROUPS: Final = ("project", "day", "model", "harness")


@click.command("stats", epilog="Example:  refold stats --by project")
@click.option(
    "--by",
    type=click.Choice(_GROUPS),
    help="Show tokens and cost by project, day (UTC), model or harness instead.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, by: str | None, as_json: bool) -> None:
    """Show the store's contents and size; with --by, the tokens and cost of its sessions."""
    if by is None:
        _show_store(ctx, as_json=as_json)
    else:
        _show_spent(ctx, by, as_json=as_json)


def _show_store(ctx: click.Context, *, as_json: bool) -> None:
    from cli.output import echo_json, echo_problem
    from cli.store import opened
    from projections.stats import stats

    with opened(ctx) as log:
        found = stats(log)
        size = log.size()
    if as_json:
        import msgspec

        echo_json({"store": log.place, **msgspec.to_builtins(size), **msgspec.to_builtins(found)})
    else:
        _print_store(log.place, size, found)
    for each in found.problems:
        echo_problem(each)
    ctx.exit(1 if found.problems else 0)


def _print_store(place: str, size: StoreSize, found: Stats) -> None:
    from cli.output import console, counted, print_line, safe_line, table, thousands

    out = console()
    print_line(out, place, style="bold")
    share = f" ({size.file_bytes / found.body_bytes:.2f} times the records)" if found.body_bytes else ""
    held = f"{counted(found.sessions, 'session')}, {counted(found.events, 'event')}"
    print_line(out, f"{held}, {found.body_bytes:,} bytes of records")
    print_line(out, f"{size.file_bytes:,} bytes on disk{share}, {size.free_bytes:,} of them free")
    out.print()
    kinds = table("KIND OF EVENT", "EVENTS", "BYTES", right=("EVENTS", "BYTES"))
    for each in found.kinds:
        kinds.add_row(safe_line(each.kind), thousands(each.events), thousands(each.bytes))
    out.print(kinds)


def _show_spent(ctx: click.Context, by: str, *, as_json: bool) -> None:
    from cli.output import console, echo_json, echo_note, echo_problem, paged
    from cli.store import chosen_sessions, opened
    from projections.audit.prices import prices_of_file
    from projections.overview import SessionFilter, model_name, total

    with opened(ctx) as log:
        prices = chosen_prices(ctx)
        table_of_prices = prices_of_file(prices) if prices else None
        # Answers of replays were paid for, too.
        found = chosen_sessions(log, SessionFilter(), prices=table_of_prices, with_answers=True)
    parts: dict[str, list[Spent]] = {}
    sessions: dict[str, set[str]] = {}
    for family in found:
        for session in family.counted:
            for group, spent in _grouped(by, family, session):
                if by == "model" and not as_json:
                    # In JSON a model keeps its provider and release, as in that of sessions.
                    group = model_name(group)  # noqa: PLW2901
                parts.setdefault(group, []).append(spent)
                sessions.setdefault(group, set()).add(session.name)
    groups = [(group, len(sessions[group]), total(spent)) for group, spent in parts.items()]
    # Days are in order; of anything else what cost most comes first.
    groups.sort(key=lambda row: row[0] if by == "day" else (-(row[2].cost or 0), -row[2].tokens, row[0]))
    whole = (len(set().union(*sessions.values())), total(spent for _, _, spent in groups))
    if as_json:
        rows = [{by: group or None, **_json(count, spent)} for group, count, spent in groups]
        echo_json({"by": by, "groups": rows, "total": _json(*whole)})
    else:
        out = console()
        with paged(out):
            out.print(_listing(by, groups, whole), crop=False)
        if not groups:
            echo_note("no calls with usage are recorded")
    damaged = [each for family in found for each in family.members if each.problem]
    for each in damaged:
        echo_problem(each.problem)
    ctx.exit(1 if damaged else 0)


def _grouped(by: str, family: Family, session: SessionOverview) -> Iterator[tuple[str, Spent]]:
    """Yield what the calls of a session used, by group; a project is its folder."""
    for each in session.calls:
        groups = {
            "project": family.folder,
            "day": each.day,
            "model": each.model,
            "harness": session.harness,
        }
        yield groups[by], each.spent


def _json(sessions: int, spent: Spent) -> dict[str, object]:
    import msgspec

    return {"sessions": sessions, **msgspec.to_builtins(spent)}


def _listing(by: str, groups: Sequence[tuple[str, int, Spent]], whole: tuple[int, Spent]) -> object:
    from cli.output import safe_line, table, thousands
    from cli.views.texts import spent_dollars
    from projections.overview import short_projects

    name = by.upper()
    tokens = ("INPUT TOKENS", "CACHE READ", "CACHE WRITE", "OUTPUT TOKENS")
    numbers = ("SESSIONS", "CALLS", *tokens, "COST")
    listing = table(name, *numbers, right=numbers, drops=("SESSIONS", "CALLS", "CACHE WRITE"))
    short = short_projects([group for group, _, _ in groups]) if by == "project" else {}
    rows: list[tuple[str, int, Spent]] = [
        (safe_line(short.get(group, group) or "unknown"), count, spent) for group, count, spent in groups
    ]
    if len(groups) > 1:
        rows.append(("all", *whole))
    for first, sessions, spent in rows:
        counts = (spent.calls, spent.input, spent.cache_read, spent.cache_write, spent.output)
        listing.add_row(first, thousands(sessions), *map(thousands, counts), spent_dollars(spent))
    return listing
