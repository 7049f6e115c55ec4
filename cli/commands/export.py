"""refold export."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from cli.options import LazyChoice, chosen_counter, redact_option, require_consent, utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eventstore.log import EventLog, Snapshot

_ORIGINAL: Final = "original"
_MARKDOWN: Final = "markdown"
_GITHUB_LIMIT: Final = 65_536
"""Characters of a comment on GitHub; a document has about as many as bytes."""


def _formats() -> list[str]:
    from eventstore.files.exporting import export_formats

    return [_ORIGINAL, *export_formats(), _MARKDOWN]


@click.command("export", epilog="Example:  refold export @last --format pi -o continued.jsonl")
@click.argument("session")
@click.option(
    "--format",
    "form",
    metavar="FORMAT",
    type=LazyChoice("format", _formats),
    default=_ORIGINAL,
    show_default=True,
    help="original: the file as imported, byte for byte. markdown: a document for people. A harness's name: a file"
    " that it resumes.",
)
@click.option(
    "--leaf", metavar="ID", callback=utf8, help="With markdown: only the branch that ends at this entry."
)
@click.option("-o", "--output", metavar="FILE", required=True, help="File to write; - for standard output.")
@redact_option
@click.option("--yes", "-y", is_flag=True, help="Write a file that lacks something.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON report of what was written.")
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    form: str,
    leaf: str | None,
    output: str,
    redact: bool,
    yes: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a session to a file.

    What a harness's file would lack is listed first, and needs --yes. If SESSION is a session file, only its own
    records are written, whatever the store has. The file is written completely or not at all. An existing file that
    is not empty is replaced only with --force.
    """
    from pathlib import Path

    from cli.output import echo_json, echo_note, echo_text
    from cli.redacting import masked, masked_file, masks_if
    from eventstore.errors import BadInputError
    from eventstore.files.exporting import export_original
    from projections.harness_file import harness_file
    from projections.resuming import SEALED_SUMMARIES

    if leaf is not None and form != _MARKDOWN:
        raise click.UsageError(f"--leaf needs --format markdown, not {form}", ctx)
    target = Path(output)
    if not force and output != "-" and target.is_file() and target.stat().st_size:
        raise BadInputError(output, "already exists", "name another file with -o, or replace it with --force")
    masks = masks_if(redact)
    lost: Mapping[str, int] = {}
    with _opened(ctx, session) as (log, name):
        if form == _ORIGINAL:
            pieces = masked_file(lambda: export_original(log, name), masks)
            size = _write(output, pieces)
        else:
            with masked(log, masks) as source:
                if form == _MARKDOWN:
                    pieces = _markdown(source, name, leaf)
                else:
                    pieces, lost = harness_file(source, name, form)
                    if lost.get(SEALED_SUMMARIES):
                        _note_size(ctx, source, name)
                    _require_consent(lost, is_given=yes)
                size = _write(output, pieces)
    if output == "-":
        return
    if as_json:
        report = {"session": name, "format": form, "file": output, "bytes": size}
        report["lost"] = [{"what": what, "count": count} for what, count in sorted(lost.items())]
        echo_json(report | ({"redaction": masks.count()} if masks else {}))
    else:
        echo_text(f"{output}  {size:,} bytes")
    if form == _MARKDOWN and size > _GITHUB_LIMIT and not as_json:
        echo_note(
            "a comment on GitHub takes at most 65,536 characters: attach the file, or name a branch with --leaf"
        )


@contextmanager
def _opened(ctx: click.Context, name: str) -> Iterator[tuple[EventLog, str]]:
    """Open the store and resolve a session name in it; read a file alone."""
    import os

    from cli.store import opened_session, resolve_session
    from eventstore.memory import MemoryLog

    # Its session may have grown in the store: a person who passes on a file names all that it shows.
    if os.path.isfile(name):  # noqa: PTH113  a Path refuses long names
        log = MemoryLog()
        yield log, resolve_session(log, name)
        return
    with opened_session(ctx, name) as found:
        yield found


def _write(output: str, pieces: Iterable[bytes]) -> int:
    """Write a file, or print it; return its size."""
    from cli.output import echo_bytes
    from cli.whole_file import write_atomically

    if output != "-":
        return write_atomically(output, pieces)
    for piece in pieces:
        echo_bytes(piece)
    return 0


def _note_size(ctx: click.Context, log: EventLog | Snapshot, session: str) -> None:
    """Say how much larger the context is with the messages that a sealed summary replaced."""
    from cli.output import echo_note
    from projections.context.build import context_at
    from projections.context.cursor import resolve_cursor
    from projections.tokens import counter

    tokens = counter(chosen_counter(ctx))
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        sent, written = (
            sum(tokens.count(context_at(snapshot, cursor, readable=is_readable).parts))
            for is_readable in (False, True)
        )
    echo_note(
        "only its provider can read the newest summary, so the messages that it replaced are written:"
        f" {written:,} tokens ({tokens.name}), where the harness sends {sent:,};"
        " run 'refold compact' first for a smaller file"
    )


def _require_consent(lost: Mapping[str, int], *, is_given: bool) -> None:
    """List what a harness's file lacks; ask for leave to write it, unless it is given."""
    from cli.output import echo_note, safe_line

    if not lost:
        return
    counts = sorted(lost.items(), key=lambda each: (-each[1], each[0]))
    lacking = ", ".join(f"{safe_line(what)} {count:,}" for what, count in counts)
    echo_note(f"the file has the context at the session's leaf; it lacks: {lacking}")
    if not is_given:
        require_consent("Write it?", "nothing was written: allow it with --yes")


def _markdown(log: EventLog | Snapshot, session: str, leaf: str | None) -> Iterator[bytes]:
    from cli.store import resolve_event
    from projections.audit.prices import library_prices
    from projections.markdown import session_markdown
    from projections.overview import session_overview

    with log.snapshot() as snapshot:
        end = None if leaf is None else resolve_event(snapshot, session, leaf)
        overview = session_overview(snapshot, session, library_prices())
        for piece in session_markdown(snapshot, overview, leaf=end):
            yield piece.encode()
