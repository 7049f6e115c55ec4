"""Print to the terminal: JSON, tables, times, sizes."""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


HANDLER: Final = "refold.plain"
"""The name under which `str.encode` and text streams find `ascii_fallback`."""

_PLAIN: Final = {
    **dict(zip("▁▂▃▄▅▆▇█░", "....:::#.", strict=True)),
    **dict(zip("│└─·●∑⤷✂↷↶⚙✎✗", "|+--*S>%^u=~x", strict=True)),
    **dict(zip("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--", strict=True)),
    "…": "...",
    "←": "<-",
    "→": "->",
}
"""What refold draws with, and the punctuation of prose."""


def ascii_fallback(error: UnicodeError) -> tuple[str, int]:
    """An error handler of codecs: what cannot be encoded in ASCII, by a like sign or as an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each) or _escape(each) for each in lacking), error.end


def _escape(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode()


def never_failing(stream: TextIO) -> None:
    """Make a text stream write what it can in place of what its encoding lacks, and raise nothing."""
    codecs.register_error(HANDLER, ascii_fallback)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors=HANDLER)


STORE: Final = "refold.store"
"""The entry of click's `Context.meta` for a store that printed commands have to name: not the default one."""
_UNBOUNDED: Final = 100_000
_JOINERS: Final = "\u200c\u200d"
"""Python calls them unprintable; scripts and emoji are spelled with them."""
_UNSAFE_IN_JSON: Final = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What JSON allows in a text and a terminal may obey: DEL, control characters of ISO 8859, turns of direction."""
_LONG_PATH: Final = re.compile(r"(?<![\w:./~…-])(?:~|\.{1,2}|[\w.-]+)?(?:/[\w.@+-]+){3,}")
"""A path of four names, or of three from the root."""
_NO_PATH: Final = re.compile(r"[\s\"'{}<>|;,]|://")
"""What hardly a path holds, and a line of prose, of code or of JSON does."""
_LONGEST_PATH: Final = 1024
_LOOKED_AT: Final = 4096
"""Characters of a text that one line of it is made from, at least: more than a path has."""
_LEAST_PART: Final = 2 / 3
"""The share of a line's width that a cut between words leaves at least."""
_LEAST_END: Final = 8
"""Characters that an end of a path has at least: fewer tell nothing."""


_COMMAND: Final = re.compile(r"(?<=[:;] )refold (?!.*; ).*")
"""A command at the end of a line, to be pasted."""
_USUAL: Final = 80
"""Columns of a terminal that does not say how many it has."""
_JOINED: Final = "\ue000"
"""Stands for a space at which no line may end: a character of private use, which nothing prints."""


def console() -> Console:
    """Return the console for text: coloured and fitted on a terminal, plain and never cut elsewhere."""
    from cli.terminal import SafeConsole

    return SafeConsole(file=sys.stdout, width=columns(sys.stdout), highlight=False, markup=False, emoji=False)


def error_console() -> Console:
    """Return the console for progress: standard error."""
    from cli.terminal import SafeConsole

    return SafeConsole(file=sys.stderr, highlight=False, markup=False, emoji=False)


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


def table(*names: str, right: Sequence[str] = (), shrinks: str = "", drops: Sequence[str] = ()) -> Table:
    """A table without lines; the columns in `right` hold numbers, `shrinks` gives way first on a narrow terminal.

    Those of `drops` are left out where that does not do, one after the other. What stands in
    `shrinks` is cut if it is a rich Text with `no_wrap` and an overflow, else wrapped.
    """
    from cli.terminal import FittedTable

    return FittedTable(names, right=right, shrinks=shrinks, drops=drops)


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with what is done and the total; on a terminal it moves a bar."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import Progress

    with Progress(console=error_console(), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def echo_json(value: Any) -> None:
    """A value as one line of JSON on stdout."""
    echo_json_bytes(json_bytes(value))


@contextmanager
def json_list(name: str) -> Iterator[Callable[[bytes], None]]:
    """A function that adds a JSON text to a list in an object, as a line on stdout; none is kept.

    Where what is in the block fails, the line ends there, and is no JSON.
    """
    between = b""

    def add(encoded: bytes) -> None:
        nonlocal between
        echo_bytes(between + _harmless_json(encoded))
        between = b","

    echo_bytes(b'{"%b":[' % name.encode())
    yield add
    echo_bytes(b"]}\n")


def json_bytes(value: Any) -> bytes:
    """A value as JSON."""
    import msgspec

    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        from eventstore.javascript import stringify

        # Half a surrogate pair has no UTF-8, but JSON has an escape for it.
        return stringify(msgspec.to_builtins(value, enc_hook=_parsed)).encode()


def _parsed(value: Any) -> Any:
    """Parse what is JSON already."""
    from eventstore.javascript import tolerant_json

    return tolerant_json(bytes(value))


def echo_json_bytes(encoded: bytes) -> None:
    """A JSON text as a line on stdout; on a terminal, what it would obey is escaped, which says the same."""
    echo_bytes(_harmless_json(encoded) + b"\n")


def _harmless_json(encoded: bytes) -> bytes:
    if not sys.stdout.isatty():
        return encoded
    text = encoded.decode("utf-8", "replace")
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def echo_bytes(data: bytes) -> None:
    """Bytes on stdout, as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def echo_text(text: str) -> None:
    """Print a message on stdout, on a terminal wrapped at words; control characters are shown, not sent."""
    echo_verbatim(wrapped(printable(text), columns(sys.stdout)))


def echo_verbatim(text: str) -> None:
    """Print a text on stdout in the lines that it has; control characters are shown, not sent."""
    sys.stdout.write(printable(text) + "\n")


def echo_transcript(text: str) -> None:
    """Text for a program, in UTF-8 and as it is; a terminal is not sent what it would obey."""
    if sys.stdout.isatty():
        echo_verbatim(text)
    else:
        echo_bytes(text.encode("utf-8", "replace") + b"\n")


def echo_problem(problem: str, hint: str = "") -> None:
    """Print a problem, and a hint, on stderr: as one line, on a terminal wrapped at words."""
    line = " ".join(printable(f"refold: {problem}" + (f"; {hint}" if hint else "")).split())
    sys.stdout.flush()
    sys.stderr.write(wrapped(line, columns(sys.stderr)) + "\n")


def echo_note(note: str) -> None:
    """Print a note as one line on stderr."""
    echo_problem(f"note: {note}")


def print_line(out: Console, text: str, *, style: str = "") -> None:
    """Print a message to a console, wrapped at words where the terminal ends."""
    out.print(wrapped(text, out.width), style=style, crop=False, no_wrap=True, overflow="ignore")


def columns(stream: TextIO) -> int:
    """Return how long lines may be: as wide as a terminal is, and of any length elsewhere."""
    if not stream.isatty():
        return _UNBOUNDED
    named = os.environ.get("COLUMNS", "")
    with suppress(OSError, ValueError):
        return int(named) if named else os.get_terminal_size(stream.fileno()).columns or _USUAL
    return _USUAL


def wrapped(text: str, width: int, *, hanging: int = 2) -> str:
    """Return a text with its lines wrapped at spaces; what goes on below a line is indented by `hanging` more.

    A word that is longer than a line stays whole, and so does a command of refold that ends a line: it is to be pasted.
    """
    import textwrap

    lines = []
    for line in text.split("\n"):
        if len(line) <= width:
            lines.append(line)
            continue
        joined = _COMMAND.sub(lambda found: found[0].replace(" ", _JOINED), line)
        indent = " " * (len(line) - len(line.lstrip()) + hanging)
        wrapper = textwrap.TextWrapper(
            max(width, 20),
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        lines += [each.rstrip().replace(_JOINED, " ") for each in wrapper.wrap(joined)]
    return "\n".join(lines)


def printable(text: str) -> str:
    """Text from a session made safe to print: no escape sequences, no lone surrogates."""
    if text.isprintable():
        return text
    return "".join(map(_printable, text))


def _printable(character: str) -> str:
    if character.isprintable() or character in "\n\t" or character in _JOINERS:
        return character
    if character.isspace():
        return " "
    return character.encode("unicode_escape", "backslashreplace").decode()


def one_line(text: str, width: int) -> str:
    """Return a text as one line of at most `width` characters: long paths in it give way first, then its end."""
    return cut_line(" ".join(printable(text[: max(width * 8, _LOOKED_AT)]).split()), width)


def cut_line(line: str, width: int) -> str:
    """Return a line cut to `width` characters. Of paths the end is kept: it is what tells them apart."""
    if len(line) <= width:
        return line
    if _is_path(line):
        return path_end(line, width)
    for names in (2, 1):
        shorter = short_paths(line, names)
        if len(shorter) <= width:
            return shorter
    # A path in which the line would be cut shows its end, if there is room for more than a few letters.
    begin = shorter.rfind(" ", 0, width) + 1
    word = shorter[begin:].partition(" ")[0]
    is_last = begin + len(word) == len(shorter)
    room = width - begin - (0 if is_last else 1)
    if _is_path(word) and len(word) > room >= _LEAST_END:
        return shorter[:begin] + path_end(word, room) + ("" if is_last else "…")
    # Between words, if that does not leave too little.
    end = shorter.rfind(" ", 0, width)
    return shorter[: end if end >= width * _LEAST_PART else width - 1] + "…"


def short_paths(line: str, names: int = 2) -> str:
    """Return a line in which of each long path only the last names are left."""
    return _LONG_PATH.sub(lambda found: f"…/{'/'.join(found[0].split('/')[-names:])}", line)


def _is_path(word: str) -> bool:
    """Return True for what is nothing but a path, by its looks."""
    return "/" in word and len(word) <= _LONGEST_PATH and not _NO_PATH.search(word)


def path_end(path: str, width: int) -> str:
    """Return the end of a path in at most `width` characters, from the beginning of a name on if one begins there."""
    if len(path) <= width:
        return path
    tail = path[len(path) - width + 1 :]
    at = tail.find("/")
    return "…" + (tail[at:] if 0 <= at < len(tail) - 1 else tail)


def yes_or_no(*, is_true: bool) -> str:
    """A truth for people."""
    return "yes" if is_true else "no"


def safe_line(text: str) -> str:
    """All of a text on one line: its line ends are shown."""
    return printable(text).replace("\n", "\\n")


def command_line(command: str, *names: str) -> str:
    """Return a command of refold to paste, on one line; with the store that `STORE` names."""
    import shlex

    import click

    from eventstore.errors import shell_command

    context = click.get_current_context(silent=True)
    if context and (store := context.meta.get(STORE)):
        command = f"--store {shlex.quote(store)} {command}"
    return safe_line(shell_command(command, *names))


def when(milliseconds: int | None) -> str:
    """A time for people: UTC, to the second; "-" where it is unknown."""
    from eventstore.javascript import iso_time

    text = iso_time(milliseconds)
    return text[:19].replace("T", " ") if text else "-"


def thousands(number: int | None) -> str:
    """A number with separators; "-" for none."""
    return "-" if number is None else f"{number:,}"


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts: "1 rewrite", "2 rewrites"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
