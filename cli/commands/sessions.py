"""refold sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from cli.options import json_option, utf8

if TYPE_CHECKING:
    from rich.table import Table

    from eventstore.log import Head, Snapshot

_WIDE: Final = 100
"""Columns from which times of day fit beside titles."""
_NARROW: Final = 80
"""Columns below which long ids do not fit beside titles."""
_ORDERS: Final = {
    "written": lambda row: row["_position"],
    "ended": lambda row: row["ended"] or "",
    "entries": lambda row: row["entries"],
    "title": lambda row: (row["title"] or row["firstRequest"] or "").casefold(),
    "id": lambda row: row["id"],
}


@click.command("sessions", epilog="Example:  refold sessions --sort entries --limit 5")
@click.option(
    "--match",
    metavar="TEXT",
    callback=utf8,
    help="Only sessions with this text in id, title or first request.",
)
@click.option(
    "--sort", type=click.Choice(list(_ORDERS)), default="written", show_default=True, help="Sort order."
)
@click.option("--reverse", is_flag=True, help="Reverse the order.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the last N of the list.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, match: str | None, sort: str, reverse: bool, limit: int | None, as_json: bool
) -> None:
    """List the sessions of the store, the most recently written last."""
    from cli.output import console, echo_json, paged
    from cli.store import opened

    with opened(ctx) as log, log.snapshot() as snapshot:
        rows = [_row(snapshot, head) for head in snapshot.heads()]
    if match:
        rows = [row for row in rows if _matches(row, match.casefold())]
    rows = sorted(rows, key=_ORDERS[sort], reverse=reverse)[-(limit or 0) :]
    for row in rows:
        del row["_position"]
    if as_json:
        echo_json({"sessions": rows})
        return
    out = console()
    with paged(out):
        out.print(_listing(rows, out.width), crop=False)


def _listing(rows: list[dict[str, Any]], width: int) -> Table:
    from cli.output import one_line, safe_line, table, thousands, when
    from cli.store import short_names
    from cli.terminal import CutLine
    from eventstore.javascript import epoch_ms

    names = [row["id"] for row in rows]
    shown = short_names(names) if width < _NARROW else {name: name for name in names}
    last, title = "LAST ENTRY (UTC)", "TITLE OR FIRST REQUEST"
    columns = ("SESSION", "ENTRIES", last, title)
    listing = table(*columns, right=("ENTRIES",), shrinks=title, drops=(last, "ENTRIES"))
    for row in rows:
        listing.add_row(
            safe_line(shown[row["id"]]),
            thousands(row["entries"]),
            when(epoch_ms(row["ended"]))[: 16 if width >= _WIDE else 10],
            CutLine(one_line(row["title"] or row["firstRequest"] or "", 60)),
        )
    return listing


def _row(snapshot: Snapshot, head: Head) -> dict[str, Any]:
    from eventstore.javascript import iso_time
    from projections.descriptions import first_user_message, title

    return {
        "id": head.name,
        "title": title(snapshot, head.name) or None,
        "firstRequest": first_user_message(snapshot, head.name) or None,
        "events": head.version,
        "entries": head.entries,
        "started": iso_time(head.first_time),
        "ended": iso_time(head.last_time),
        "source": head.source or None,
        "digest": head.digest.hex(),
        "_position": head.position,
    }


def _matches(row: dict[str, Any], text: str) -> bool:
    return any(text in (row[name] or "").casefold() for name in ("id", "title", "firstRequest"))
