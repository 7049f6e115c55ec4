"""Showing the audits of all sessions of a store, as they come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext

import click

from cli.audit_view.lines import print_line
from cli.audit_view.sessions import Row, generations_line, sessions_table
from cli.auditing import Audited, Wanted, audited
from cli.output import console, echo_problem, json_list, paged, progress_bar
from cli.workers import WorkerLostError

Show = Callable[[Audited], None]


def show_audits(store: str, sessions: Sequence[str], wanted: Wanted, *, jobs: int) -> bool:
    """Audit sessions and show them, with what is wrong on stderr; whether nothing is.

    Of a session that was shown no more than its line is kept. Raises ClickException where a process is killed.
    """
    is_sound = True
    found = audited(store, sessions, wanted, jobs=jobs)
    try:
        with _json() if wanted.is_json else _table() as show, closing(found), _progress(wanted) as advance:
            for done, each in enumerate(found, 1):
                advance(done, len(sessions))
                show(each)
                for line in each.problems:
                    echo_problem(line)
                    is_sound = False
    except WorkerLostError as error:
        raise click.ClickException(
            f"session {error.item!r}: the process that audited it was killed; try fewer --jobs"
        ) from None
    return is_sound


@contextmanager
def _json() -> Iterator[Show]:
    """Each audit is printed when it comes."""
    with json_list("sessions") as add:

        def show(each: Audited) -> None:
            if each.encoded is not None:
                add(each.encoded)

        yield show


@contextmanager
def _table() -> Iterator[Show]:
    """Each audit is a line, and all lines are printed at the end."""
    rows: list[Row] = []

    def show(each: Audited) -> None:
        if each.row is not None:
            rows.append(each.row)

    yield show
    out = console()
    with paged(out):
        out.print(sessions_table(rows), crop=False)
        for line in generations_line(rows):
            print_line(out, line, style="dim")


def _progress(wanted: Wanted) -> AbstractContextManager[Callable[[int, int], None]]:
    """A bar, but not in the midst of JSON on a terminal."""
    if wanted.is_json and sys.stdout.isatty():
        return nullcontext(lambda _done, _total: None)
    return progress_bar("auditing")
