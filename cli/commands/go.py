"""refold go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cli.options import json_option, utf8

if TYPE_CHECKING:
    from compaction.navigate import Move, Moved


@click.command("go", epilog="Example:  refold go @last '#1' --label 'once more' --dry-run")
@click.argument("session")
@click.argument("target")
@click.option(
    "--summary",
    metavar="TEXT|-",
    callback=utf8,
    help="Keep this summary of the branch that is left, at the new leaf; - reads it from standard input.",
)
@click.option(
    "--label",
    metavar="NAME",
    callback=utf8,
    help="Name the summary, or without one the target, in the same append.",
)
@click.option("--dry-run", is_flag=True, help="Say what it would do, and append nothing.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    target: str,
    *,
    summary: str | None,
    label: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Go elsewhere in a session's tree: what is appended next stands there.

    TARGET is an id, a unique beginning of one, #N, or root. At a message of a person or an extension the
    session stands on its parent, and the message's text is printed, to be edited and sent again; anything
    else it stands on. The move is an event: nothing is lost, and refold undo takes it back.
    """
    from cli.output import echo_json
    from cli.store import opened_session, resolve_leaf
    from compaction.navigate import go
    from eventstore.writing import SessionWriter

    with opened_session(ctx, session) as (log, name):
        with log.snapshot() as snapshot:
            leaf = resolve_leaf(snapshot, name, target)
        text = _from_standard_input() if summary == "-" else summary
        moved = go(SessionWriter(log, name), leaf, summary=text, label=label, dry_run=dry_run)
    if as_json:
        done = {} if dry_run else {"session": name, "events": list(moved.events)}
        echo_json({**done, **move_json(moved.move)})
    elif dry_run:
        _print_plan(moved.move)
    else:
        _print_moved(moved)


def _from_standard_input() -> str:
    from eventstore.errors import BadInputError

    try:
        return sys.stdin.buffer.read().decode().strip()
    except UnicodeDecodeError:
        raise BadInputError("standard input", "is not UTF-8", "write the summary in UTF-8") from None


def move_json(move: Move) -> dict[str, object]:
    """A move as JSON tells of it."""
    return {
        "commonAncestor": move.common_ancestor,
        "toSummarize": [entry.id for entry in move.to_summarize],
        "newLeaf": move.new_leaf,
        "editorText": move.editor_text,
        "readFiles": move.files.read_files,
        "modifiedFiles": move.files.modified_files,
    }


def _print_plan(move: Move) -> None:
    from cli.output import counted, echo_text, unbroken

    if move.stays:
        echo_text(f"stands at {_place(move.new_leaf)} already")
    else:
        echo_text(f"would stand at {_place(move.new_leaf)}")
        left = counted(len(move.to_summarize), "entry", "entries")
        echo_text(f"would leave {left} behind, back to {_place(move.common_ancestor)}")
        for sign, paths in (("read", move.files.read_files), ("modified", move.files.modified_files)):
            for path in paths:
                echo_text(f"  {sign:<8}  {unbroken(path)}")
    _print_text(move)


def _print_moved(moved: Moved) -> None:
    from cli.output import counted, echo_text, unbroken

    move = moved.move
    if move.stays:
        echo_text(f"stands at {_place(move.new_leaf)} already")
    else:
        left = counted(len(move.to_summarize), "entry", "entries")
        echo_text(f"stands at {_place(move.new_leaf)} by {unbroken(moved.events[0])}, {left} left behind")
    _print_text(move)


def _print_text(move: Move) -> None:
    from cli.output import echo_text

    if move.editor_text is not None:
        echo_text(f"to edit:\n{move.editor_text}")


def _place(entry: str | None) -> str:
    from cli.output import unbroken

    return "the root" if entry is None else unbroken(entry)
