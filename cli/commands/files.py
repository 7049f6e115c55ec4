"""refold files."""

from __future__ import annotations

import click

from cli.options import as_of_option, json_option, leaf_option


@click.command("files", epilog="Example:  refold files @last --modified")
@click.argument("session")
@leaf_option
@as_of_option
@click.option("--read", "only_read", is_flag=True, help="Only files that were read but not modified.")
@click.option("--modified", "only_modified", is_flag=True, help="Only files that were modified.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    leaf: str | None,
    as_of: int | None,
    only_read: bool,
    only_modified: bool,
    as_json: bool,
) -> None:
    """List the files that a session read and modified, from its tool calls up to a leaf."""
    from cli.output import console, echo_json, echo_note, paged, path_end, print_line, safe_line
    from cli.store import opened_session, resolve_leaf
    from projections.files import file_operations

    if only_read and only_modified:
        raise click.UsageError(
            "--read and --modified are mutually exclusive; without either, both kinds are listed", ctx
        )
    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        found = file_operations(snapshot, name, leaf=resolve_leaf(snapshot, name, leaf), as_of=as_of)
    read = found.read_files if not only_modified else []
    modified = found.modified_files if not only_read else []
    if as_json:
        echo_json({"session": name, "readFiles": read, "modifiedFiles": modified})
        return
    if not read and not modified:
        echo_note("no file that matches" if only_read or only_modified else "no file was read or modified")
    out = console()
    with paged(out):
        for done, paths in (("modified", modified), ("read", read)):
            for path in paths:
                kind = "" if only_read or only_modified else f"{done:<8}  "
                print_line(out, kind + path_end(safe_line(path), out.width - len(kind)))
