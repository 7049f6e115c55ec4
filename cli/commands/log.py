"""refold log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from eventstore.event import Event
    from eventstore.log import Snapshot


@click.command("log", epilog="Example:  refold log @last --json | head -3")
@click.argument("session")
@click.option("--kind", metavar="KIND", multiple=True, help="Only events of this kind; may be given again.")
@click.option("--role", metavar="ROLE", multiple=True, help="Only messages of this role; may be given again.")
@click.option("--match", metavar="TEXT", help="Only events whose record holds this text.")
@click.option("--first", type=int, default=1, metavar="SEQ", help="From the event of this number on.")
@click.option("--last", type=int, metavar="SEQ", help="Up to the event of this number.")
@click.option("--reverse", is_flag=True, help="The newest first.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most N events.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines, an event each.")
@click.pass_context
def command(ctx: click.Context, /, session: str, *, limit: int | None, as_json: bool, **chosen: Any) -> None:
    """List a session's events in the order in which they were stored.

    "*" marks the leaf, "-" events that are no nodes of the tree.
    """
    from cli.output import console, echo_json, one_line, paged, thousands, when
    from cli.store import opened_session
    from projections.standpoint import stand
    from projections.summary_line import summary_line

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        events = islice(_chosen(snapshot, name, **chosen), limit)
        if as_json:
            for event in events:
                echo_json(event_json(event))
            return
        leaf = stand(snapshot, name).leaf
        out = console()
        with paged(out):
            for event in events:
                mark = "*" if event.seq == leaf else " " if event.is_entry else "-"
                what = event.role if event.kind == "message" else event.kind
                out.print(
                    f"{event.seq:>6}{mark} {event.id:<10} {when(event.time)}  {what:<16}"
                    f"{thousands(event.utf16 or None):>8}  {one_line(summary_line(event), 70)}",
                    overflow="ignore",
                    no_wrap=True,
                    crop=False,
                )


def _chosen(
    snapshot: Snapshot,
    session: str,
    *,
    kind: tuple[str, ...],
    role: tuple[str, ...],
    match: str | None,
    first: int,
    last: int | None,
    reverse: bool,
) -> Iterator[Event]:
    from eventstore.frame import decode

    for frame in snapshot.frames(session, first=first, last=last, backward=reverse):
        event = decode(frame, session)
        if (
            (not kind or event.kind in kind)
            and (not role or event.role in role)
            and (not match or match.encode() in event.body)
        ):
            yield event


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
