"""refold sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cli.views.imports import ImportSummary
    from eventstore.errors import RefoldError
    from eventstore.files.discovery import SessionFile
    from eventstore.files.syncing import FileImport, SourceComparison
    from eventstore.log import Snapshot, StoredLog


@click.command("sync", epilog="Example:  refold sync --dry-run")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option(
    "--home",
    "homes",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Look in the usual places of this home folder instead of yours; repeatable.",
)
@click.option("--as", "name", metavar="NEW", help="Import a single file as a session with this name.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported; import nothing.")
@click.option("--watch", is_flag=True, help="Go on importing what is new, until you press Ctrl-C.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    *,
    homes: tuple[str, ...],
    name: str | None,
    dry_run: bool,
    watch: bool,
    as_json: bool,
) -> None:
    """Import what is new in session files.

    With a PATH, these files are read, and a folder stands for the session files in it and below it. If a file cannot
    be read, or a session of it is damaged in the store, the others are imported all the same, and the exit code is 1.

    Without a PATH, the session files of all harnesses on this machine are imported. Those that have not changed since
    they were last imported are not opened. If you interrupt it, run it again: it continues where it stopped. A
    file that cannot be read makes the exit code 1 only until it was reported.

    An empty file, one that holds only snapshots of files, or one of a harness that refold cannot import, gets only a
    note, unless you name it. Sessions of programs that refold asked for a summary or a reading are left out. The exit
    code is also 1 if no session is found.

    With --watch, it goes on and prints a line for each session file with new events, mostly within a second. With
    --json, each line is an object.
    """
    if homes and paths:
        raise click.UsageError("--home chooses where to look: do not name a PATH", ctx)
    if name is not None and (not paths or dry_run or watch):
        raise click.UsageError("--as needs the path of a file, and neither --dry-run nor --watch", ctx)
    if dry_run and watch:
        raise click.UsageError("--watch imports: do not give --dry-run", ctx)
    if watch:
        from cli.watching import watch_files

        watch_files(ctx, paths, homes, as_json=as_json)
    else:
        ctx.exit(_sync(ctx, paths, homes, name, is_dry=dry_run, as_json=as_json))


def _sync(
    ctx: click.Context,
    paths: Sequence[str],
    homes: Sequence[str],
    name: str | None,
    *,
    is_dry: bool,
    as_json: bool,
) -> int:
    """Import what is new, or show what would be imported; return the exit code."""
    import os

    from cli.output import echo_json
    from cli.store import check_new_name, store_path
    from cli.views.imports import ImportSummary, print_problems, print_searched, print_summary
    from eventstore import is_store
    from eventstore.files.discovery import session_files, session_places

    summary = _named(paths) if paths else ImportSummary(session_files(os.environ, homes))
    if is_dry:
        _preview(ctx, summary)
    elif paths or summary.files:
        if name is not None:
            check_new_name(name)
            if len(summary.files) > 1:
                raise click.UsageError("--as takes a single file", ctx)
        if paths and not is_store(store_path(ctx.obj)) and not any(map(_is_session_file, summary.files)):
            # Its errors are those of an import, without a store that would hold nothing.
            _preview(ctx, summary)
        else:
            _import(ctx, summary, name, is_named=bool(paths), as_json=as_json)
    has_failed = print_problems(summary, paths)
    if as_json:
        echo_json(summary.as_json(is_dry=is_dry))
    elif not paths and not summary.files and not summary.unread:
        print_searched([(each.folder, each.harness) for each in session_places(os.environ, homes)])
    elif is_dry or not paths:
        print_summary(summary, is_dry=is_dry)
    return 1 if has_failed else 0


def _named(paths: Sequence[str]) -> ImportSummary:
    """Return the files that paths stand for, and as failed the folders without any."""
    from pathlib import Path

    from cli.views.imports import ImportSummary
    from eventstore.errors import BadInputError
    from eventstore.files.discovery import named_file, named_files
    from eventstore.files.syncing import FileImport

    found = {path: named_files(path) for path in paths}
    summary = ImportSummary([file for path in paths for file in found[path]])
    for path in [path for path in paths if not found[path]]:
        problem, remedy = "holds no session files", "name a folder with *.jsonl files in it"
        try:
            next(Path(path).iterdir(), None)
        except OSError as error:
            problem, remedy = f"cannot be read ({error.strerror})", "check its permissions"
        summary.failed.append(FileImport(file=named_file(path), error=BadInputError(path, problem, remedy)))
    return summary


def _is_session_file(file: SessionFile) -> bool:
    from eventstore.errors import BadInputError
    from eventstore.files.discovery import open_source
    from eventstore.files.importing import opened_source

    try:
        with opened_source(file.path) as source:
            open_source(source)
    except BadInputError:
        return False
    return True


def _compared(snapshot: Snapshot, summary: ImportSummary) -> Iterator[SourceComparison]:
    """Compare files with the store; leave out new ones of programs that refold asked."""
    from eventstore.files.syncing import compare_sources
    from projections.asked import is_asked_file

    for each in compare_sources(snapshot, summary.files):
        is_named = each.file.path == each.file.place
        if each.known is None and not is_named and is_asked_file(each.file):
            summary.asked.append(each.file.path)
        else:
            yield each


def _preview(ctx: click.Context, summary: ImportSummary) -> None:
    """Count what an import would find; make no store."""
    from contextlib import nullcontext

    from cli.store import opened, store_path
    from eventstore import is_store
    from eventstore.errors import RefoldError, StoreError
    from eventstore.files.discovery import writer_of
    from eventstore.files.syncing import FileImport, has_news, reported_before
    from eventstore.memory import MemoryLog

    with (
        opened(ctx) if is_store(store_path(ctx.obj)) else nullcontext(MemoryLog()) as log,
        log.snapshot() as snapshot,
    ):
        for source in _compared(snapshot, summary):
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


def _failures(log: StoredLog, source: SourceComparison, error: RefoldError) -> Iterator[FileImport]:
    """Yield a file's error; if it tells of damage, also that of the file's other sessions."""
    from eventstore.errors import CorruptionError
    from eventstore.files.syncing import FileImport

    yield FileImport(file=source.file, error=error)
    if isinstance(error, CorruptionError) and source.known is not None:
        others = [each for each in source.known.sessions if each != error.session]
        yield from _damages(log, source.file, others)


def _damages(log: StoredLog, file: SessionFile, sessions: Iterable[str]) -> Iterator[FileImport]:
    """Yield the first damage of each of these sessions of a file."""
    from eventstore.checked import require_sound
    from eventstore.errors import CorruptionError
    from eventstore.files.syncing import FileImport

    for each in sessions:
        try:
            require_sound(log, each)
        except CorruptionError as error:
            yield FileImport(file=file, error=error)


def _import(
    ctx: click.Context, summary: ImportSummary, name: str | None, *, is_named: bool, as_json: bool
) -> None:
    """Import named files, or new and changed ones, with a progress bar on a terminal.

    Of named ones, print what each holds.
    """
    from contextlib import closing

    from cli.output import counted, echo_note, progress_bar
    from cli.store import opened
    from cli.views.imports import print_imported
    from eventstore.errors import StoreError
    from eventstore.files.discovery import SessionFile
    from eventstore.files.syncing import import_files, keep_reported, reported_before
    from eventstore.workers import WorkerLostError, cores

    with opened(ctx, create=True) as log:
        with log.snapshot() as snapshot:
            compared = {each.file.path: each for each in _compared(snapshot, summary)}
        for source in () if is_named else [*compared.values()]:
            if source.known is not None and source.change == "unchanged":
                summary.add(source, source.known.harness)
                del compared[source.file.path]
        files = [source.file for source in compared.values()]
        try:
            with (
                progress_bar("importing") as progress,
                closing(import_files(log, files, name=name, jobs=cores(), progress=progress)) as results,
            ):
                for each in results:
                    for session in each.sessions if is_named and not as_json else ():
                        print_imported(each.file.path, session)
                    _take(log, compared[each.file.path], each, summary, is_named=is_named)
            with log.snapshot() as snapshot:
                summary.known = reported_before(snapshot, summary.failed)
            if not is_named:
                keep_reported(log, summary.failed)
            _keep_heads(log, summary)
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
                f"{path}: the process that read it was killed; run sync again to continue"
            ) from None


def _take(
    log: StoredLog, source: SourceComparison, done: FileImport, summary: ImportSummary, *, is_named: bool
) -> None:
    """Count what a file brought; look at a named one's sessions that were there already."""
    from eventstore.harnesses import format_of

    if done.error is not None:
        summary.failed += _failures(log, source, done.error)
        return
    harness = format_of(done.sessions[0].format).name
    has_news = any(each.added or each.rewritten for each in done.sessions)
    summary.add(source, harness, done.sessions, has_news=has_news)
    if is_named:
        summary.sessions += done.sessions
        stored = [each.id for each in done.sessions if each.added < each.events]
        summary.failed += _damages(log, source.file, stored)


def _keep_heads(log: StoredLog, summary: ImportSummary) -> None:
    """Save the heads of all sessions beside a store in a folder.

    They alone show that events at the end of a session are gone, so if some are, the old heads stay.
    """
    from pathlib import Path

    from cli.output import echo_note
    from cli.whole_file import write_atomically
    from eventstore.errors import BadInputError
    from eventstore.verify import encode_heads, lost_heads, read_heads

    path = Path(f"{log.path}.heads")
    has_news = summary.count("new") + summary.count("changed") > 0
    if not Path(log.path).is_dir() or (path.exists() and not has_news):
        return
    try:
        saved = read_heads(path) if path.exists() else None
        with log.snapshot() as snapshot:
            heads = [*snapshot.heads()]
            versions = {each.name: each.version for each in heads}
            lost = [*lost_heads(snapshot, versions, saved.heads if saved else ())]
        if lost:
            first = f"session {lost[0].session}: {lost[0].problem}"
            echo_note(
                f"{first}; run refold verify --heads {path}, or remove that file after you restored a backup"
            )
        elif saved is None or saved.by != "backup":
            write_atomically(str(path), [encode_heads(heads, "sync")], option="verify --heads")
    except BadInputError as error:
        echo_note(str(error))
