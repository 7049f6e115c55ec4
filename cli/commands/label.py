"""refold label."""

from __future__ import annotations

import click

from cli.options import json_option, utf8


@click.command("label", epilog="Example:  refold label @last '#1' 'where it began'")
@click.argument("session")
@click.argument("entry")
@click.argument("text", callback=utf8, required=False)
@click.option("--remove", "is_removed", is_flag=True, help="Remove the entry's label.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, session: str, entry: str, text: str | None, *, is_removed: bool, as_json: bool
) -> None:
    """Label an entry; without TEXT, show its label.

    The label is an event of the session. ENTRY is an id, a unique prefix of one, a label, or #N.
    """
    from cli.output import echo_json, echo_text
    from cli.store import opened_session, resolve_event
    from eventstore.records import Label
    from eventstore.writing import SessionWriter
    from projections.context.cursor import resolve_cursor
    from projections.tree import labels_of

    if is_removed and text is not None:
        raise click.UsageError("--remove takes no text", ctx)
    if text == "":
        raise click.UsageError("a label cannot be empty: remove it with --remove", ctx)
    with opened_session(ctx, session) as (log, name):
        with log.snapshot() as snapshot:
            target = resolve_event(snapshot, name, entry)
            resolve_cursor(snapshot, name, leaf=target)
            before = labels_of(snapshot, name).get(target)
        event = None
        if text is not None or (is_removed and before is not None):
            event = SessionWriter(log, name).append(Label(target_id=target, label=text or ""))[0]
    label = text if event else before
    if as_json:
        echo_json({"session": name, "id": event, "target": target, "label": label, "before": before})
    elif is_removed and before is not None:
        echo_text(f"{target} is no longer labelled {before!r}")
    else:
        echo_text(f"{target} has no label" if label is None else f"{target} is labelled {label!r}")
