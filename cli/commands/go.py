"""refold go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

import click

from cli.compacting import window_option
from cli.options import json_option, utf8
from cli.summarizing import SummarizerOptions, summarizer_options

if TYPE_CHECKING:
    from compaction.branching.move import MoveResult, Navigator
    from compaction.branching.move_plan import Move
    from compaction.summarizers.chain import SummarizerChain


@click.command("go", epilog="Example:  refold go @last '#1' --label 'once more' --dry-run")
@click.argument("session")
@click.argument("target")
@click.option(
    "--summarize",
    "instructions",
    is_flag=False,
    flag_value="",
    metavar="[INSTRUCTIONS]",
    callback=utf8,
    help="Summarize the branch that is left; INSTRUCTIONS replace the template.",
)
@summarizer_options
@window_option
@click.option(
    "--summary",
    metavar="TEXT|-",
    callback=utf8,
    help="Add this summary of the branch that is left; - reads it from standard input.",
)
@click.option(
    "--label",
    metavar="NAME",
    callback=utf8,
    help="Label the summary, or the target if there is none.",
)
@click.option("--dry-run", is_flag=True, help="Show what would happen; ask no model, append nothing.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    target: str,
    *,
    instructions: str | None,
    window: int,
    summary: str | None,
    label: str | None,
    dry_run: bool,
    as_json: bool,
    **summarizer_options: Unpack[SummarizerOptions],
) -> None:
    """Go to another entry of a session's tree, to continue from there.

    TARGET is an id, a unique prefix of one, a label, #N, or root. For a message of a person or an extension,
    the session goes to the message's parent, and the text is printed for editing and sending again. The move
    is an event: nothing is lost, and refold undo reverts it.
    """
    from cli.output import echo_json
    from cli.store import opened_session, resolve_leaf
    from cli.summarizing import advise_on_failure, build_summarizer_chain, cancellable
    from compaction.branching.move import go
    from eventstore.writing import SessionWriter

    _check_options(ctx, summary, instructions, summarizer_options)
    with (
        opened_session(ctx, session, writes=not dry_run) as (log, name),
        advise_on_failure(ctx),
        cancellable(ctx) as interrupt,
    ):
        with log.snapshot() as snapshot:
            leaf = resolve_leaf(snapshot, name, target)
        text = _from_standard_input() if summary == "-" else summary
        writer = SessionWriter(log, name)
        if dry_run:
            move = go(writer, leaf, summary=text, label=label, dry_run=True).move
            echo_json(move_json(move)) if as_json else _print_plan(move)
            return
        chain = (
            None
            if instructions is None
            else build_summarizer_chain(
                ctx, log, summarizer_options, interrupt, session=name, instructions=instructions
            )
        )
        gone = _navigator(chain, window).go(
            writer, leaf, summary=text, instructions=instructions or "", label=label
        )
    _print(ctx, name, gone, as_json=as_json)


def _check_options(
    ctx: click.Context, summary: str | None, instructions: str | None, summarizer_options: SummarizerOptions
) -> None:
    if instructions is None and any(summarizer_options.values()):
        raise click.UsageError("--summarizer and --no-redact need --summarize", ctx)
    if instructions is not None and summary is not None:
        raise click.UsageError("--summary and --summarize are mutually exclusive", ctx)


def _navigator(chain: SummarizerChain | None, window: int) -> Navigator:
    from cli.compacting import template_sources
    from compaction.branching.move import Navigator
    from compaction.hooks import installed_hooks
    from compaction.part import Limits
    from projections.tokens import counter

    return Navigator(
        limits=Limits(window=window),
        tokens=counter("utf16/4"),
        chain=chain,
        sources=template_sources(),
        hooks=installed_hooks(),
    )


def _from_standard_input() -> str:
    from eventstore.errors import BadInputError

    try:
        return sys.stdin.buffer.read().decode().strip()
    except UnicodeDecodeError:
        raise BadInputError("standard input", "is not UTF-8", "write the summary in UTF-8") from None


def move_json(move: Move) -> dict[str, object]:
    """Return a move as a JSON value."""
    return {
        "commonAncestor": move.common_ancestor,
        "toSummarize": [entry.id for entry in move.to_summarize],
        "newLeaf": move.new_leaf,
        "editorText": move.editor_text,
        "readFiles": move.files.read_files,
        "modifiedFiles": move.files.modified_files,
    }


def _print_plan(move: Move) -> None:
    from cli.output import counted, echo_text, safe_line

    if move.stays:
        echo_text(f"already at {_place(move.new_leaf)}")
    else:
        echo_text(f"would go to {_place(move.new_leaf)}")
        left = counted(len(move.to_summarize), "entry", "entries")
        echo_text(f"would leave {left} behind, back to {_place(move.common_ancestor)}")
        for sign, paths in (("read", move.files.read_files), ("modified", move.files.modified_files)):
            for path in paths:
                echo_text(f"  {sign:<8}  {safe_line(path)}")
    _print_text(move)


def _print(ctx: click.Context, session: str, gone: MoveResult, *, as_json: bool) -> None:
    from cli.output import command_line, echo_json, echo_note, echo_problem

    if as_json:
        done = {
            "session": session,
            "outcome": gone.outcome,
            "reason": gone.reason,
            "summarized": gone.is_summarized,
            "events": gone.events,
            **move_json(gone.move),
        }
        extra = {"missingSections": gone.missing, "hookErrors": gone.hook_errors}
        echo_json({**done, **extra})
    elif gone.outcome == "moved":
        _print_moved(session, gone)
    for error in gone.hook_errors:
        echo_note(error)
    if gone.outcome == "moved" and gone.reason:
        echo_note(f"no summary: {gone.reason}")
    if gone.missing:
        lacking = ", ".join(gone.missing)
        echo_note(f"the summary lacks sections: {lacking}; {command_line('undo', session)} undoes it")
    if gone.outcome != "moved":
        advice = "see 'refold tree', then go again" if gone.outcome == "stale" else ""
        echo_problem(f"not moved: {gone.reason}", advice)
        ctx.exit(1)


def _print_moved(session: str, gone: MoveResult) -> None:
    from cli.output import command_line, counted, echo_text, safe_line

    move = gone.move
    if move.stays:
        echo_text(f"already at {_place(move.new_leaf)}")
    else:
        by, left = safe_line(gone.events[0]), counted(len(move.to_summarize), "entry", "entries")
        summarized = " and summarized" if gone.is_summarized else ""
        echo_text(f"now at {_place(move.new_leaf)} by {by}, {left} left behind{summarized}")
        echo_text(f"to undo: {command_line('undo', session, gone.events[0])}")
    _print_text(move)


def _print_text(move: Move) -> None:
    from cli.output import echo_verbatim

    if move.editor_text is not None:
        echo_verbatim(f"to edit:\n{move.editor_text}")


def _place(entry: str | None) -> str:
    from cli.output import safe_line

    return "the root" if entry is None else safe_line(entry)
