"""refold log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from eventstore.event import Event


@click.command("log", epilog="Example:  refold log @last --json | head -3")
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines, an event each.")
@click.pass_context
def command(ctx: click.Context, session: str, *, as_json: bool) -> None:
    """List a session's events in the order in which they were stored."""
    from cli.output import console, echo_json, one_line, thousands, when
    from cli.store import opened_session
    from eventstore.frame import decode
    from projections.standpoint import stand
    from projections.summary_line import summary_line

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        events = (decode(frame, name) for frame in snapshot.frames(name))
        if as_json:
            for event in events:
                echo_json(event_json(event))
            return
        leaf = stand(snapshot, name).leaf
        out = console()
        for event in events:
            mark = "*" if event.seq == leaf else " " if event.is_entry else "-"
            out.print(
                f"{event.seq:>6}{mark} {event.id:<10} {when(event.time)}  {event.kind:<22}"
                f"{thousands(event.utf16 or None):>8}  {one_line(summary_line(event), 60)}",
                overflow="ignore",
                no_wrap=True,
                crop=False,
            )


def event_json(event: Event) -> dict[str, Any]:
    """What a script gets of an event; times are RFC 3339."""
    from eventstore.javascript import iso_time

    return {
        "seq": event.seq,
        "id": event.id,
        "parent": event.parent,
        "kind": event.kind,
        "time": iso_time(event.time),
        "entry": event.is_entry,
        "role": event.role or None,
        "format": event.format,
        "cause": event.cause or None,
        "recorded": iso_time(event.recorded),
        "position": event.position,
        "tokens": {"utf16/4": event.utf16, "bytes/4": event.utf8},
        "bytes": len(event.body),
        "digest": event.digest.hex(),
    }
