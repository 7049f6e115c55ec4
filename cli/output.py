"""How things get to the terminal: JSON, tables, times, sizes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_UNBOUNDED = 100_000


def console() -> Console:
    """Where text goes: coloured and fitted to a terminal, plain and never cut elsewhere."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _UNBOUNDED
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


@contextmanager
def paged(out: Console) -> Iterator[None]:
    """On a terminal, what is printed to `out` goes through the person's pager; else straight on."""
    if not sys.stdout.isatty():
        yield
        return
    # less: colours as they are, and no paging of what fits on the screen.
    os.environ.setdefault("LESS", "FRX")
    with out.pager(styles=True):
        yield


def table(*names: str, right: Sequence[str] = ()) -> Table:
    """A table without lines; the columns in `right` hold numbers."""
    from rich.table import Table

    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for name in names:
        made.add_column(name, justify="right" if name in right else "left", no_wrap=True)
    return made


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with what is done and the total; on a terminal it moves a bar."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def echo_json(value: Any) -> None:
    """A value as one line of JSON on stdout."""
    import msgspec

    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Half a surrogate pair has no UTF-8, but JSON has an escape for it.
        encoded = json.dumps(msgspec.to_builtins(value)).encode()
    echo_bytes(encoded + b"\n")


def echo_bytes(data: bytes) -> None:
    """Bytes on stdout, as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def echo_text(text: str) -> None:
    """Text on stdout; what the terminal's encoding lacks is escaped, and control characters are shown."""
    click.echo(printable(text))


def printable(text: str) -> str:
    """Text from a session made safe to print: no escape sequences, no lone surrogates."""
    return "".join(
        character
        if character in "\n\t" or (character.isprintable() and not "\ud800" <= character <= "\udfff")
        else " "
        if character.isspace()
        else f"\\x{ord(character):02x}"
        if ord(character) < 256  # noqa: PLR2004  two hex digits
        else f"\\u{ord(character):04x}"
        for character in text
    )


def one_line(text: str, width: int) -> str:
    """The beginning of a text as one line of at most `width` characters."""
    line = " ".join(printable(text[: width * 8]).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def when(milliseconds: int | None) -> str:
    """A time for people: UTC, to the second; "-" where it is unknown."""
    from eventstore.javascript import iso_time

    text = iso_time(milliseconds)
    return text[:19].replace("T", " ") if text else "-"


def thousands(number: int | None) -> str:
    """A number with separators; "-" for none."""
    return "-" if number is None else f"{number:,}"
