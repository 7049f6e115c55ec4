"""refold show."""

from __future__ import annotations

import click

from cli.options import json_option


@click.command("show", epilog="Example:  refold show @last '#1'")
@click.argument("session")
@click.argument("event")
@json_option
@click.option("--raw", is_flag=True, help="Print the record's bytes as they came, and nothing else.")
@click.pass_context
def command(ctx: click.Context, session: str, event: str, *, as_json: bool, raw: bool) -> None:
    """Show one event: where it stands, and its record; a summary as text, JSON and --raw have it as it came.

    EVENT is an id, a unique beginning of one, or #N for the event of that number.
    """
    from cli.commands.log import event_json
    from cli.output import console, echo_bytes, echo_json, paged, unbroken, yes_or_no
    from cli.record_view import record_text
    from cli.store import opened_session, resolve_event
    from eventstore.frame import decode
    from eventstore.javascript import tolerant_json

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        event_id = resolve_event(snapshot, name, event)
        found = decode(snapshot.frame(name, snapshot.locate(name, event_id)), name)
        record = None if raw else tolerant_json(found.body)
    if raw:
        echo_bytes(found.body + b"\n")
        return
    if as_json:
        echo_json({**event_json(found), "record": record})
        return
    fields = {
        **event_json(found),
        "entry": yes_or_no(is_true=found.is_entry),
        "tokens": f"{found.utf16:,} (utf16/4), {found.utf8:,} (bytes/4)",
        "bytes": f"{len(found.body):,}",
    }
    out = console()
    with paged(out):
        for field, value in fields.items():
            if value is not None:
                out.print(f"{field:<9} {unbroken(str(value))}", soft_wrap=True)
        out.print()
        out.print(record_text(found.kind, record), soft_wrap=True)
