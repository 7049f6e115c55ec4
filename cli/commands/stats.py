"""refold stats."""

from __future__ import annotations

import click

from cli.options import json_option


@click.command("stats", epilog="Example:  refold stats --json")
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Show the store's contents and size."""
    from cli.output import console, counted, echo_json, print_line, safe_line, table, thousands
    from cli.store import opened
    from projections.stats import stats

    with opened(ctx) as log:
        found = stats(log)
        size = log.size()
    if as_json:
        import msgspec

        echo_json({"store": log.path, **msgspec.to_builtins(size), **msgspec.to_builtins(found)})
        return
    out = console()
    print_line(out, log.path, style="bold")
    share = f" ({size.file_bytes / found.body_bytes:.2f} times the records)" if found.body_bytes else ""
    held = f"{counted(found.sessions, 'session')}, {counted(found.events, 'event')}"
    print_line(out, f"{held}, {found.body_bytes:,} bytes of records")
    print_line(out, f"{size.file_bytes:,} bytes on disk{share}, {size.free_bytes:,} of them free")
    out.print()
    kinds = table("KIND OF EVENT", "EVENTS", "BYTES", right=("EVENTS", "BYTES"))
    for each in found.kinds:
        kinds.add_row(safe_line(each.kind), thousands(each.events), thousands(each.bytes))
    out.print(kinds)
