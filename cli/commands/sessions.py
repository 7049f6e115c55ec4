"""refold sessions."""

from __future__ import annotations

import click


@click.command("sessions", epilog="Example:  refold sessions --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """List the sessions of the store, the one that was written to last at the end."""
    from cli.output import console, echo_json, one_line, thousands, when
    from cli.store import opened
    from eventstore.javascript import iso_time
    from projections.title import first_request, title

    with opened(ctx) as log, log.snapshot() as snapshot:
        heads = sorted(snapshot.heads(), key=lambda head: head.position)
        rows = [(head, title(snapshot, head.name), first_request(snapshot, head.name)) for head in heads]
    if as_json:
        echo_json(
            {
                "sessions": [
                    {
                        "id": head.name,
                        "title": name or None,
                        "firstRequest": request or None,
                        "events": head.version,
                        "entries": head.entries,
                        "started": iso_time(head.first_time),
                        "ended": iso_time(head.last_time),
                        "source": head.source or None,
                        "digest": head.digest.hex(),
                    }
                    for head, name, request in rows
                ]
            }
        )
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name, justify in (("SESSION", "left"), ("ENTRIES", "right"), ("LAST", "left"), ("TITLE", "left")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for head, name, request in rows:
        table.add_row(head.name, thousands(head.entries), when(head.last_time), one_line(name or request, 60))
    console().print(table)
