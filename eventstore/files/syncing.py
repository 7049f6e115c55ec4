"""Import many files: skip unchanged ones, and parse the others in several processes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from functools import partial
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from eventstore.checked import checked
from eventstore.errors import BadInputError, RefoldError, StoreError
from eventstore.event import NewEvent
from eventstore.files.discovery import SessionFile, open_source
from eventstore.files.importing import ImportResult, import_sessions, opened_source
from eventstore.files.matching import FROM_START, SessionMatcher
from eventstore.harnesses.source import FollowedFiles, SourceGrowth, SourceRecord, one_by_one, source_path
from eventstore.log import AppendResult, EventLog, Progress, Snapshot, SourceState, StoredLog
from eventstore.memory import MemoryLog
from eventstore.workers import SendRequest, work_in_order, worker_store

Change: TypeAlias = Literal["new", "changed", "unchanged"]
_WORTH_A_PROCESS: Final = 16 << 20
"""Bytes of files that take longer to parse than a process takes to start."""


class SourceComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A file and its state when it was last imported, None if it never was."""

    file: SessionFile
    known: SourceState | None

    @property
    def change(self) -> Change:
        if self.known is None:
            return "new"
        return "unchanged" if self.known.matches(self.file.status) else "changed"


def compare_sources(snapshot: Snapshot, files: Iterable[SessionFile]) -> list[SourceComparison]:
    """Compare files with what a log remembers of them. No file is opened."""
    return [SourceComparison(file=each, known=snapshot.source(source_path(each.path))) for each in files]


def has_news(log: EventLog, source: SourceComparison) -> bool:
    """Return True if a file, were it imported, would count as new or changed.

    A file of another size than before counts without a look at its records. Raises BadInputError, CorruptionError.
    """
    with opened_source(source.file.path) as opened:
        contents = open_source(opened)
        if source.known is None or source.known.size != source.file.status.st_size:
            return True
        matcher = SessionMatcher(log, opened, contents, None)
        with checked(log) as snapshot:
            matcher.find(snapshot)
        return matcher.has_news()


class FileImport(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a file's sessions, or the error that kept the file from being imported."""

    file: SessionFile
    sessions: list[ImportResult] = []
    error: RefoldError | None = None


def import_files(
    log: StoredLog,
    files: Sequence[SessionFile],
    *,
    name: str | None = None,
    jobs: int = 1,
    progress: Progress = lambda *_: None,
    followed: FollowedFiles | None = None,
) -> Generator[FileImport, None, None]:
    """Import files; yield each result. For `followed` and `name`, see `import_sessions`.

    Up to `jobs` processes parse them, and this one writes. Files that may refer to each other are imported in the
    given order: those of one folder, and those that share a session or begin with the same record. Only the file
    that changed last, with those that it shares records with, comes after all others, so that its session is the
    most recently written one. Raises StoreError, and WorkerLostError if a process is killed; whatever was imported
    until then stays.
    """
    count = _ByteCount(files, progress)
    ties = {each.path: _ties(each.path) for each in files} if len(files) > 1 else {}
    files, last = _newest_apart(files, ties)
    if (jobs := min(jobs, count.total // _WORTH_A_PROCESS + 1)) > 1:
        queues = _queues(files, ties)
        if (jobs := min(jobs, len(queues))) > 1:
            with closing(_in_processes(log, queues, count, jobs=jobs)) as imported:
                yield from imported
            files = []
    for each in [*files, *last]:
        result = _imported(log, each, partial(count.advance, each.path), followed, name)
        count.finish(each)
        yield _unless_of_store(result)


def reported_before(snapshot: Snapshot, failed: Iterable[FileImport]) -> set[str]:
    """Return the files that failed with the same error and status when they were last reported."""
    return {
        each.file.path
        for each in failed
        if isinstance(each.error, BadInputError) and snapshot.derived(_report_key(each.file)) == _report(each)
    }


def is_reported(snapshot: Snapshot, file: SessionFile) -> bool:
    """Return True if a file was reported as unreadable, and has not changed since."""
    return (snapshot.derived(_report_key(file)) or b"").startswith(_status_digest(file))


def keep_reported(log: StoredLog, failed: Iterable[FileImport]) -> None:
    """Remember that these files were reported as unreadable."""
    log.keep((_report_key(each.file), _report(each)) for each in failed)


def _report_key(file: SessionFile) -> bytes:
    return b"unreadable " + sha256(source_path(file.path)).digest()


def _report(failed: FileImport) -> bytes:
    error = str(failed.error).encode("utf-8", "backslashreplace")
    return _status_digest(failed.file) + sha256(error).digest()


def _status_digest(file: SessionFile) -> bytes:
    status = file.status
    changes = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return sha256(repr(changes).encode()).digest()


def _newest_apart(
    files: Sequence[SessionFile], ties: Mapping[str, list[str]]
) -> tuple[list[SessionFile], list[SessionFile]]:
    """Return the other files, and the readable one that changed last with those tied to it."""
    readable = [each for each in reversed(files) if ties.get(each.path)]
    if not readable:
        return list(files), []
    newest = max(readable, key=lambda each: each.status.st_mtime_ns)
    first = _joined(ties.values())
    paths = {path for path, own in ties.items() if own and first(own[0]) == first(ties[newest.path][0])}
    return [each for each in files if each.path not in paths], [each for each in files if each.path in paths]


def _queues(files: Sequence[SessionFile], ties: Mapping[str, list[str]]) -> list[list[SessionFile]]:
    """Divide files into lists without references between them, the largest first."""
    first = _joined([(each.place, each.folder), *ties.get(each.path, ())] for each in files)
    queues: dict[Hashable, list[SessionFile]] = {}
    for each in files:
        queues.setdefault(first((each.place, each.folder)), []).append(each)
    # The largest first, so that no process works alone at the end.
    return sorted(queues.values(), key=lambda queue: -sum(each.status.st_size for each in queue))


def _joined(groups: Iterable[Sequence[Hashable]]) -> Callable[[Hashable], Hashable]:
    """Join the keys of each group; return a function that is equal for joined keys."""
    above: dict[Hashable, Hashable] = {}

    def first(key: Hashable) -> Hashable:
        while (next_above := above.setdefault(key, key)) != key:
            # Half the way for the next one, so that no chain of groups is walked along from each of its keys.
            above[key] = key = above[next_above]
        return key

    for group in groups:
        for key in group[1:]:
            above[first(key)] = first(group[0])
    return first


def _ties(path: str) -> list[str]:
    """Return what a file shares with related ones: its sessions, and the id of its first record.

    An unreadable file has none.
    """
    ties: list[str] = []
    # An unreadable file refers to none, and its import says what is wrong.
    with suppress(Exception), opened_source(path) as source:
        contents = open_source(source)
        ties += [each.name for each in contents.sessions]
        if contents.growth is not SourceGrowth.ROWS:
            reader = SessionMatcher(MemoryLog(), source, contents, None).reader(FROM_START)
            pieces = one_by_one(reader.pieces())
            ties += [next(piece.event.id for piece in pieces if isinstance(piece, SourceRecord))]
    return ties


class _ByteCount:
    """Report how many bytes of files are imported: of the finished ones, and of those at work."""

    def __init__(self, files: Sequence[SessionFile], progress: Progress) -> None:
        self.total = sum(each.status.st_size for each in files)
        self._progress, self._finished = progress, 0
        self._at_work: dict[str, int] = {}

    def advance(self, path: str, done: int, _total: int = 0) -> None:
        """Report that so many bytes of an unfinished file are read."""
        self._at_work[path] = done
        self._progress(min(self._finished + sum(self._at_work.values()), self.total), self.total)

    def add(self, path: str, more: int) -> None:
        """Report that so many more bytes of an unfinished file are read."""
        self.advance(path, self._at_work.get(path, 0) + more)

    def finish(self, file: SessionFile) -> None:
        self._at_work.pop(file.path, None)
        self._finished += file.status.st_size
        self._progress(min(self._finished, self.total), self.total)


def _imported(
    log: EventLog,
    file: SessionFile,
    progress: Progress = lambda *_: None,
    followed: FollowedFiles | None = None,
    name: str | None = None,
) -> FileImport:
    """Import a file; return any error instead of raising it."""
    try:
        sessions = import_sessions(log, file.path, name=name, progress=progress, followed=followed)
        return FileImport(file=file, sessions=sessions)
    except RefoldError as error:
        return FileImport(file=file, error=error)
    except Exception as error:  # noqa: BLE001  the other files must still be imported
        problem = f"cannot be imported because of a bug in refold ({type(error).__name__}: {error})"
        return FileImport(file=file, error=BadInputError(file.path, problem, "the other files are imported"))


def _unless_of_store(result: FileImport) -> FileImport:
    """Return the result of a file. Raises StoreError, which concerns all files."""
    if isinstance(result.error, StoreError):
        raise result.error
    return result


class _AppendRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of an append that another process asks for, and the file that it reads."""

    path: str
    session: str
    events: Sequence[NewEvent]
    options: dict[str, Any]


def _in_processes(
    log: StoredLog, queues: list[list[SessionFile]], count: _ByteCount, *, jobs: int
) -> Generator[FileImport, None, None]:
    """Yield the imports of files that other processes parse."""

    def append(request: _AppendRequest) -> AppendResult | RefoldError:
        try:
            done = log.append(request.session, request.events, **request.options)
        except StoreError:
            raise
        except RefoldError as error:
            return error
        count.add(request.path, sum(len(event.body) for event in request.events))
        return done

    work = partial(_import_in_process, log.path)
    with closing(work_in_order(work, queues, append, jobs=jobs)) as results:
        for file, result in results:
            count.finish(file)
            yield _unless_of_store(result)


def _import_in_process(store: str, file: SessionFile, send: SendRequest) -> FileImport:
    """Import a file of which another process appends the events."""
    try:
        log = _ForwardingLog(worker_store(store), file.path, send)
    except RefoldError as error:
        return FileImport(file=file, error=error)
    return _imported(log, file)


class _ForwardingLog:
    """An `EventLog` that reads a store, and has another process append to it."""

    def __init__(self, log: StoredLog, path: str, send: SendRequest) -> None:
        self._log, self._path, self._send = log, path, send

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return self._log.snapshot()

    def append(
        self, session: str, events: Sequence[NewEvent], *, blobs: Iterable[bytes] = (), **options: Any
    ) -> AppendResult:
        options["blobs"] = list(blobs)
        request = _AppendRequest(path=self._path, session=session, events=events, options=options)
        return cast("AppendResult", self._send(request))

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        """Cache nothing: an import computes no results."""

    def close(self) -> None:
        """Leave the store open for the next file."""
