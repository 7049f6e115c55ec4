"""Show what was imported, and what could not be."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from eventstore.files.discovery import ForeignSessionError, SessionFile
    from eventstore.files.importing import ImportResult
    from eventstore.files.syncing import FileImport, SourceComparison
    from eventstore.records import Remark

_MEGABYTE: Final = 1_000_000
_REMARKS_OF_A_KIND: Final = 3
_LINES_OF_A_KIND: Final = 6
_NAMES_AND_NUMBERS: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d+""")
"""The parts that differ between remarks of one kind."""
_TYPES: Final = 6
"""Unknown types to name; JSON has them all."""


class ImportSummary:
    """Count files, sessions and events by harness and project.

    `files` are those in places of harnesses that refold reads, or named. `known` are the paths of the failed files that
    an earlier sync reported, and that have not changed since. `generations` are the sessions with new events that are
    later generations of others. `asked` are the files left out, of programs that refold asked. `unknown` counts the
    records of unknown types in new and changed files. `sessions` are the results of files that the user named.
    """

    def __init__(self, files: list[SessionFile]) -> None:
        from eventstore.harnesses import harnesses

        readable = {"", *(each.name for each in harnesses())}
        self.files = [file for file in files if file.harness in readable]
        self._unread = {file.harness for file in files} - readable
        self.failed: list[FileImport] = []
        self.known: set[str] = set()
        self.asked: list[str] = []
        self.damaged: list[tuple[str, ImportResult]] = []
        self.unknown = Counter[str]()
        self.projects: dict[tuple[str, str], dict[str, Any]] = {}
        self.generations: set[str] = set()
        self.sessions: list[ImportResult] = []
        self._sessions: dict[tuple[str, str], set[str]] = {}

    def add(
        self,
        source: SourceComparison,
        harness: str,
        imported: Sequence[ImportResult] = (),
        *,
        has_news: bool = True,
    ) -> None:
        """Count a file, with the results of its sessions.

        One of the same size without news is unchanged, although it was read.
        """
        from cli.store import remarks_on

        folder = source.file.folder or "."
        project = self.projects.setdefault(
            (harness, folder),
            {
                "harness": harness,
                "folder": folder,
                "new": 0,
                "changed": 0,
                "unchanged": 0,
                "bytes": 0,
                "sessions": 0,
                "events": 0,
                "skipped": 0,
                "unknown": 0,
            },
        )
        known = source.known
        is_same = known is not None and known.size == source.file.status.st_size and not has_news
        change = "unchanged" if is_same else source.change
        project[change] += 1
        project["bytes"] += source.file.status.st_size if change != "unchanged" else 0
        # Several files may hold the same session.
        sessions = self._sessions.setdefault((harness, folder), set())
        sessions.update(each.id for each in imported if each.added)
        project["sessions"] = len(sessions)
        self.generations.update(each.id for each in imported if each.added and each.earlier)
        project["events"] += sum(each.added for each in imported)
        project["skipped"] += sum(len(each.skipped) for each in imported)
        if change != "unchanged":
            for each in imported:
                self.unknown.update(each.unknown)
                project["unknown"] += sum(each.unknown.values())
            self.damaged += [(source.file.path, each) for each in imported if remarks_on(each)]

    @property
    def foreign(self) -> list[tuple[SessionFile, ForeignSessionError]]:
        """The files whose contents are of harnesses that refold does not read."""
        from eventstore.files.discovery import ForeignSessionError

        return [
            (each.file, each.error) for each in self.failed if isinstance(each.error, ForeignSessionError)
        ]

    @property
    def unread(self) -> list[str]:
        """The names of the harnesses that refold does not read, by places and contents of files."""
        return sorted({*self._unread, *(error.harness for _, error in self.foreign)})

    def as_json(self, *, is_dry: bool) -> dict[str, Any]:
        """Return the object that --json prints."""
        failed = [
            {"file": each.file.path, "problem": str(each.error), "known": each.file.path in self.known}
            for each in self.failed
        ]
        return {
            "dryRun": is_dry,
            "projects": list(self.projects.values()),
            "failed": failed,
            "unread": self.unread,
            "asked": self.asked,
            "sessions": self.sessions,
        }

    def count(self, name: str) -> int:
        """Return a count over all projects."""
        return sum(project[name] for project in self.projects.values())


def print_problems(summary: ImportSummary, named: Collection[str]) -> bool:
    """Print problems and notes about files; return True if the import is to count as failed.

    `named` are the paths that the user gave: problems of these files are printed each time.
    """
    from cli.output import counted, echo_note, echo_problem
    from cli.store import note_remarks_of_many
    from eventstore.errors import NoSessionYetError
    from eventstore.files.discovery import ForeignSessionError

    foreign = summary.foreign
    failed = [each for each in summary.failed if not isinstance(each.error, ForeignSessionError)]
    known = frozenset[str]() if named else summary.known
    # A harness makes a file before its first message: that is no failure.
    begun = {
        each.file.path
        for each in failed
        if not each.file.status.st_size or isinstance(each.error, NoSessionYetError)
    }.difference(named)
    if new_begun := begun - known:
        echo_note(f"{counted(len(new_begun), 'file')} without a session yet, such as {min(new_begun)}")
    new = [each for each in failed if each.file.path not in begun | known]
    for each in new:
        echo_problem(problem_text(each))
    refused = [each for each in foreign if each[0].path in named]
    for line in _of_folders(refused):
        echo_problem(line)
    for line in _of_folders([each for each in foreign if each[0].path not in known.union(named)]):
        echo_note(line)
    if not named:
        note_remarks_of_many(summary.damaged)
        if unknown := _unknown_types(summary.unknown):
            echo_note(unknown)
        if files_known := known - begun - {file.path for file, _ in foreign}:
            unreadable = counted(len(files_known), "unreadable file")
            echo_note(f"{unreadable} unchanged since the last report; --json lists what is wrong")
    if summary.asked:
        echo_note(f"{counted(len(summary.asked), 'session file')} of programs that refold asked left out")
    # Commands after sync need a store, and sync makes one only for sessions.
    return bool(new or refused) or len(summary.files) == len(foreign) + len(summary.asked)


def problem_text(failed: FileImport) -> str:
    """Return the text of a file's error, which begins with the file's name."""
    from eventstore.errors import BadInputError

    is_of_file = isinstance(failed.error, BadInputError)
    return str(failed.error) if is_of_file else f"{failed.file.path}: {failed.error}"


def print_summary(summary: ImportSummary, *, is_dry: bool) -> None:
    """Print a line for each project with news, and one for all."""
    from cli.output import command_line, console, counted, echo_text, safe_line, table, thousands
    from cli.terminal import CutLine

    projects = [each for each in summary.projects.values() if each["new"] or each["changed"]]
    if projects:
        names = (
            ("NEW FILES", "CHANGED", "MB") if is_dry else ("NEW FILES", "CHANGED", "SESSIONS", "NEW EVENTS")
        )
        listing = table("HARNESS", *names, "PROJECT", right=names, shrinks="PROJECT")
        for each in sorted(projects, key=lambda each: (each["harness"], each["folder"])):
            numbers = [thousands(each[name]) for name in ("new", "changed", "sessions", "events")]
            if is_dry:
                numbers[2:] = [f"{each['bytes'] / _MEGABYTE:,.1f}"]
            listing.add_row(each["harness"], *numbers, CutLine(safe_line(_from_home(each["folder"]))))
        console().print(listing, crop=False)
        echo_text("")
    files = counted(summary.count("new") + summary.count("changed"), "file")
    done = (
        f"would import {files}"
        if is_dry
        else f"imported {counted(summary.count('events'), 'event')} from {files}"
    )
    echo_text(f"{done}; {summary.count('unchanged'):,} unchanged")
    if summary.generations:
        which = counted(
            len(summary.generations), "session is another generation", "sessions are other generations"
        )
        echo_text(f"{which} of one whose file was rewritten; {command_line('sessions --all')} lists all")
    if summary.unread and (projects or not summary.count("unchanged")):
        echo_text(f"refold cannot import sessions of {' or '.join(summary.unread)} yet")


def print_searched(searched: list[tuple[str, str]]) -> None:
    """Print that no session file was found in these folders, each with its harness."""
    from cli.output import command_line, echo_text, safe_line
    from eventstore.harnesses.unread import UNREAD

    unread = {each.name for each in UNREAD}
    echo_text("no session files found; looked in:")
    for folder, harness in searched:
        whose = f"{harness}, recognized but not imported" if harness in unread else harness
        echo_text(f"  {safe_line(_from_home(folder))} ({whose})")
    echo_text(f"to look elsewhere: {command_line('sync')} DIR")


def _from_home(path: str) -> str:
    """Return a path with "~" for the home folder."""
    home = Path("~").expanduser()
    return str(Path("~", Path(path).relative_to(home))) if Path(path).is_relative_to(home) else path


def _of_folders(failed: Sequence[tuple[SessionFile, ForeignSessionError]]) -> Iterator[str]:
    """Yield a problem for each named place and harness whose sessions cannot be imported."""
    alike: dict[tuple[str, str], list[ForeignSessionError]] = {}
    for file, error in failed:
        alike.setdefault((file.place or ".", error.harness), []).append(error)
    for (place, harness), errors in alike.items():
        many = f"{place}: {len(errors):,} files look like sessions of {harness}; {errors[0].remedy}"
        yield many if len(errors) > 1 else str(errors[0])


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
        echo_text(f"  {path}:{line}: {reason}" if line else f"  {path}: {reason}")
    if imported.not_utf8:
        count, first = len(imported.not_utf8), imported.not_utf8[0].line
        are = "1 record is" if count == 1 else f"{count:,} records are"
        echo_text(f"  {path}:{first}: {are} not UTF-8: contexts show U+FFFD")
    if unknown := _unknown_types(imported.unknown):
        echo_text(f"  {unknown}")


def _unknown_types(counts: Mapping[str, int]) -> str:
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
