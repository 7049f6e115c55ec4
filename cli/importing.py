"""Importing with a progress bar."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventstore.files.importing import Imported
    from eventstore.lmdb.store import LmdbLog
    from eventstore.records import Remark

_WORTH_A_BAR = 4 << 20
_REMARKS_OF_A_KIND = 3
_LINES_OF_A_KIND = 6
_NAMES_AND_NUMBERS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d+""")
"""What the reasons of remarks of one kind differ in."""


def import_with_progress(log: LmdbLog, path: str, *, name: str | None = None) -> Imported:
    """Import a file; on a terminal, a large one with a bar that says how far it is.

    Raises BadInputError, and of it ForeignSessionError for a session of another harness.
    """
    from eventstore.errors import BadInputError

    try:
        return _import(log, path, name)
    except BadInputError as error:
        from cli.foreign import ForeignSessionError, harness_of

        if Path(path).is_dir():
            remedy = "name a folder with *.jsonl files in it"
            raise BadInputError(error.source, "holds no session files", remedy) from None
        if harness := harness_of(path):
            raise ForeignSessionError(path, harness) from error
        raise


def _import(log: LmdbLog, path: str, name: str | None) -> Imported:
    from eventstore.files.importing import import_file

    file = Path(path)
    if not sys.stderr.isatty() or not file.is_file() or file.stat().st_size < _WORTH_A_BAR:
        return import_file(log, path, name=name)
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from cli.output import error_console, one_line

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console(), transient=True) as bar:
        task = bar.add_task(f"importing {one_line(file.name, 40)}", total=file.stat().st_size)
        return import_file(log, path, name=name, progress=lambda done, _: bar.update(task, completed=done))


def note_remarks(path: str, imported: Imported) -> None:
    """One line on stderr where a file was imported on the way to something else, and not all is well with it."""
    from cli.output import counted, echo_note, pasted

    facts = [
        f"{counted(len(remarks), 'line')} {what}"
        for remarks, what in (
            (imported.skipped, "skipped"),
            (imported.differs_from_harness, "read otherwise by its harness"),
            (imported.orphans, "without a parent, where contexts begin anew"),
            (imported.not_utf8, "not in UTF-8"),
        )
        if remarks
    ]
    facts += ["grown here and in the file: the leaf stays"] if imported.diverged else []
    if facts:
        echo_note(f"{path}: {', '.join(facts)}; to list them: {pasted('import', path)}")


def note_more_in_store(log: LmdbLog, path: str, imported: Imported) -> None:
    """One line on stderr where a file holds less than its session: what follows is about the session."""
    from cli.output import counted, echo_note

    with log.snapshot() as snapshot:
        entries = snapshot.head(imported.id).entries
    if imported.events < entries:
        echo_note(
            f"{path}: holds {imported.events:,} of the {counted(entries, 'entry', 'entries')} that the store has of "
            f"session {imported.id!r}; this is about all of them"
        )


def print_imported(path: str, imported: Imported) -> None:
    """Print a line for an imported file, and one for every remark; many of one kind share a line."""
    from cli.output import counted, echo_text, unbroken

    facts = [f"{imported.added:,} of {counted(imported.events, 'event')} new"]
    if imported.rewritten:
        facts.append(f"{imported.rewritten:,} changed by their harness")
    if imported.skipped:
        facts.append(f"{len(imported.skipped):,} skipped")
    path = unbroken(path)
    echo_text(f"{unbroken(imported.id)}  {imported.format}  {', '.join(facts)}  {path}")
    if imported.earlier:
        what = f"another generation of session {imported.earlier!r}"
        echo_text(f"  {what}: the file was written anew, and most of it is not what that session holds")
    if imported.diverged:
        echo_text("  the session has grown here, and the file elsewhere: the leaf stays where it was")
    for line, reason in _grouped(imported.skipped):
        echo_text(f"  {path}:{line}: skipped: {reason}")
    for line, reason in _grouped([*imported.differs_from_harness, *imported.orphans]):
        echo_text(f"  {path}:{line}: {reason}")
    if imported.not_utf8:
        count, first = len(imported.not_utf8), imported.not_utf8[0].line
        are = "1 record is" if count == 1 else f"{count:,} records are"
        echo_text(f"  {path}:{first}: {are} not UTF-8: contexts show U+FFFD")


def _grouped(remarks: list[Remark]) -> Iterator[tuple[int, str]]:
    """Yield a line number and a text for each remark, or for all of a kind where there are many."""
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
