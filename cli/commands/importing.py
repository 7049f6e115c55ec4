"""refold import."""

from __future__ import annotations

import click

from cli.options import json_option


@click.command("import", epilog="Example:  refold import ~/.pi/agent/sessions/*/*.jsonl")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--as", "name", metavar="NEW", help="Take the one file as a session of this name.")
@json_option
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], *, name: str | None, as_json: bool) -> None:
    """Take session files into the store.

    What the store has already is not added again: a file that grew adds what is new. A folder stands for the
    *.jsonl files in it and below it. A file that cannot be read does not keep the others from being imported; the exit
    code is then 1.
    """
    from cli.importing import import_with_progress, print_imported
    from cli.output import echo_json, echo_problem
    from cli.store import check_new_name, opened
    from eventstore.errors import BadInputError

    files = _files(paths)
    if name and len(files) > 1:
        raise click.UsageError("--as takes one file", ctx)
    if name is not None:
        check_new_name(name)
    imported, failed = [], []
    with opened(ctx, create=True) as log:
        for path in files:
            try:
                imported.append(import_with_progress(log, path, name=name))
            except BadInputError as error:
                failed.append(error)
                echo_problem(str(error))
            else:
                if not as_json:
                    print_imported(path, imported[-1])
    if as_json:
        echo_json({"sessions": imported})
    ctx.exit(1 if failed else 0)


def _files(paths: tuple[str, ...]) -> list[str]:
    from pathlib import Path

    files: list[str] = []
    for path in paths:
        inside = sorted(map(str, Path(path).rglob("*.jsonl"))) if Path(path).is_dir() else []
        files += inside or [path]
    return files
