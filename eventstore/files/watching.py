"""Import session files whenever they change.

The system reports changes in their folders. Where it does not, all files are looked at again and again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs
from watchfiles import watch

from eventstore.files.discovery import SessionFile
from eventstore.files.syncing import FileImport, compare_sources, import_files
from eventstore.harnesses.source import FollowedFiles
from eventstore.log import Progress, StoredLog

if TYPE_CHECKING:
    from watchfiles.main import FileChange

INTERVAL: Final = 0.5
"""Seconds between looks at folders that may appear, and at all files if they are polled."""
_ROUTINE: Final = 30.0
"""Seconds between two looks at all files although the system reports changes."""
_GATHERED: Final = 200
"""Milliseconds in which changes of a busy file are imported together."""
_QUIET: Final = 50
"""Milliseconds without another change after which changes are imported."""
_GRACE: Final = 2.0
"""Seconds in which the system may still report a change that a look has found."""
_SETTLED: Final = 3.0
"""Seconds after which an unreadable file is a problem: a new one has no whole line yet."""
_POLLING_SHARE: Final = 20
_ROUTINE_SHARE: Final = 200
_POLL_FACTOR: Final = 4
"""Multiples of a look's duration that must pass before the next, so that looks stay cheap."""


class NotificationsFailedError(Exception):
    """The system does not report changes of the folders."""


class Notifications:
    """Receive the system's reports of changes in folders.

    A folder may not exist yet, and may be replaced.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders
        self._followed: dict[str, tuple[int, int]] | None = None
        self._real: dict[str, str] = {}
        self._changes: Generator[set[FileChange], None, None] | None = None

    def wait(self) -> set[str] | None:
        """Wait at most `INTERVAL`; return the changed paths, None if any file may have changed.

        Raises NotificationsFailedError where only polling can find changes.
        """
        found = {folder: (status.st_dev, status.st_ino) for folder, status in _existing(self._folders)}
        is_followed = found == self._followed
        if not is_followed:
            self._follow(found)
        if self._changes is None:
            time.sleep(INTERVAL)
            return set() if is_followed else None
        try:
            changes = {self._as_named(path) for _, path in next(self._changes)}
        except FileNotFoundError:
            # A folder vanished before it was followed.
            self._followed = None
            return None
        except (OSError, RuntimeError) as error:
            raise NotificationsFailedError(str(error)) from error
        return changes if is_followed else None

    def close(self) -> None:
        """Stop following the folders."""
        if self._changes is not None:
            self._changes.close()
            self._changes = None

    def _follow(self, found: dict[str, tuple[int, int]]) -> None:
        self.close()
        self._followed = found
        # macOS reports changes by real paths.
        self._real = {os.path.realpath(folder): folder for folder in found}
        outer = [each for each in self._real if not any(map(self._real.__contains__, _parents(each)))]
        if not outer:
            return
        self._changes = watch(
            *outer,
            watch_filter=None,
            debounce=_GATHERED,
            step=_QUIET,
            rust_timeout=int(INTERVAL * 1000),
            yield_on_timeout=True,
            # Its polling overlooks a second change within a second.
            force_polling=False,
            ignore_permission_denied=True,
        )

    def _as_named(self, path: str) -> str:
        """Return a reported path as it is named in the folders."""
        for real in (path, *_parents(path)):
            if real in self._real:
                return self._real[real] + path[len(real) :]
        return path


def _existing(paths: Collection[str]) -> Iterator[tuple[str, os.stat_result]]:
    for path in paths:
        try:
            yield path, os.stat(path)  # noqa: PTH116  many a second
        except OSError:
            continue


def _parents(path: str) -> list[str]:
    return list(map(str, Path(path).parents))


class _Failure(msgspec.Struct):
    """A file that could not be imported.

    `since` is the time of the last attempt, by a monotonic clock.
    """

    result: FileImport
    since: float
    is_reported: bool


class Watcher:
    """Import session files whenever they change.

    `find` returns all files, parents before their children; `folders` are the places where it looks.
    `on_polling` is called with the reason if the system does not report changes, so that the watcher has to look
    at all files again and again; with `polls`, it does so from the beginning.
    """

    def __init__(
        self,
        log: StoredLog,
        find: Callable[[], list[SessionFile]],
        folders: Sequence[str],
        *,
        polls: bool = False,
        on_polling: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._log, self._find, self._on_polling = log, find, on_polling
        self._notifications = None if polls else Notifications(folders)
        self._files: dict[str, SessionFile] = {}
        self._failures: dict[str, _Failure] = {}
        self._followed = FollowedFiles()
        self._unreported: dict[str, float] = {}
        """Changed files that a look found before the system reported them, and the time then."""
        self._looked, self._duration, self._look_at = 0.0, 0.0, 0.0
        """The end of the last look at all files, its duration, and the time of the next."""
        self._pause = INTERVAL
        """Seconds between polls."""
        self._looks_due = 1
        """Looks to come that are no routine."""

    def sync(self, *, jobs: int = 1, progress: Progress = lambda *_: None) -> Iterator[FileImport]:
        """Import all files that changed since they were last imported; see `import_files`."""
        yield from self._look(set(), partial(import_files, jobs=jobs, progress=progress))

    def run(self) -> Generator[FileImport, None, None]:
        """Yield imports that had news, and each file that stays unreadable, until the caller stops.

        Raises StoreError.
        """
        try:
            while True:
                changed = self._wait()
                if changed is None or not changed <= self._files.keys():
                    # Look twice: files of a new folder may be written before the system follows it.
                    self._looks_due = 2
                    self._look_at = min(self._look_at, self._looked + self._duration * _POLL_FACTOR)
                if time.monotonic() >= self._look_at:
                    yield from self._look(changed or set())
                elif changed:
                    files = (self._files[each] for each in changed if each in self._files)
                    again = list(filter(None, map(_again, files)))
                    yield from self._imported(again, partial(import_files, followed=self._followed))
                yield from self._unreadable()
        finally:
            if self._notifications is not None:
                self._notifications.close()

    def _wait(self) -> set[str] | None:
        """Return the paths that changed; None if any file may have."""
        if self._notifications is None:
            return self._poll()
        try:
            changed = self._notifications.wait()
        except NotificationsFailedError as error:
            self._start_polling(str(error))
            return set()
        for path in changed or ():
            self._unreported.pop(path, None)
        late = [path for path, at in self._unreported.items() if time.monotonic() - at > _GRACE]
        if late:
            self._start_polling(f"a change of {late[0]} was not reported")
        return changed

    def _poll(self) -> set[str]:
        """Wait, and return the known files whose status has changed; only a look finds new ones."""
        time.sleep(self._pause)
        began = time.monotonic()
        changed = {
            path
            for path, status in _existing(self._files)
            if _change(status) != _change(self._files[path].status)
        }
        self._pause = max(INTERVAL, (time.monotonic() - began) * _POLL_FACTOR)
        return changed

    def _start_polling(self, reason: str) -> None:
        """Stop relying on the system's reports."""
        if self._notifications is not None:
            self._notifications.close()
            self._notifications = None
        self._look_at = 0.0
        self._on_polling(reason)

    def _look(
        self, reported: set[str], import_them: Callable[..., Iterator[FileImport]] = import_files
    ) -> Iterator[FileImport]:
        """Look at all files and import those that changed."""
        began = time.monotonic()
        # What changed in the middle of a followed file is found now.
        self._followed.clear()
        files = self._find()
        self._files = {each.path: each for each in files}
        self._failures = {path: each for path, each in self._failures.items() if path in self._files}
        with self._log.snapshot() as snapshot:
            compared = compare_sources(snapshot, files)
        changed = [
            each.file for each in compared if each.change != "unchanged" and self._is_worth_it(each.file)
        ]
        self._duration = time.monotonic() - began
        is_routine, self._looks_due = not self._looks_due, max(0, self._looks_due - 1)
        for each in self._imported(changed, import_them):
            if is_routine and self._notifications is not None and each.file.path not in reported:
                self._unreported[each.file.path] = time.monotonic()
            yield each
        self._looked = time.monotonic()
        if self._notifications is None:
            pause = max(INTERVAL, self._duration * _POLLING_SHARE)
        elif self._looks_due:
            pause = max(INTERVAL, self._duration * _POLL_FACTOR)
        else:
            pause = max(_ROUTINE, self._duration * _ROUTINE_SHARE)
        self._look_at = self._looked + pause

    def _is_worth_it(self, file: SessionFile) -> bool:
        """Return False for a file that could not be imported and has not changed since."""
        failure = self._failures.get(file.path)
        return failure is None or _change(failure.result.file.status) != _change(file.status)

    def _imported(
        self, files: list[SessionFile], import_them: Callable[..., Iterator[FileImport]] = import_files
    ) -> Iterator[FileImport]:
        """Import files, and yield those with news."""
        for each in import_them(self._log, files):
            path = each.file.path
            self._files[path] = each.file
            if each.error is None:
                self._failures.pop(path, None)
                if any(session.added or session.rewritten for session in each.sessions):
                    yield each
            elif os.path.lexists(path):
                before = self._failures.get(path)
                is_reported = before.is_reported if before else False
                self._failures[path] = _Failure(each, time.monotonic(), is_reported)

    def _unreadable(self) -> Iterator[FileImport]:
        """Yield the files that stay unreadable, each once."""
        settled = time.monotonic() - _SETTLED
        for each in self._failures.values():
            if not each.is_reported and each.since <= settled:
                each.is_reported = True
                yield each.result


def _again(file: SessionFile) -> SessionFile | None:
    """Return a file with its present status, None if it is gone."""
    return next((structs.replace(file, status=status) for _, status in _existing([file.path])), None)


def _change(status: os.stat_result) -> tuple[int, ...]:
    """Return the parts of a file's status that a change of contents or permissions changes."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
