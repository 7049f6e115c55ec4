"""Print text, JSON and tables to the terminal, safely."""

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

    from cli.terminal import FittedTable


HANDLER: Final = "refold.plain"
"""The error handler name under which `str.encode` and text streams find `ascii_fallback`."""

_PLAIN: Final = {
    **dict(zip("▁▂▃▄▅▆▇█░", "....:::#.", strict=True)),
    **dict(zip("│└─·●∑⤷✂↷↶⚙✎✗", "|+--*S>%^u=~x", strict=True)),
    **dict(zip("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--", strict=True)),
    "…": "...",
    "←": "<-",
    "→": "->",
}
"""ASCII replacements for drawing characters and typographic punctuation."""


def ascii_fallback(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that ASCII lacks by similar ones or by escapes; a codec error handler."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each) or _escape(each) for each in lacking), error.end


def _escape(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode()


def never_failing(stream: TextIO) -> None:
    """Make a text stream replace what its encoding lacks instead of raising an error."""
    codecs.register_error(HANDLER, ascii_fallback)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors=HANDLER)


ARGUMENTS: Final = "refold.arguments"
"""Key in `Context.meta` for the subcommand and its arguments, as the user wrote them."""
STORE: Final = "refold.store"
"""Key in `Context.meta` for a store that printed commands name, as it is not the default."""
_UNBOUNDED: Final = 100_000
_JOINERS: Final = "\u200c\u200d"
"""Characters that Python calls unprintable, but that scripts and emoji need."""
_UNUSUAL: Final = re.compile(r"[^\n\t -~]")
_UNSAFE_IN_JSON: Final = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that JSON allows but terminals may obey: DEL, C1 controls, direction changes."""
_LONG_PATH: Final = re.compile(r"(?<![\w:./~…-])(?:~|\.{1,2}|[\w.-]+)?(?:/[\w.@+-]+){3,}")
"""A path of four names, or of three from the root."""
_WITH_SLASHES: Final = re.compile(r"(?<![^ ])(?>[^ /]*)(?>/[^ /]*){3,}")
"""A word with as many slashes as a long path has."""
_NO_PATH: Final = re.compile(r"[\s\"'{}<>|;,]|://")
"""Characters that occur in prose, code or JSON, but hardly in a path."""
_LONGEST_PATH: Final = 1024
_LOOKED_AT: Final = 4096
"""Minimum characters of a text to build a line from: more than any path has."""
_LEAST_PART: Final = 2 / 3
"""The minimum share of a line's width that must remain after a cut between words."""
_LEAST_END: Final = 8
"""Minimum characters of a shortened path; fewer say nothing."""


_COMMAND: Final = re.compile(r"(?<=[:;] )refold (?!.*; ).*")
"""A command at the end of a line, meant for pasting."""
_USUAL: Final = 80
"""Columns to assume for a terminal that does not report its width."""
_JOINED: Final = "\ue000"
"""A placeholder for a non-breaking space: a private-use character that is never printed."""


def console() -> Console:
    """Return the console for text: coloured and fitted on a terminal, plain and uncut elsewhere."""
    from cli.terminal import SafeConsole

    return SafeConsole(file=sys.stdout, width=columns(sys.stdout), highlight=False, markup=False, emoji=False)


def error_console() -> Console:
    """Return the console for progress, on standard error."""
    from cli.terminal import SafeConsole

    return SafeConsole(file=sys.stderr, highlight=False, markup=False, emoji=False)


@contextmanager
def paged(out: Console) -> Iterator[None]:
    """Send what is printed to `out` through the user's pager on a terminal, directly elsewhere."""
    if not sys.stdout.isatty():
        yield
        return
    # less: keep colours, and do not page what fits on the screen.
    os.environ.setdefault("LESS", "FRX")
    with out.pager(styles=True):
        yield


def table(
    *names: str, right: Sequence[str] = (), shrinks: str = "", drops: Sequence[str] = ()
) -> FittedTable:
    """Return a table without lines; `right` are columns of numbers, `shrinks` gives way first.

    If a narrow terminal needs more room, the columns of `drops` are left out one by one. A cell in `shrinks`
    is cut if it is a rich Text with `no_wrap` and an overflow, otherwise wrapped.
    """
    from cli.terminal import FittedTable

    return FittedTable(names, right=right, shrinks=shrinks, drops=drops)


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes the done and the total count.

    On a terminal it updates a bar, which appears with the first call.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import Progress

    bar = Progress(console=error_console(), transient=True)
    task = bar.add_task(description, total=None)

    def update(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield update
    finally:
        bar.stop()


def echo_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    echo_json_bytes(json_bytes(value))


@contextmanager
def json_list(name: str) -> Iterator[Callable[[bytes], None]]:
    """Yield a function that prints a JSON text as the next item of a list in an object.

    Items are not kept in memory. If the block fails, the line ends there and is not valid JSON.
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
    """Encode a value as JSON."""
    import msgspec

    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        from eventstore.javascript import stringify

        # A lone surrogate has no UTF-8 form, but JSON has an escape for it.
        return stringify(msgspec.to_builtins(value, enc_hook=_parsed)).encode()


def _parsed(value: Any) -> Any:
    """Parse a value that is JSON already."""
    from eventstore.javascript import tolerant_json

    return tolerant_json(bytes(value))


def echo_json_bytes(encoded: bytes) -> None:
    """Print a JSON text as one line; on a terminal, escape characters that it would obey."""
    echo_bytes(_harmless_json(encoded) + b"\n")


def _harmless_json(encoded: bytes) -> bytes:
    if not sys.stdout.isatty():
        return encoded
    text = encoded.decode("utf-8", "replace")
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def echo_bytes(data: bytes) -> None:
    """Print bytes unchanged."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def echo_text(text: str) -> None:
    """Print a message, wrapped at words on a terminal, with control characters made visible."""
    echo_verbatim(wrapped(printable(text), columns(sys.stdout)))


def echo_verbatim(text: str) -> None:
    """Print a text with its own line breaks, with control characters made visible."""
    sys.stdout.write(printable(text) + "\n")


def echo_problem(problem: str, hint: str = "") -> None:
    """Print a problem and a hint on stderr, as one line or wrapped at words on a terminal."""
    line = " ".join(printable(f"refold: {problem}" + (f"; {hint}" if hint else "")).split())
    sys.stdout.flush()
    sys.stderr.write(wrapped(line, columns(sys.stderr)) + "\n")


def echo_note(note: str) -> None:
    """Print a note as one line on stderr."""
    echo_problem(f"note: {note}")


def print_line(out: Console, text: str, *, style: str = "") -> None:
    """Print a message to a console, wrapped at words on a terminal."""
    out.print(wrapped(text, out.width), style=style, crop=False, no_wrap=True, overflow="ignore")


@contextmanager
def styled_lines() -> Iterator[Callable[..., None]]:
    """Yield a function that prints a line of (text, style) pairs.

    On a terminal it colours, wraps and pages them. Elsewhere it prints plain text, without the library for styles,
    which takes long to load.
    """
    # These are the variables by which rich decides that a stream is a terminal.
    if not (sys.stdout.isatty() or os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE")):
        yield lambda *spans: echo_verbatim("".join(text for text, _ in spans).expandtabs())
        return
    from rich.text import Text

    out = console()

    def show(*spans: tuple[str, str]) -> None:
        if len(spans) == 1:
            print_line(out, spans[0][0], style=spans[0][1])
        else:
            out.print(Text.assemble(*spans), crop=False, overflow="fold")

    with paged(out):
        yield show


def columns(stream: TextIO) -> int:
    """Return the maximum line length: the width of a terminal, unlimited elsewhere."""
    if not stream.isatty():
        return _UNBOUNDED
    named = os.environ.get("COLUMNS", "")
    with suppress(OSError, ValueError):
        return max(int(named or 0), 0) or os.get_terminal_size(stream.fileno()).columns or _USUAL
    return _USUAL


def wrapped(text: str, width: int, *, hanging: int = 2) -> str:
    """Return a text wrapped at spaces; continuation lines are indented by `hanging` more.

    A word longer than a line stays whole, and so does a refold command at the end of a line, because it is
    meant for pasting.
    """
    import textwrap

    lines = []
    for written in text.split("\n"):
        # A terminal shows a tab as up to eight columns.
        line = written.expandtabs()
        if len(line) <= width:
            lines.append(written)
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
    """Return text that is safe to print: no escape sequences, no lone surrogates."""
    if text.isprintable():
        return text
    return _UNUSUAL.sub(_printable, text)


def _printable(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable() or character in "\n\t" or character in _JOINERS:
        return character
    if character.isspace():
        return " "
    return character.encode("unicode_escape", "backslashreplace").decode()


def one_line(text: str, width: int) -> str:
    """Return a text as one line of at most `width` characters; long paths are shortened first."""
    return cut_line(" ".join(printable(text[: max(width * 8, _LOOKED_AT)]).split()), width)


def cut_line(line: str, width: int) -> str:
    """Return a line cut to `width` characters, keeping the distinctive end of paths."""
    if len(line) <= width:
        return line
    if _is_path(line):
        return path_end(line, width)
    for names in (2, 1):
        shorter = short_paths(line, names)
        if len(shorter) <= width:
            return shorter
    # If the cut falls into a path, show the path's end, if there is room for more than a few letters.
    begin = shorter.rfind(" ", 0, width) + 1
    word = shorter[begin:].partition(" ")[0]
    is_last = begin + len(word) == len(shorter)
    room = width - begin - (0 if is_last else 1)
    if _is_path(word) and len(word) > room >= _LEAST_END:
        return shorter[:begin] + path_end(word, room) + ("" if is_last else "…")
    # Cut between words, if enough of the line remains.
    end = shorter.rfind(" ", 0, width)
    return shorter[: end if end >= width * _LEAST_PART else width - 1] + "…"


def short_paths(line: str, names: int = 2) -> str:
    """Return a line with each long path reduced to its last names."""
    # Most words of a line are no paths, and a search at each of their characters takes long.
    return _WITH_SLASHES.sub(
        lambda word: _LONG_PATH.sub(lambda found: f"…/{'/'.join(found[0].split('/')[-names:])}", word[0]),
        line,
    )


def _is_path(word: str) -> bool:
    """Return True if a word looks like a path and nothing else."""
    return "/" in word and len(word) <= _LONGEST_PATH and not _NO_PATH.search(word)


def path_end(path: str, width: int) -> str:
    """Return the end of a path in at most `width` characters, starting at a name if possible."""
    if len(path) <= width:
        return path
    tail = path[len(path) - width + 1 :]
    at = tail.find("/")
    return "…" + (tail[at:] if 0 <= at < len(tail) - 1 else tail)


def safe_line(text: str) -> str:
    """Return a text on one line, with line breaks shown as escapes."""
    return printable(text).replace("\n", "\\n")


def command_line(command: str, *names: str) -> str:
    """Return a refold command to paste, on one line, with `--store` if needed."""
    import shlex

    import click

    from eventstore.errors import shell_command

    context = click.get_current_context(silent=True)
    if context and (store := context.meta.get(STORE)):
        command = f"--store {shlex.quote(store)} {command}"
    return safe_line(shell_command(command, *names))


def when(milliseconds: int | None) -> str:
    """Format a time as UTC to the second; "-" if unknown."""
    from eventstore.javascript import iso_time

    text = iso_time(milliseconds)
    return text[:19].replace("T", " ") if text else "-"


def thousands(number: int | None) -> str:
    """Format a number with separators; "-" for None."""
    return "-" if number is None else f"{number:,}"


def counted(number: int, one: str, many: str = "") -> str:
    """Format a count with its noun: "1 rewrite", "2 rewrites"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
