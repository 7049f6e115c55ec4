"""refold demo."""

from __future__ import annotations

import click


@click.command("demo", epilog="Example:  refold demo --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: where the store is, and the audit.")
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Play a scripted coding session into a new store, then show its tree and audit.

    The store stays, so that one can go on with the other commands: in a temporary folder, or in the one that
    --store names.
    """
    import tempfile

    from cli.audit_view import print_audit
    from cli.demo.script import play
    from cli.output import console, echo_json
    from cli.tree_view import print_tree
    from eventstore import open_store
    from projections.audit import audit
    from projections.tree import tree

    store = ctx.obj or tempfile.mkdtemp(prefix="refold-demo-")
    with open_store(store) as log:
        session = play(log)
        found = audit(log, session)
        if as_json:
            echo_json({"store": store, "session": session, "audit": found})
            return
        out = console()
        with log.snapshot() as snapshot:
            print_tree(out, tree(snapshot, session), snapshot, session, is_full=False)
        out.print()
        print_audit(out, found)
    click.echo(f"The store is {store}. To go on:")
    for line in ("context @last", "log @last", "tree @last --full", "audit @last --counter o200k"):
        click.echo(f"  refold --store {store} {line}")
