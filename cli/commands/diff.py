"""refold diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from cli.options import chosen_counter, json_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console
    from rich.table import Table

    from projections.diff import Diff


@click.command("diff", epilog="Example:  refold diff @last '#10' '#20'")
@click.argument("session")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option(
    "--all",
    "show_all",
    is_flag=True,
    help="List all messages: also those that both contexts have, or that a summary replaced.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, session: str, first: str, second: str, *, show_all: bool, as_json: bool
) -> None:
    """Compare the contexts at two entries: what was kept, rewritten, summarized, lost or added.

    Of messages that a summary replaced, print the summary and the files that they read and modified.

    A and B are ids, unique prefixes of ids, labels, #N for event number N, or root.
    """
    from cli.output import console, echo_json
    from cli.store import fitted_id, opened_session, resolve_leaf
    from projections.diff import diff
    from projections.tokens import counter as counter_named

    with opened_session(ctx, session) as (log, name):
        with log.snapshot() as snapshot:
            here, there = (resolve_leaf(snapshot, name, leaf) for leaf in (first, second))
        tokens = counter_named(chosen_counter(ctx), log=log)
        found = diff(log, name, here, there, tokens=tokens)
        if as_json:
            echo_json(found)
            return
        out = console()
        with log.snapshot() as snapshot:
            names = {each.event: fitted_id(snapshot, name, each.event, out.width) for each in found.changes}
    _print(out, found, names, tokens.note, show_all=show_all)


def _print(out: Console, found: Diff, names: Mapping[str, str], note: str, *, show_all: bool) -> None:
    """Print a comparison, each event under its name."""
    from cli.output import counted, paged, path_end, print_line, printable, safe_line

    listing, summary = _tables(found, names, show_all=show_all)
    with paged(out):
        if listing.row_count:
            out.print(listing, crop=False)
            out.print()
        for made in () if show_all else found.summaries:
            print_line(out, f"summary #{made.seq}, {len(made.text):,} characters:", style="bold")
            print_line(out, printable(made.text.strip()))
            out.print()
        files = [("modified", path) for path in found.files.modified_files]
        files += [("read", path) for path in found.files.read_files]
        if files and not show_all:
            print_line(out, "files of the summarized messages:", style="bold")
            for done, path in files:
                print_line(out, f"{done:<8}  {path_end(safe_line(path), out.width - 10)}")
            out.print()
        out.print(summary)
        estimate = ", an estimate" if found.estimate else ""
        print_line(out, f"tokens by {found.counter}{estimate}", style="dim")
        if note:
            print_line(out, note, style="yellow")
        count = found.shared_prefix
        same = counted(count, "message at the beginning is", "messages at the beginning are")
        print_line(
            out, f"{same if count else 'no message at the beginning is'} the same in both", style="dim"
        )


_COLOURS: Final = {
    "kept": "dim",
    "rewritten": "yellow",
    "summarized": "magenta",
    "native": "magenta",
    "gone": "bold red",
    "new": "green",
}


def _tables(found: Diff, names: Mapping[str, str], *, show_all: bool) -> tuple[Table, Table]:
    """Return the changed events under their names, and the totals of each change."""
    from rich.text import Text

    from cli.output import safe_line, table, thousands
    from cli.views.texts import tokens_heading
    from projections.descriptions import CONTINUATION

    totals: dict[str, list[int]] = {}
    for each in found.changes:
        total = totals.setdefault(each.change, [0, 0, 0])
        total[0] += 1
        total[1] += each.tokens_before or 0
        total[2] += each.tokens_after or 0
    tokens = [tokens_heading(f"IN {context}", is_estimate=found.estimate) for context in ("A", "B")]
    listing = table("#", "EVENT", "ROLE", "CHANGE", *tokens, right=("#", *tokens))
    for each in found.changes:
        if show_all or each.change not in ("kept", "summarized", "native"):
            listing.add_row(
                str(each.seq),
                safe_line(names[each.event]),
                CONTINUATION if each.continues else each.role,
                Text(each.change, style=_COLOURS[each.change]),
                thousands(each.tokens_before),
                thousands(each.tokens_after),
            )
    summary = table("CHANGE", "MESSAGES", *tokens, right=("MESSAGES", *tokens))
    for change, (count, before, after) in totals.items():
        summary.add_row(Text(change, style=_COLOURS[change]), *map(thousands, (count, before, after)))
    summary.add_row("all", *map(thousands, (len(found.changes), found.tokens_before, found.tokens_after)))
    return listing, summary
