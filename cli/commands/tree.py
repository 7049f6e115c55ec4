"""refold tree."""

from __future__ import annotations

import click


@click.command("tree", epilog="Example:  refold tree @last")
@click.argument("session")
@click.option(
    "--as-of", type=int, metavar="SEQ", help="Nothing after the event of this number has happened yet."
)
@click.option("--full", is_flag=True, help="Every entry, not only where something happens.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, session: str, *, as_of: int | None, full: bool, as_json: bool) -> None:
    """Show a session as a tree, with labels and the leaf."""
    import msgspec

    from cli.output import echo_json
    from cli.store import opened_session
    from projections.tree import tree

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        found = tree(snapshot, name, as_of=as_of)
        if as_json:
            echo_json(msgspec.to_builtins(found))
        else:
            from cli.tree_view import print_tree

            print_tree(found, snapshot, name, is_full=full)
