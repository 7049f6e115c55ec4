"""refold demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from eventstore.log import StoredLog


@click.command("demo", epilog="Example:  refold demo --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the store's folder, and the audit.")
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Record a scripted coding session in a new store, then show its audit.

    refold compacts the session as it would for a harness, with a small context window and without a model.
    These compactions cause the losses in the audit. A reading of one of them was written for the demo, and its claims
    are checked anew.

    The store is kept, so that you can try other commands on it. It is in a temporary folder, or in the one
    that --store names. REFOLD_STORE is ignored, because your own sessions may be there.
    """
    import shlex
    import tempfile

    from cli.demo.player import play
    from cli.output import STORE, console, echo_json, echo_text
    from cli.views.model import audit_view
    from cli.views.screen import print_screen
    from eventstore import open_store
    from eventstore.addresses import without_password
    from projections.audit.session import audit

    # REFOLD_STORE holds real sessions, so write the demo there only if the user names it.
    is_named = ctx.find_root().get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE
    store = ctx.obj if is_named else tempfile.mkdtemp(prefix="refold-demo-")
    ctx.meta[STORE] = place = without_password(store)
    with open_store(store) as log:
        _refuse_sessions(log, place)
        session = play(log)
        found = audit(log, session)
        if as_json:
            echo_json({"store": place, "session": session, "audit": found})
            return
        print_screen(console(), audit_view(found))
    echo_text(f"The store is {place}. To go on:")
    for line in ("tree @last", "context @last", "report @last"):
        echo_text(f"  refold --store {shlex.quote(place)} {line}")


def _refuse_sessions(log: StoredLog, store: str) -> None:
    from eventstore.errors import StoreError

    with log.snapshot() as snapshot:
        if any(True for _ in snapshot.heads()):
            raise StoreError(
                store, "already holds sessions", "name a new folder with --store, or leave it out"
            )
