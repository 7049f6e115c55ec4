"""refold backup."""

from __future__ import annotations

import click

from cli.options import json_option, utf8


@click.command("backup", epilog="Example:  refold backup refold-backup")
@click.argument("folder", callback=utf8)
@json_option
@click.pass_context
def command(ctx: click.Context, folder: str, *, as_json: bool) -> None:
    """Copy the store to a new folder while it is in use.

    The copy has no free pages, and is verified before it gets its name. The heads of its sessions are saved beside it
    as FOLDER.heads, for verify --heads.
    """
    from cli.output import counted, echo_json, echo_text, progress_bar
    from cli.store import opened, store_path
    from cli.whole_file import tidy_end
    from eventstore.backup import backup
    from eventstore.lmdb.pages import require_sound_pages

    require_sound_pages(store_path(ctx.obj))
    with tidy_end(), opened(ctx) as log, progress_bar("verifying the copy") as progress:
        made = backup(log, folder, progress=progress)
    found = made.verification
    if as_json:
        echo_json(
            {
                "folder": made.path,
                "heads": made.heads,
                "bytes": made.bytes,
                "sessions": found.sessions,
                "events": found.events,
            }
        )
    else:
        held = f"{counted(found.events, 'event')} of {counted(found.sessions, 'session')}"
        echo_text(f"{made.path}  {made.bytes:,} bytes, {held}, sound")
