"""refold fork."""

from __future__ import annotations

import click

from cli.options import json_option, leaf_option, utf8


@click.command("fork", epilog="Example:  refold fork @last --leaf '#5' --as another-try")
@click.argument("session")
@leaf_option
@click.option("--whole", is_flag=True, help="Copy every branch, not only the path to a leaf.")
@click.option(
    "--as", "new", metavar="NEW", callback=utf8, help="Give the fork this name instead of a new id."
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, session: str, *, leaf: str | None, whole: bool, new: str | None, as_json: bool
) -> None:
    """Copy the path to a leaf into a new session, even from before a compaction.

    Entries keep their ids, times and bytes, so the fork has the same contexts; the original session is
    unchanged. A link records where the fork comes from.
    """
    from cli.output import counted, echo_json, echo_text, safe_line
    from cli.store import check_new_name, opened_session, resolve_leaf
    from compaction.branching.fork import fork

    if whole and leaf:
        raise click.UsageError(
            "--whole and --leaf are mutually exclusive: fork the whole session, or one branch", ctx
        )
    with opened_session(ctx, session, writes=True) as (log, name):
        with log.snapshot() as snapshot:
            at = resolve_leaf(snapshot, name, leaf)
        forked = fork(log, name, name=None if new is None else check_new_name(new), leaf=at, whole=whole)
    if as_json:
        echo_json(forked)
    else:
        place = "the root" if forked.leaf is None else safe_line(forked.leaf)
        entries = counted(forked.entries, "entry", "entries")
        echo_text(f"{safe_line(forked.session)}  {entries}, forked from {safe_line(name)} at {place}")
