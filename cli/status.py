"""Show where things stand: the sessions, what is new on this machine, the next command."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from cli.commands.sessions import listing
from cli.output import command_line, console, counted, echo_problem, echo_text
from cli.store import chosen_sessions, opened, store_path
from eventstore import is_store
from eventstore.errors import RefoldError
from eventstore.files.discovery import session_files
from eventstore.files.syncing import SourceComparison, compare_sources, has_news, is_reported
from eventstore.harnesses import harnesses
from eventstore.memory import MemoryLog
from projections.overview import SessionFilter

if TYPE_CHECKING:
    import click

    from eventstore.log import EventLog, Snapshot

_LISTED: Final = 5
"""Compacted sessions to list, those with the newest entries."""


def print_status(ctx: click.Context) -> None:
    """Print counts of sessions and of files to import, compacted sessions, the next command."""
    with opened(ctx) if is_store(store_path(ctx.obj)) else nullcontext(MemoryLog()) as log:
        found = chosen_sessions(log, SessionFilter())
        if not found:
            echo_text(f"the store is empty; to import the sessions on this machine: {command_line('sync')}")
            return
        with log.snapshot() as snapshot:
            names = [head.name for head in snapshot.heads()]
            news = _changed_files(log, snapshot)
    compacted = [family for family in found if family.overview.compactions]
    echo_text(f"{counted(len(found), 'session')}, {len(compacted):,} of them compacted")
    changed = counted(news, "session file", "session files") if news else "no session file"
    is_are = "are" if news > 1 else "is"
    echo_text(f"{changed} in the usual places {is_are} new or changed since the last import")
    if compacted:
        out = console()
        out.print(listing(compacted[-_LISTED:], names, out.width, is_all=False), crop=False)
    for each in (each for family in found for each in family.members if each.problem):
        echo_problem(each.problem)
    if news:
        following = command_line("sync")
    else:
        following = (
            command_line("audit", compacted[-1].overview.name) if compacted else command_line("sessions")
        )
    echo_text(f"next: {following}")


def _changed_files(log: EventLog, snapshot: Snapshot) -> int:
    """Count the session files on this machine that are new or changed since the last import.

    One that could not be imported counts again when it has changed.
    """
    readable = {each.name for each in harnesses()}
    files = [each for each in session_files(os.environ) if each.harness in readable]
    return sum(
        each.change != "unchanged" and not is_reported(snapshot, each.file) and _has_news(log, each)
        for each in compare_sources(snapshot, files)
    )


def _has_news(log: EventLog, source: SourceComparison) -> bool:
    """Return True for a new file, and for a known one that sync would count as changed."""
    try:
        return source.known is None or has_news(log, source)
    except RefoldError:
        return True
