"""refold push, and what it shares with refold pull."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from cli.options import json_option, utf8

if TYPE_CHECKING:
    from eventstore import EventLog
    from eventstore.transfer import SessionTransfer


def _other_store(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return the other store. Raises BadParameter if it is this one."""
    from pathlib import Path

    from cli.store import store_path

    if not utf8(ctx, param, value):
        raise click.BadParameter("it names no store")
    if Path(value).resolve() == Path(store_path(ctx.obj)).resolve():
        raise click.BadParameter("it is the store itself: name another one")
    return value


def transfer_options(argument: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the other store as an argument, and the options of push and pull."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        options: Final = (
            click.argument("other", metavar=argument, callback=_other_store),
            click.option(
                "--session",
                metavar="SESSION",
                help="Only this session, with its subagents and other generations.",
            ),
            json_option,
        )
        for option in reversed(options):
            command = option(command)
        return command

    return add


@click.command("push", epilog="Example:  refold push other-store")
@transfer_options("TARGET")
@click.pass_context
def command(ctx: click.Context, /, *, other: str, **options: Any) -> None:
    """Copy new events to another store.

    TARGET is the other store, a folder or postgresql://…, and is made if needed. What it has is not copied again.
    If you interrupt it, run it again: it continues where it stopped. A session that has diverged, so that the two
    stores have different events at the same place, is reported and not copied. The exit code is then 1.
    """
    from cli.store import opened
    from eventstore import open_store

    with opened(ctx) as source, open_store(other) as target:
        transfer_sessions(ctx, source, target, **options)


def transfer_sessions(
    ctx: click.Context,
    source: EventLog,
    target: EventLog,
    *,
    session: str | None,
    as_json: bool,
) -> None:
    """Copy the chosen sessions, with a progress bar on a terminal; print the results and exit."""
    from cli.output import echo_json, echo_problem, progress_bar
    from eventstore.transfer import DivergedError, transfer

    with progress_bar("copying") as progress:
        results = transfer(source, target, sessions=_chosen(source, session), progress=progress)
    if as_json:
        echo_json(
            {
                "sessions": [
                    {
                        "session": each.session,
                        "version": each.version,
                        "added": each.added,
                        "ahead": each.ahead,
                        "problem": str(each.error) if each.error else None,
                        "divergedAt": each.error.seq if isinstance(each.error, DivergedError) else None,
                    }
                    for each in results
                ],
            }
        )
    else:
        _print(results)
    problems = [each.error for each in results if each.error]
    for error in problems:
        echo_problem(str(error))
    ctx.exit(1 if problems else 0)


def _chosen(source: EventLog, session: str | None) -> set[str] | None:
    """Return the sessions to copy, None for all. Raises NotFoundError, AmbiguousError."""
    from cli.store import looks_like_file, resolve_session
    from eventstore.transfer import related_sessions

    if session is None:
        return None
    # A file is not imported: its name may still be a session's id.
    if not looks_like_file(session):
        session = resolve_session(source, session)
    with source.snapshot() as snapshot:
        return related_sessions(snapshot, snapshot.head(session).name)


def _print(results: list[SessionTransfer]) -> None:
    """Print a line for each session with news, and one for all."""
    from cli.output import console, counted, echo_text, safe_line, table, thousands
    from cli.store import short_names

    copied = [each for each in results if each.added]
    if copied:
        names = short_names([each.session for each in results])
        listing = table("SESSION", "NEW EVENTS", "EVENTS", right=("NEW EVENTS", "EVENTS"), shrinks="SESSION")
        for each in copied:
            listing.add_row(safe_line(names[each.session]), thousands(each.added), thousands(each.version))
        console().print(listing, crop=False)
        echo_text("")
    events = counted(sum(each.added for each in copied), "event")
    done = f"copied {events} of {counted(len(copied), 'session')}"
    unchanged = sum(not each.added and not each.error for each in results)
    ahead = sum(each.ahead > 0 for each in results)
    parts = [done, f"{unchanged:,} unchanged"]
    if ahead:
        parts.append(f"{ahead:,} with later events that the source lacks")
    echo_text("; ".join(parts))
