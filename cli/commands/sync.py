"""refold sync."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from cli.options import homes_option, json_option, paths_option, require_no_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventstore.files.discovery import SessionFile
    from eventstore.files.importing import ImportResult
    from eventstore.files.syncing import FileImport, SourceComparison


_MEGABYTE: Final = 1_000_000


@click.command("sync", context_settings={"allow_extra_args": True}, epilog="Example:  refold sync --dry-run")
@homes_option
@paths_option
@click.option("--dry-run", is_flag=True, help="Show what would be imported; import nothing.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Number of processes that read files.  [default: the number of cores]",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    homes: tuple[str, ...],
    paths: tuple[str, ...],
    dry_run: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Import what is new in the session files of all harnesses.

    Files that have not changed since they were last imported are not opened. If you interrupt it, run it
    again: it continues where it stopped. If a file cannot be read, the others are imported all the same. The
    exit code is then 1, but later runs only count a file that has not changed. An empty file, one that
    holds only snapshots of files, or one of a harness that refold cannot import, gets only a note. The exit code
    is also 1 if no session is found.
    """
    import os

    from cli.commands.importing import of_folders, print_searched, unknown_types
    from cli.output import counted, echo_json, echo_note, echo_problem
    from cli.store import note_remarks_of_many
    from eventstore.errors import BadInputError, NoSessionYetError
    from eventstore.files.discovery import ForeignSessionError, session_files, session_places

    require_no_folder(ctx)
    files = session_files(os.environ, homes, [os.path.abspath(path) for path in paths])
    summary = _Summary(files)
    if dry_run:
        _preview(ctx, summary)
    elif summary.files:
        _import(ctx, summary, jobs)
    new = [each for each in summary.failed if each.file.path not in summary.known]
    # A harness makes a file before its first message: that is no failure.
    begun = {
        each.file.path
        for each in summary.failed
        if not each.file.status.st_size or isinstance(each.error, NoSessionYetError)
    }
    foreign = {
        each.file.path: each.error for each in summary.failed if isinstance(each.error, ForeignSessionError)
    }
    summary.unread = sorted({*summary.unread, *(error.harness for error in foreign.values())})
    noted = [(each.file.place, foreign[each.file.path]) for each in new if each.file.path in foreign]
    new = [each for each in new if each.file.path not in begun and each.file.path not in foreign]
    if new_begun := begun - summary.known:
        echo_note(f"{counted(len(new_begun), 'file')} without a session yet, such as {min(new_begun)}")
    for each in new:
        echo_problem(
            str(each.error) if isinstance(each.error, BadInputError) else f"{each.file.path}: {each.error}"
        )
    for line in of_folders(noted):
        echo_note(line)
    note_remarks_of_many(summary.damaged)
    if unknown := unknown_types(summary.unknown):
        echo_note(unknown)
    if known := summary.known - begun:
        files_known = counted(len(known), "unreadable file")
        echo_note(f"{files_known} unchanged since the last report; --json lists what is wrong")
    if as_json:
        failed = [
            {"file": each.file.path, "problem": str(each.error), "known": each.file.path in summary.known}
            for each in summary.failed
        ]
        projects = list(summary.projects.values())
        echo_json({"dryRun": dry_run, "projects": projects, "failed": failed, "unread": summary.unread})
    elif not files:
        searched = [(each.folder, each.harness) for each in session_places(os.environ, homes)]
        print_searched([*searched, *((path, "--path") for path in paths)])
    else:
        _print(summary, is_dry=dry_run)
    # What runs after sync needs a store, and sync makes one only for sessions.
    ctx.exit(1 if new or len(summary.files) == len(foreign) else 0)


class _Summary:
    """Count files, sessions and events by harness and project.

    `files` are those of harnesses that refold reads, `unread` the names of the others. `known` are the paths of
    the failed files that an earlier sync reported, and that have not changed since. `generations` are the sessions
    with new events that are later generations of others. `unknown` counts the records of unknown types in new and
    changed files.
    """

    def __init__(self, files: list[SessionFile]) -> None:
        from eventstore.formats import harnesses

        readable = {"", *(each.name for each in harnesses())}
        self.files = [file for file in files if file.harness in readable]
        self.unread = sorted({file.harness for file in files} - readable)
        self.failed: list[FileImport] = []
        self.known: set[str] = set()
        self.damaged: list[tuple[str, ImportResult]] = []
        self.unknown = Counter[str]()
        self.projects: dict[tuple[str, str], dict[str, Any]] = {}
        self.generations: set[str] = set()
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

        project = self.projects.setdefault(
            (harness, source.file.folder),
            {
                "harness": harness,
                "folder": source.file.folder,
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
        sessions = self._sessions.setdefault((harness, source.file.folder), set())
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

    def count(self, name: str) -> int:
        """Return a count over all projects."""
        return sum(project[name] for project in self.projects.values())


def _preview(ctx: click.Context, summary: _Summary) -> None:
    """Count what an import would find; make no store."""
    from contextlib import nullcontext

    from cli.store import opened, store_path
    from eventstore import is_store
    from eventstore.errors import RefoldError, StoreError
    from eventstore.files.discovery import writer_of
    from eventstore.files.syncing import FileImport, compare_sources, has_news, reported_before
    from eventstore.memory import MemoryLog

    with (
        opened(ctx) if is_store(store_path(ctx.obj)) else nullcontext(MemoryLog()) as log,
        log.snapshot() as snapshot,
    ):
        for source in compare_sources(snapshot, summary.files):
            try:
                is_new = source.change != "unchanged" and has_news(log, source)
            except StoreError:
                raise
            except RefoldError as error:
                summary.failed.append(FileImport(file=source.file, error=error))
                continue
            harness = source.known.harness if source.known else writer_of(source.file)
            summary.add(source, harness, has_news=is_new)
        summary.known = reported_before(snapshot, summary.failed)


def _import(ctx: click.Context, summary: _Summary, jobs: int | None) -> None:
    """Import new and changed files, with a progress bar on a terminal."""
    from contextlib import closing

    from cli.output import counted, echo_note, progress_bar
    from cli.store import opened
    from eventstore.errors import StoreError
    from eventstore.files.discovery import SessionFile
    from eventstore.files.syncing import compare_sources, import_files, keep_reported, reported_before
    from eventstore.formats import format_of
    from eventstore.workers import WorkerLostError, cores

    with opened(ctx, create=True) as log:
        with log.snapshot() as snapshot:
            compared = compare_sources(snapshot, summary.files)
        to_import: dict[str, SourceComparison] = {}
        for source in compared:
            if source.known is not None and source.change == "unchanged":
                summary.add(source, source.known.harness)
            else:
                to_import[source.file.path] = source
        files = [source.file for source in to_import.values()]
        try:
            with (
                progress_bar("importing") as progress,
                closing(import_files(log, files, jobs=jobs or cores(), progress=progress)) as results,
            ):
                for each in results:
                    if each.error is not None:
                        summary.failed.append(each)
                        continue
                    harness = format_of(each.sessions[0].format).name
                    has_news = any(session.added or session.rewritten for session in each.sessions)
                    summary.add(to_import[each.file.path], harness, each.sessions, has_news=has_news)
            with log.snapshot() as snapshot:
                summary.known = reported_before(snapshot, summary.failed)
            keep_reported(log, summary.failed)
        except (StoreError, KeyboardInterrupt) as error:
            is_interrupt = isinstance(error, KeyboardInterrupt)
            if is_interrupt:
                # A terminal shows ^C at the cursor; click would end that line only after the note.
                click.echo(err=True)
            done = counted(summary.count("new") + summary.count("changed"), "file")
            echo_note(f"{done} imported before that; run sync again to continue")
            raise (click.Abort() if is_interrupt else error) from None
        except WorkerLostError as error:
            path = error.item.path if isinstance(error.item, SessionFile) else error.item
            raise click.ClickException(
                f"{path}: the process that read it was killed; try fewer --jobs"
            ) from None


def _print(summary: _Summary, *, is_dry: bool) -> None:
    """Print a line for each project with news, and one for all."""
    from cli.commands.importing import from_home
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
            listing.add_row(each["harness"], *numbers, CutLine(safe_line(from_home(each["folder"]))))
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
