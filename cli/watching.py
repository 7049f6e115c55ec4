"""Import sessions while their harnesses write them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from eventstore.files.discovery import SessionFile
    from eventstore.files.importing import ImportResult
    from eventstore.files.syncing import FileImport
    from eventstore.log import StoredLog

_FORCE_POLLING: Final = "WATCHFILES_FORCE_POLLING"
"""The environment variable that all programs built on watchfiles obey."""


def watch_files(ctx: click.Context, paths: Sequence[str], homes: Sequence[str], *, as_json: bool) -> None:
    """Import what is new in these paths, or in the usual places; go on until Ctrl-C or SIGTERM."""
    from cli.output import counted, echo_json, echo_note, echo_text, progress_bar
    from cli.store import opened
    from eventstore.files.discovery import session_places
    from eventstore.files.watching import Watcher
    from eventstore.harnesses import harnesses
    from eventstore.workers import cores

    named = [os.path.abspath(path) for path in paths]
    for path in paths:
        if not Path(path).exists():
            raise click.UsageError(f"--watch: {path} does not exist", ctx)
    readable = {each.name for each in harnesses()}
    usual = [each.folder for each in session_places(os.environ, homes) if each.harness in readable]
    folders = list(dict.fromkeys(named or usual))

    def on_polling(reason: str) -> None:
        echo_note(f"change notifications do not work here ({reason}): polling the files instead")

    polls = os.environ.get(_FORCE_POLLING, "").lower() not in {"", "false", "disable", "disabled"}
    with opened(ctx, create=True) as log, _ended_by_signals():
        watcher = Watcher(log, _finder(log, named, homes), folders, polls=polls, on_polling=on_polling)
        events, remarks = 0, _Remarks()
        with progress_bar("importing") as progress:
            for each in watcher.sync(jobs=cores(), progress=progress):
                events += sum(session.added for session in each.sessions)
                remarks.add(each)
                if as_json:
                    _print(each, as_json=True)
        remarks.print()
        if as_json:
            echo_json({"watching": folders})
        else:
            echo_text(f"imported {counted(events, 'event')}; watching for more (Ctrl-C ends)")
        sys.stdout.flush()
        with closing(watcher.run()) as found:
            for each in found:
                remarks.add(each)
                remarks.print()
                _print(each, as_json=as_json)
                sys.stdout.flush()


def _finder(log: StoredLog, named: Sequence[str], homes: Sequence[str]) -> Callable[[], list[SessionFile]]:
    """Return a function that finds the files in these paths, or in the usual places.

    Files that are new and of programs that refold asked are left out, unless they are named.
    """
    from eventstore.files.discovery import named_files, session_files
    from eventstore.files.syncing import compare_sources
    from eventstore.harnesses import harnesses
    from projections.asked import is_asked_file

    readable = {each.name for each in harnesses()}
    asked: dict[str, bool] = {}

    def is_asked(file: SessionFile) -> bool:
        if file.path not in asked and file.status.st_size:
            asked[file.path] = is_asked_file(file)
        return asked.get(file.path, False)

    def find() -> list[SessionFile]:
        if named:
            files = [file for path in named for file in named_files(path)]
        else:
            files = [file for file in session_files(os.environ, homes) if file.harness in readable]
        with log.snapshot() as snapshot:
            compared = compare_sources(snapshot, files)
        return [
            each.file
            for each in compared
            if each.known is not None or each.file.path == each.file.place or not is_asked(each.file)
        ]

    return find


class _Remarks:
    """Collect the remarks on the files' lines, to print each once until it changes."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], list[str]] = {}
        self._new: list[tuple[str, ImportResult]] = []

    def add(self, imported: FileImport) -> None:
        """Keep what was not said before; a record that is still being written is no problem."""
        import msgspec

        from cli.store import remarks_on
        from eventstore.harnesses.lines import TORN

        path = imported.file.path
        for session in imported.sessions:
            skipped = [each for each in session.skipped if each.reason != TORN]
            whole = msgspec.structs.replace(session, skipped=skipped)
            facts = remarks_on(whole)
            is_news = session.inserted or session.left or facts != self._said.get((path, session.id))
            if facts and is_news:
                self._new.append((path, whole))
            self._said[path, session.id] = facts

    def print(self) -> None:
        """Print a line on stderr for each session with new remarks."""
        from cli.store import note_remarks_of_many

        note_remarks_of_many(self._new)
        self._new = []


def _print(imported: FileImport, *, as_json: bool) -> None:
    """Print a line for each session with news of a file, or for the file's error."""
    from cli.output import counted, echo_json, echo_problem, echo_text, safe_line
    from cli.views.imports import problem_text
    from eventstore.harnesses import format_of

    if imported.error is not None:
        echo_problem(problem_text(imported))
    for each in imported.sessions:
        if not each.added and not each.rewritten:
            continue
        harness, path = format_of(each.format).name, imported.file.path
        if as_json:
            news = {"added": each.added, "rewritten": each.rewritten}
            echo_json({"session": each.id, "harness": harness, **news, "file": path})
            continue
        facts = [counted(each.added, "new event")] if each.added else []
        facts += [f"{each.rewritten:,} changed by the harness"] if each.rewritten else []
        echo_text(f"{safe_line(each.id)}  {harness}  {', '.join(facts)}  {safe_line(path)}")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End the block without an error on Ctrl-C, and on SIGTERM, by which services are stopped."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            # A terminal shows ^C at the cursor.
            sys.stderr.write("\n")
    finally:
        signal.signal(signal.SIGTERM, before)
