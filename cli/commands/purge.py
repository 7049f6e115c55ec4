"""refold purge."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import click

from cli.options import json_option, utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventstore.purging import Purge

_LISTED: Final = 20
"""Events that are listed; --json lists all."""


def _given(ctx: click.Context, param: click.Parameter, text: str | None) -> str:
    """Return a text, or the line of standard input that stands for it; "" for none."""
    if text == "-":
        text = os.fsdecode(sys.stdin.buffer.readline()).rstrip("\r\n")
    return utf8(ctx, param, text) or ""


@click.command("purge", epilog="Example:  refold purge @last --match sk-live-4242")
@click.argument("session")
@click.argument("events", metavar="[EVENT]...", nargs=-1)
@click.option(
    "--match", "text", metavar="TEXT", callback=_given, help="Purge this text from every session; - reads it."
)
@click.option("--yes", "-y", is_flag=True, help="Purge without asking.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, session: str, events: Sequence[str], *, text: str, yes: bool, as_json: bool
) -> None:
    """Take a leaked secret out of the store; first list what will go.

    An EVENT of SESSION loses its whole record, and so do its copies in other sessions; summaries and notes lose the
    lines that they quote of it. TEXT is replaced by [purged] wherever it stands. Ids, times and digests stay, so the
    file can be imported again and brings nothing back. There is no undo. Change the secret all the same.
    """
    from cli.output import counted, echo_json, echo_note, echo_text
    from cli.store import opened, resolve_event, resolve_session
    from eventstore.purging import plan_purge, purge, still_held
    from projections.search.full_text import remove_index

    if not text and not events:
        raise click.UsageError("name an EVENT, or a text with --match", ctx)
    with opened(ctx, writes=True) as log:
        name = resolve_session(log, session)
        with log.snapshot() as snapshot:
            named = [(name, snapshot.locate(name, resolve_event(snapshot, name, each))) for each in events]
            plan = plan_purge(snapshot, text=text, named=named)
            held = still_held(snapshot, log.path, plan.forms)
        if not as_json:
            _print(plan, held)
        has_any = bool(plan.events or plan.payloads)
        is_agreed = has_any and (yes or _is_agreed())
        if is_agreed:
            purge(log, plan)
            remove_index(log.folder)
    if as_json:
        echo_json(
            {
                "purged": is_agreed,
                "events": list(plan.events),
                "payloads": [digest.hex() for digest in plan.payloads],
                "stillIn": held,
            }
        )
    elif is_agreed:
        echo_text(
            f"purged {counted(len(plan.events), 'event')}; cached results and the search index are gone, too"
        )
    elif has_any:
        echo_note("nothing was purged: allow it with --yes")
    if has_any and not is_agreed:
        ctx.exit(1)


def _is_agreed() -> bool:
    return (
        sys.stdin.isatty()
        and sys.stderr.isatty()
        and click.confirm("Purge? This cannot be undone.", err=True)
    )


def _print(plan: Purge, held: Sequence[str]) -> None:
    """Print what will go, and the files that keep it."""
    from cli.output import console, counted, echo_note, echo_text, safe_line, table
    from cli.store import short_names

    if not plan.events and not plan.payloads:
        echo_text("no record in the store holds it")
    else:
        columns = ("SESSION", "EVENT", "KIND", "GOES", "BECAUSE")
        rows = table(*columns, right=["EVENT"], drops=["KIND", "BECAUSE"])
        names = short_names([each.session for each in plan.events])
        for each in plan.events[:_LISTED]:
            goes = "the record" if each.is_whole else "the text"
            rows.add_row(safe_line(names[each.session]), f"#{each.seq}", each.kind, goes, _BECAUSE[each.why])
        console().print(rows)
        if len(plan.events) > _LISTED:
            echo_text(f"… {counted(len(plan.events) - _LISTED, 'more event')}")
        if plan.payloads:
            echo_text(f"and {counted(len(plan.payloads), 'run')} of bytes between records")
    for path in held:
        echo_note(f"{path} holds it and stays as it is")
    if plan.events or plan.payloads or held:
        echo_note(
            "backups and other stores elsewhere are not looked at: purge there, too, and change the secret"
        )


_BECAUSE: Final = {
    "named": "you named it",
    "copy": "is a copy of it",
    "quotes": "quotes it",
    "holds": "holds the text",
}
