"""refold import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventstore.errors import BadInputError
    from eventstore.files.importing import Imported


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
    imported: list[Imported] = []
    failed: list[tuple[str, BadInputError]] = []
    with opened(ctx, create=True) as log:
        for path, folder in files:
            try:
                imported.append(import_with_progress(log, path, name=name))
            except BadInputError as error:
                failed.append((folder, error))
                if not _is_one_of_many(folder, error):
                    echo_problem(str(error))
            else:
                if not as_json:
                    print_imported(path, imported[-1])
    for line in _of_folders(failed):
        echo_problem(line)
    if as_json:
        echo_json({"sessions": imported})
    ctx.exit(1 if failed else 0)


def _files(paths: tuple[str, ...]) -> list[tuple[str, str]]:
    """The files that paths stand for, each with the folder that was named for it, "" for none."""
    from pathlib import Path

    files: list[tuple[str, str]] = []
    for path in paths:
        inside = [(each, path) for each in _inside(path)] if Path(path).is_dir() else []
        files += inside or [(path, "")]
    return files


def _inside(folder: str) -> list[str]:
    """The session files in a folder; without any, those that other harnesses keep sessions in."""
    from pathlib import Path

    from cli.foreign import harness_of

    found = sorted(map(str, Path(folder).rglob("*.jsonl")))
    return found or sorted(path for path in map(str, Path(folder).rglob("*.json")) if harness_of(path))


def _is_one_of_many(folder: str, error: BadInputError) -> bool:
    """Whether a file of a folder is told of with others like it."""
    from cli.foreign import ForeignSessionError

    return bool(folder) and isinstance(error, ForeignSessionError)


def _of_folders(failed: list[tuple[str, BadInputError]]) -> Iterator[str]:
    """What is wrong with the sessions of other harnesses in folders, a line for those of a folder and a harness."""
    from cli.foreign import ForeignSessionError

    alike: dict[tuple[str, str], list[ForeignSessionError]] = {}
    for folder, error in failed:
        if folder and isinstance(error, ForeignSessionError):
            alike.setdefault((folder, error.harness), []).append(error)
    for (folder, harness), errors in alike.items():
        many = f"{folder}: {len(errors):,} files look like sessions of {harness}; {errors[0].remedy}"
        yield many if len(errors) > 1 else str(errors[0])
