"""refold timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from cli.options import as_of_option, counter_option, json_option, leaf_option

if TYPE_CHECKING:
    from projections.timeline import Timeline

_WIDE: Final = 80
"""Columns from which whole times fit."""
_PREFIX: Final = 8
"""Characters of an event's id where whole ids have no room; its number is beside it."""
_WIDEST: Final = 100
"""Columns from which whole ids fit beside times."""
_LARGEST: Final = 12
"""Number of largest changes to list, unless all are."""


@click.command("timeline", epilog="Example:  refold timeline @last")
@click.argument("session")
@leaf_option
@as_of_option
@counter_option
@click.option("--full", is_flag=True, help="List every entry, not only the largest changes.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    leaf: str | None,
    as_of: int | None,
    counter: str,
    full: bool,
    as_json: bool,
) -> None:
    """Plot the context's size after every entry, and list the largest changes."""
    from cli.output import echo_json
    from cli.store import opened_session, resolve_leaf
    from projections.timeline import timeline
    from projections.tokens import counter as counter_named

    with opened_session(ctx, session) as (log, name):
        with log.snapshot() as snapshot:
            at = resolve_leaf(snapshot, name, leaf)
        tokens = counter_named(counter, log=log)
        found = timeline(log, name, leaf=at, as_of=as_of, tokens=tokens)
    if as_json:
        echo_json(found)
    else:
        _print(found, tokens.note, is_full=full)


def _print(found: Timeline, note: str, *, is_full: bool) -> None:
    from heapq import nlargest

    from rich.text import Text

    from cli.output import console, counted, paged, print_line, safe_line, table, thousands, when
    from cli.views.plot import plot
    from cli.views.texts import tokens_heading
    from eventstore.javascript import epoch_ms
    from projections.descriptions import CONTINUATION

    out = console()
    turns = ("compaction", "rewrite", "undone", "branch_summary")
    moments = [each for each in found.moments if not each.continues]
    largest = {each.seq for each in nlargest(_LARGEST, moments, key=lambda each: abs(each.delta))}
    tokens = tokens_heading("IN CONTEXT", is_estimate=found.estimate)
    columns = ("#", "EVENT", "TIME (UTC)", "ROLE OR KIND", tokens, "CHANGE")
    listing = table(
        *columns,
        right=("#", tokens, "CHANGE"),
        shrinks="ROLE OR KIND",
        drops=("TIME (UTC)", "EVENT", "CHANGE"),
    )
    # A narrow terminal has no room for the year and the seconds.
    of_time = slice(None) if out.width >= _WIDE else slice(5, 16)
    for each in found.moments:
        if is_full or each.kind in turns or (each.delta and each.seq in largest):
            what = CONTINUATION if each.continues else safe_line(each.role or each.kind)
            listing.add_row(
                str(each.seq),
                safe_line(each.id if out.width >= _WIDEST else each.id[:_PREFIX]),
                when(epoch_ms(each.time))[of_time],
                Text(what, no_wrap=True, overflow="ellipsis"),
                thousands(each.tokens),
                f"{each.delta:+,}" if each.delta else "",
            )
    with paged(out):
        marks = [index for index, each in enumerate(found.moments) if each.kind == "compaction"]
        for line in plot([each.tokens for each in found.moments], marks=marks, width=min(out.width, 100)):
            out.print(line, crop=False, no_wrap=True, overflow="ignore")
        estimate = ", an estimate" if found.estimate else ""
        legend = f"tokens ({found.counter}{estimate}) after each entry" + ("; ∑ compaction" if marks else "")
        print_line(out, legend, style="dim")
        if note:
            print_line(out, note, style="yellow")
        out.print()
        out.print(listing, crop=False)
        if left_out := len(found.moments) - listing.row_count:
            print_line(out, f"{counted(left_out, 'more entry', 'more entries')} (--full)", style="dim")
