"""refold files."""

from __future__ import annotations

import click

from cli.options import json_option, leaf_option


@click.command("files", epilog="Example:  refold files @last")
@click.argument("session")
@leaf_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    leaf: str | None,
    as_json: bool,
) -> None:
    """List the files that a session read and modified, from its tool calls up to a leaf."""
    from cli.output import console, echo_json, echo_note, paged, path_end, print_line, safe_line
    from cli.store import opened_session, resolve_leaf
    from projections.files import file_operations

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        found = file_operations(snapshot, name, leaf=resolve_leaf(snapshot, name, leaf))
    if as_json:
        echo_json({"session": name, "readFiles": found.read_files, "modifiedFiles": found.modified_files})
        return
    if not found.read_files and not found.modified_files:
        echo_note("no file was read or modified by a tool that names it; shell commands do not count")
    out = console()
    with paged(out):
        for done, paths in (("modified", found.modified_files), ("read", found.read_files)):
            kind = f"{done:<8}  "
            for path in paths:
                print_line(out, kind + path_end(safe_line(path), out.width - len(kind)))
