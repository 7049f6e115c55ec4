"""refold export."""

from __future__ import annotations

import click

from cli.options import LazyChoice

_ORIGINAL = "original"


def _formats() -> list[str]:
    from eventstore.files.exporting import export_formats

    return [_ORIGINAL, *export_formats()]


@click.command("export", epilog="Example:  refold export @last --format pi -o continued.jsonl")
@click.argument("session")
@click.option(
    "--format",
    "form",
    type=LazyChoice("format", _formats),
    default=_ORIGINAL,
    show_default=True,
    help="original: the file as imported, byte for byte. Others: a file of that harness, with later entries.",
)
@click.option("-o", "--output", metavar="FILE", required=True, help="File to write; - for standard output.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON report of what was written.")
@click.pass_context
def command(ctx: click.Context, session: str, form: str, output: str, *, force: bool, as_json: bool) -> None:
    """Write a session to a file.

    The file is written completely or not at all. An existing file that is not empty is replaced only with
    --force.
    """
    from pathlib import Path

    from cli.output import counted, echo_bytes, echo_json, echo_note, echo_text
    from cli.store import opened_session
    from cli.whole_file import write_atomically
    from eventstore.errors import BadInputError
    from eventstore.files.exporting import export_original, export_session, unconverted_messages

    target = Path(output)
    if not force and output != "-" and target.is_file() and target.stat().st_size:
        raise BadInputError(output, "already exists", "name another file with -o, or replace it with --force")
    with opened_session(ctx, session) as (log, name):
        pieces = export_original(log, name) if form == _ORIGINAL else export_session(log, name, form)
        unconverted = unconverted_messages(log, name, form) if form != _ORIGINAL else 0
        if unconverted:
            echo_note(
                f"{counted(unconverted, 'message')} of another harness cannot be converted: the file keeps them as"
                f" data, which {form} does not show"
            )
        if output == "-":
            for piece in pieces:
                echo_bytes(piece)
            return
        size = write_atomically(output, pieces)
    if as_json:
        echo_json(
            {"session": name, "format": form, "file": output, "bytes": size, "unconverted": unconverted}
        )
    else:
        echo_text(f"{output}  {size:,} bytes")
