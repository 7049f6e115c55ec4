"""refold pull."""

from __future__ import annotations

from typing import Any

import click

from cli.commands.push import transfer_options, transfer_sessions


@click.command("pull", epilog="Example:  refold push shared && refold --store mine pull shared")
@transfer_options("SOURCE")
@click.pass_context
def command(ctx: click.Context, /, *, other: str, **options: Any) -> None:
    """Copy new events from another store.

    SOURCE is the other store, a folder or postgresql://…. This store is made if needed. What it has is not copied
    again. If you interrupt it, run it again: it continues where it stopped. A session that has diverged, so that the
    two stores have different events at the same place, is reported and not copied. The exit code is then 1.
    """
    from cli.store import store_path
    from eventstore import open_store

    with open_store(other, read_only=True) as source, open_store(store_path(ctx.obj)) as target:
        transfer_sessions(ctx, source, target, **options)
