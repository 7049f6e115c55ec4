"""refold label."""

from __future__ import annotations

import click

from cli.options import json_option, utf8


@click.command("label", epilog="Example:  refold label @last '#1' 'where it began'")
@click.argument("session")
@click.argument("entry")
@click.argument("text", callback=utf8, required=False, default="")
@json_option
@click.pass_context
def command(ctx: click.Context, session: str, entry: str, text: str, *, as_json: bool) -> None:
    """Name an entry; without TEXT, take its label away.

    The label is an event of the session. ENTRY is an id, a unique beginning of one, or #N.
    """
    from cli.output import echo_json, echo_text
    from cli.store import opened_session, resolve_event
    from eventstore.records import Label
    from eventstore.writing import SessionWriter
    from projections.standpoint import stand

    with opened_session(ctx, session) as (log, name):
        with log.snapshot() as snapshot:
            target = resolve_event(snapshot, name, entry)
            stand(snapshot, name, leaf=target)
        event = SessionWriter(log, name).append(Label(target_id=target, label=text))[0]
    if as_json:
        echo_json({"session": name, "id": event, "target": target, "label": text or None})
    else:
        echo_text(f"{target} is labelled {text!r}" if text else f"{target} has no label")
