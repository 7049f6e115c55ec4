"""refold tree."""

from __future__ import annotations

import click

from cli.options import as_of_option, json_option


@click.command("tree", epilog="Example:  refold tree @last")
@click.argument("session")
@as_of_option
@click.option("--full", is_flag=True, help="Show every entry of the tree, not only landmarks.")
@json_option
@click.pass_context
def command(ctx: click.Context, session: str, *, as_of: int | None, full: bool, as_json: bool) -> None:
    """Show a session as a tree, with labels and the leaf."""
    import msgspec

    from cli.output import console, echo_json, echo_note, paged
    from cli.store import opened_session
    from projections.tree import tree

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        found = tree(snapshot, name, as_of=as_of)
        if as_json:
            echo_json(msgspec.to_builtins(found))
        else:
            from cli.views.session_tree import print_tree

            if not found.nodes:
                echo_note("the tree has no entries" + (f" as of #{as_of}" if as_of is not None else ""))
            out = console()
            with paged(out):
                print_tree(out, found, snapshot, name, is_full=full)
