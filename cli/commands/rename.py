"""refold rename."""

from __future__ import annotations

import click

from cli.options import json_option, utf8


@click.command("rename", epilog="Example:  refold rename @last 'Rate limiter'")
@click.argument("session")
@click.argument("title", callback=utf8)
@json_option
@click.pass_context
def command(ctx: click.Context, session: str, title: str, *, as_json: bool) -> None:
    """Give a session a title; an empty one removes it. The id does not change."""
    from cli.output import echo_json, echo_text, safe_line
    from cli.store import opened_session
    from eventstore.records import SessionInfo
    from eventstore.writing import SessionWriter

    with opened_session(ctx, session) as (log, name):
        event = SessionWriter(log, name).append(SessionInfo(name=title.strip()))[0]
    if as_json:
        echo_json({"session": name, "id": event, "title": title.strip() or None})
    else:
        echo_text(
            f"{safe_line(name)} is now {title.strip()!r}"
            if title.strip()
            else f"{safe_line(name)} has no title"
        )
