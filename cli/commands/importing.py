"""refold import."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eventstore.errors import BadInputError, CorruptionError
    from eventstore.files.importing import ImportResult
    from eventstore.log import StoredLog
    from eventstore.records import Remark


@click.command("import", epilog="Example:  refold import ~/.pi/agent/sessions")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--as", "name", metavar="NEW", help="Import a single file as a session with this name.")
@json_option
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], *, name: str | None, as_json: bool) -> None:
    """Import session files into the store.

    Without a PATH, list the session files on this machine and import nothing.

    Only new records are added, so you can import a file again after it has grown. A folder stands for the
    *.jsonl files in it and below it. If a file cannot be read, or its session in the store is damaged, the others are
    imported all the same, and the exit code is 1.
    """
    if not paths:
        if name is not None:
            raise click.UsageError("--as needs the path of a file", ctx)
        ctx.exit(_list_found(as_json=as_json))
    if name is not None:
        from cli.store import check_new_name

        check_new_name(name)
    ctx.exit(_import(ctx, _files(paths), name, as_json=as_json))


def _import(ctx: click.Context, files: list[tuple[str, str]], name: str | None, *, as_json: bool) -> int:
    """Import files, each with the folder that the user named for it, and return the exit code."""
    from cli.output import echo_json, echo_problem
    from cli.store import import_with_progress, opened
    from eventstore.errors import BadInputError

    if name and len(files) > 1:
        raise click.UsageError("--as takes a single file", ctx)
    imported: list[ImportResult] = []
    failed: list[tuple[str, BadInputError]] = []
    is_damaged = False
    with opened(ctx, create=True) as log:
        for path, folder in files:
            try:
                found = import_with_progress(log, path, name=name)
            except BadInputError as error:
                failed.append((folder, error))
                if not is_one_of_many(folder, error):
                    echo_problem(str(error))
            else:
                imported += found
                for each in () if as_json else found:
                    print_imported(path, each)
                for damage in _damages(log, found):
                    is_damaged = True
                    echo_problem(str(damage))
    for line in of_folders(failed):
        echo_problem(line)
    if as_json:
        echo_json({"sessions": imported})
    return 1 if failed or is_damaged else 0


def _damages(log: StoredLog, imported: list[ImportResult]) -> Iterator[CorruptionError]:
    """Yield the first damage of each session that was in the store before its import."""
    from eventstore.checked import require_sound
    from eventstore.errors import CorruptionError

    for each in imported:
        try:
            if each.added < each.events:
                require_sound(log, each.id)
        except CorruptionError as error:
            yield error


def _list_found(*, as_json: bool) -> int:
    """List the session files of the harnesses on this machine; return 1 if there are none."""
    import os

    from cli.output import command_line, console, echo_json, echo_text, safe_line, table, thousands, when
    from cli.terminal import CutLine
    from eventstore.files.discovery import session_folders, session_places

    searched, found = session_places(os.environ), session_folders(os.environ)
    if as_json:
        import msgspec

        from eventstore.javascript import iso_time

        folders = [{**msgspec.to_builtins(each), "newest": iso_time(each.newest)} for each in found]
        echo_json({"found": folders, "searched": searched})
        return 0 if found else 1
    if not found:
        print_searched([(each.folder, each.harness) for each in searched])
        return 1
    columns = ("HARNESS", "FILES", "LAST CHANGED (UTC)", "FOLDER")
    listing = table(*columns, right=("FILES",), shrinks="FOLDER")
    for folder in found:
        listing.add_row(
            folder.harness,
            thousands(folder.files),
            when(folder.newest)[:16],
            CutLine(safe_line(from_home(folder.folder))),
        )
    console().print(listing, crop=False)
    echo_text("")
    if any(each.importable for each in found):
        echo_text(f"to import them: {command_line('sync')}")
    unread = sorted({each.harness for each in found if not each.importable})
    if unread:
        echo_text(f"refold cannot import sessions of {' or '.join(unread)} yet")
    return 0


def print_searched(searched: list[tuple[str, str]]) -> None:
    """Print that no session file was found in these folders, each with its harness."""
    from cli.output import command_line, echo_text, safe_line
    from eventstore.formats.unread import UNREAD

    unread = {each.name for each in UNREAD}
    echo_text("no session files found; looked in:")
    for folder, harness in searched:
        whose = f"{harness}, recognized but not imported" if harness in unread else harness
        echo_text(f"  {safe_line(from_home(folder))} ({whose})")
    echo_text(f"to look elsewhere: {command_line('sync --path')} DIR")


def from_home(path: str) -> str:
    """Return a path with "~" for the home folder."""
    from pathlib import Path

    home = Path("~").expanduser()
    return str(Path("~", Path(path).relative_to(home))) if Path(path).is_relative_to(home) else path


def _files(paths: tuple[str, ...]) -> list[tuple[str, str]]:
    """Yield the files that paths stand for, each with the folder that the user named, or ""."""
    from pathlib import Path

    from eventstore.files.discovery import files_below

    files: list[tuple[str, str]] = []
    for path in paths:
        inside = [(each.path, path) for each in files_below(path)] if Path(path).is_dir() else []
        files += inside or [(path, "")]
    return files


def is_one_of_many(folder: str, error: BadInputError) -> bool:
    """Return True if one line can report this file and similar ones in its folder."""
    from eventstore.files.discovery import ForeignSessionError

    return bool(folder) and isinstance(error, ForeignSessionError)


def of_folders(failed: Sequence[tuple[str, BadInputError]]) -> Iterator[str]:
    """Yield a problem for each folder and harness whose sessions cannot be imported."""
    from eventstore.files.discovery import ForeignSessionError

    alike: dict[tuple[str, str], list[ForeignSessionError]] = {}
    for folder, error in failed:
        if folder and isinstance(error, ForeignSessionError):
            alike.setdefault((folder, error.harness), []).append(error)
    for (folder, harness), errors in alike.items():
        many = f"{folder}: {len(errors):,} files look like sessions of {harness}; {errors[0].remedy}"
        yield many if len(errors) > 1 else str(errors[0])


_REMARKS_OF_A_KIND = 3


_LINES_OF_A_KIND = 6


_NAMES_AND_NUMBERS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d+""")
"""The parts that differ between remarks of one kind."""


def print_imported(path: str, imported: ImportResult) -> None:
    """Print a line for an imported file and one per remark; many of one kind share a line."""
    from cli.output import command_line, counted, echo_text, safe_line

    facts = [f"{imported.added:,} of {counted(imported.events, 'event')} new"]
    if imported.rewritten:
        facts.append(f"{imported.rewritten:,} changed by the harness")
    if imported.skipped:
        facts.append(f"{len(imported.skipped):,} skipped")
    path = safe_line(path)
    echo_text(f"{safe_line(imported.id)}  {imported.format}  {', '.join(facts)}  {path}")
    if imported.earlier:
        what = f"another generation of session {imported.earlier!r}"
        echo_text(f"  {what}: the file was rewritten, and most of it differs from that session")
    if imported.diverged:
        echo_text("  both the session and the file have grown: the leaf stays where it was")
    if imported.left:
        back = command_line("go", imported.id, imported.left)
        echo_text(
            f"  the leaf is now on another branch: the file lacks {imported.left!r}; to go back to it: {back}"
        )
    for line, reason in _grouped(imported.skipped):
        echo_text(f"  {path}:{line}: skipped: {reason}")
    for line, reason in _grouped([*imported.differs_from_harness, *imported.orphans, *imported.inserted]):
        echo_text(f"  {path}:{line}: {reason}")
    if imported.not_utf8:
        count, first = len(imported.not_utf8), imported.not_utf8[0].line
        are = "1 record is" if count == 1 else f"{count:,} records are"
        echo_text(f"  {path}:{first}: {are} not UTF-8: contexts show U+FFFD")
    if unknown := unknown_types(imported.unknown):
        echo_text(f"  {unknown}")


_TYPES = 6
"""Unknown types to name; JSON has them all."""


def unknown_types(counts: Mapping[str, int]) -> str:
    """Describe the records of unknown types, given their numbers by type; "" for none."""
    from cli.output import counted, safe_line

    found = sorted(counts.items(), key=lambda each: -each[1])
    if not found:
        return ""
    named = [f"{safe_line(type_)} ({count:,})" for type_, count in found[:_TYPES]]
    more = [f"{len(found) - _TYPES:,} more"] if len(found) > _TYPES else []
    kept = counted(sum(counts.values()), "record")
    return f"{kept} of unknown types kept: {', '.join([*named, *more])}"


def _grouped(remarks: list[Remark]) -> Iterator[tuple[int, str]]:
    """Yield a line number and a text per remark, or per kind if there are many."""
    kinds: dict[str, list[Remark]] = {}
    for remark in remarks:
        kinds.setdefault(_NAMES_AND_NUMBERS.sub("", remark.reason), []).append(remark)
    for alike in kinds.values():
        if len(alike) <= _REMARKS_OF_A_KIND:
            yield from ((each.line, each.reason) for each in alike)
            continue
        lines = list(dict.fromkeys(each.line for each in alike))
        shown = ", ".join(map(str, lines[:_LINES_OF_A_KIND])) + ", …" * (len(lines) > _LINES_OF_A_KIND)
        where = f"lines {shown}" if len(lines) > 1 else f"line {shown}"
        yield alike[0].line, f"{alike[0].reason} ({len(alike):,} such remarks: {where})"
