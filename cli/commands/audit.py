"""refold audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from cli.options import (
    chosen_counter,
    chosen_prices,
    json_option,
    leaf_option,
    require_all_or_names,
    session_filters,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cli.auditing import AuditOptions
    from cli.views.model import AuditView
    from projections.overview import SessionFilter
    from projections.timeline import Timeline


CONDITIONS: Final = (
    *("uncovered", "larger", "no-gain", "quick", "failed"),
    *("fetched-again", "failed-again", "files", "claim", "serious"),
)
"""The names in `Condition`, which is not imported for --help."""


@click.command("audit", epilog="Example:  refold audit session.jsonl")
@click.argument("sessions", metavar="SESSION...", nargs=-1)
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Audit every session of the store, or those that the next options choose.",
)
@session_filters
@leaf_option
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    metavar="CONDITION",
    type=click.Choice(CONDITIONS),
    help=f"Exit with 1 if this condition holds: {', '.join(CONDITIONS)}. Repeatable.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    *,
    is_all: bool,
    chosen: SessionFilter,
    leaf: str | None,
    fail_on: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what compactions, branch summaries and rewrites did to a session's context.

    Print one screen: sizes before and after, messages that no summary covers, work that was done again, what you
    said next, and the cost. --all prints a line per compacted session, worst first; refold report shows everything.

    Use --fail-on as a CI gate:  --all --fail-on uncovered --fail-on larger
    """
    require_all_or_names(ctx, "audits", sessions, is_all=is_all, chosen=chosen)
    if is_all and leaf is not None:
        raise click.UsageError("--leaf needs a named session, not --all", ctx)
    from cli.auditing import AuditOptions
    from projections.audit.conditions import Condition
    from projections.audit.prices import prices_of_file

    prices = chosen_prices(ctx)
    wanted = AuditOptions(
        counter=chosen_counter(ctx),
        prices=prices_of_file(prices) if prices else None,
        fail_on=tuple(map(Condition, fail_on)),
        is_json=as_json,
    )
    if is_all:
        ctx.exit(_audit_all(ctx, wanted, chosen))
    found = list(_audits(ctx, sessions, wanted, leaf))
    _show(found)
    ctx.exit(_check([view for view, _ in found], wanted))


def _audits(
    ctx: click.Context,
    sessions: tuple[str, ...],
    wanted: AuditOptions,
    leaf: str | None,
) -> Iterator[tuple[AuditView, Timeline | None]]:
    """Yield audits, for JSON also the context's size after each entry."""
    from cli.auditing import audit_session
    from cli.store import explain_missing, looks_like_file, opened, resolve_leaf, resolve_session
    from cli.views.model import audit_view
    from projections.timeline import timeline
    from projections.tokens import counter

    with opened(ctx, create=any(map(looks_like_file, sessions))) as log:
        for session in sessions:
            name = resolve_session(log, session)
            with explain_missing(log, name):
                with log.snapshot() as snapshot:
                    at = resolve_leaf(snapshot, name, leaf)
                view = audit_view(audit_session(log, name, wanted, leaf=at))
                tokens = counter(wanted.counter, log=log)
                sizes = timeline(log, name, leaf=at, tokens=tokens) if wanted.is_json else None
            yield view, sizes


def _show(found: Sequence[tuple[AuditView, Timeline | None]]) -> None:
    from msgspec import to_builtins

    from cli.output import console, echo_json, paged
    from cli.views.screen import print_screen

    if audits := [to_builtins(view.audit) | {"sizes": sizes.moments} for view, sizes in found if sizes]:
        echo_json({"sessions": audits})
        return
    out = console()
    with paged(out):
        for view, _ in found:
            print_screen(out, view)


def _check(views: Sequence[AuditView], wanted: AuditOptions) -> int:
    """Print what a gate refuses; return the exit code, 1 also for a figure that failed."""
    from cli.auditing import breaches, unread
    from cli.output import echo_note, echo_problem

    for note in (line for each in views for line in unread(each, wanted.fail_on)):
        echo_note(note)
    found = [line for each in views for line in breaches(each, wanted.fail_on)]
    for line in found:
        echo_problem(line)
    return 1 if found or any(each.audit.not_computed for each in views) else 0


def _audit_all(ctx: click.Context, wanted: AuditOptions, chosen: SessionFilter) -> int:
    """Audit the chosen sessions of the store, and return the exit code."""
    from cli.auditing import show_audits
    from cli.store import chosen_names, opened, store_path

    with opened(ctx) as log:
        sessions = chosen_names(log, chosen)
    return 0 if show_audits(store_path(ctx.obj), sessions, wanted) else 1
