"""refold label."""

from __future__ import annotations

import click

from cli.options import json_option, utf8


@click.command(
    "label",
    epilog="Example:  refold label @last --title 'Rate limiter'",
)
@click.argument("session")
@click.argument("entry", required=False)
@click.argument("text", callback=utf8, required=False)
@click.option("--title", callback=utf8, help="Give the session this title; an empty one removes it.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    entry: str | None,
    text: str | None,
    *,
    title: str | None,
    as_json: bool,
) -> None:
    """Label an entry, or give the session a title; without TEXT, show the entry's label.

    The label is an event of the session; an empty TEXT ('') removes it. ENTRY is an id, a unique prefix of one, a
    label, or #N. A session's id stays when its title changes.
    """
    if (entry is None) == (title is None):
        raise click.UsageError("name an entry, or give --title", ctx)
    if entry is None:
        _give_title(ctx, session, (title or "").strip(), as_json=as_json)
    else:
        _label(ctx, session, entry, text, as_json=as_json)


def _give_title(ctx: click.Context, session: str, title: str, *, as_json: bool) -> None:
    from cli.output import echo_json, echo_text, safe_line
    from cli.store import opened_session
    from eventstore.records import SessionInfo
    from eventstore.writing import SessionWriter
    from projections.descriptions import title as title_of

    with opened_session(ctx, session, writes=True) as (log, name):
        before = title_of(log, name)
        event = SessionWriter(log, name).append(SessionInfo(name=title))[0]
    if as_json:
        echo_json({"session": name, "id": event, "target": None, "label": title or None, "before": before})
    else:
        echo_text(f"{safe_line(name)} is now {title!r}" if title else f"{safe_line(name)} has no title")


def _label(ctx: click.Context, session: str, entry: str, text: str | None, *, as_json: bool) -> None:
    from cli.output import echo_json, echo_text
    from cli.store import opened_session, resolve_event
    from eventstore.records import Label
    from eventstore.writing import SessionWriter
    from projections.context.cursor import resolve_cursor
    from projections.tree import labels_of

    with opened_session(ctx, session, writes=True) as (log, name):
        with log.snapshot() as snapshot:
            target = resolve_event(snapshot, name, entry)
            resolve_cursor(snapshot, name, leaf=target)
            before = labels_of(snapshot, name).get(target)
        event = None
        if text or (text == "" and before is not None):
            event = SessionWriter(log, name).append(Label(target_id=target, label=text))[0]
    label = before if text is None else text or None
    if as_json:
        echo_json({"session": name, "id": event, "target": target, "label": label, "before": before})
    elif event and not label:
        echo_text(f"{target} is no longer labelled {before!r}")
    else:
        echo_text(f"{target} has no label" if label is None else f"{target} is labelled {label!r}")
