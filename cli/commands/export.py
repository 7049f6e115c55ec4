"""refold export."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path


@click.command("export", epilog="Example:  refold export @last --format pi -o session.jsonl")
@click.argument("session")
@click.option(
    "--format",
    "form",
    type=click.Choice(["original", "pi"]),
    default="original",
    show_default=True,
    help="The file as it was imported, byte for byte; or a file of pi's version 3 with all that has come since.",
)
@click.option("-o", "--output", metavar="FILE", required=True, help="Where to write; - for standard output.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON about what was written.")
@click.pass_context
def command(ctx: click.Context, session: str, form: str, output: str, *, as_json: bool) -> None:
    """Give a session back as a file.

    The file is written whole or not at all, and a file that is there is replaced.
    """
    from cli.output import echo_bytes, echo_json, echo_text
    from cli.store import opened_session
    from eventstore.exporting import export_original, export_pi

    with opened_session(ctx, session) as (log, name):
        pieces = export_pi(log, name) if form == "pi" else export_original(log, name)
        if output == "-":
            for piece in pieces:
                echo_bytes(piece)
            return
        size = _write_whole(output, pieces)
    if as_json:
        echo_json({"session": name, "format": form, "file": output, "bytes": size})
    else:
        echo_text(f"{output}  {size:,} bytes")


def _write_whole(output: str, pieces: Iterable[bytes]) -> int:
    """Write pieces to a file, and give its size. Raises BadInputError where it cannot be written."""
    from pathlib import Path

    from eventstore.errors import BadInputError

    target = Path(output)
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            # A pipe or a device: nothing may be put in its place.
            with target.open("wb") as file:
                return sum(map(file.write, pieces))
        # What a link leads to is replaced, not the link.
        return _put_in_place(target.resolve(), pieces)
    except IsADirectoryError:
        raise BadInputError(output, "is a folder", "name a file with -o") from None
    except OSError as error:
        raise BadInputError(
            output, f"cannot be written ({error.strerror})", "name another place with -o"
        ) from error


def _put_in_place(target: Path, pieces: Iterable[bytes]) -> int:
    """Write pieces beside the file and put it in place: a reader never sees half of it."""
    import os
    import tempfile
    from pathlib import Path

    if target.is_dir():
        raise IsADirectoryError
    handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            size = sum(map(file.write, pieces))
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(_mode_of(target))
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    return size


def _mode_of(target: Path) -> int:
    """The permissions of the file that is there, or else those of any new file: mkstemp lets only the owner read."""
    import os

    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
