"""Import a source: every record becomes an event, other bytes are stored with the import.

If a file has grown, only new records are added. A record that its harness changed is stored as an
observation. A file that contradicts most of what the log holds becomes another generation of the session.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from eventstore.append import check_events
from eventstore.checked import checked
from eventstore.errors import BadInputError, EventConflictError, VersionConflictError
from eventstore.files.batching import EventBatches
from eventstore.files.discovery import open_source
from eventstore.files.glue import SegmentWriter
from eventstore.files.matching import (
    FROM_START,
    NOTHING,
    ImportTarget,
    SessionMatcher,
)
from eventstore.files.settling import is_on_path, settle
from eventstore.harnesses import format_of
from eventstore.harnesses.refold.events import compose
from eventstore.harnesses.source import (
    FollowedFiles,
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    Tail,
)
from eventstore.imports import generation_link, generation_of, newest_import
from eventstore.log import EventLog, Progress, Snapshot, SourceState
from eventstore.records import (
    Import,
    Link,
    Remark,
    Resume,
    Segment,
    embed,
)

_PROGRESS_BYTES: Final = 64 << 10


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import; `earlier` is the previous generation if the file was rewritten.

    `events` is the number of records in the file, `added` the number of new ones, `rewritten` the number of
    known records that the harness changed. `diverged` means that the session grew in the store and the file
    elsewhere, so that the leaf is unchanged. `skipped` are lines without a record, or with a repeated one;
    `differs_from_harness` are those that the harness reads differently; `orphans` are records with a missing
    parent; `not_utf8` are records with invalid UTF-8, which contexts show as U+FFFD. `unknown` counts the records that
    are kept although refold does not know their type, by type. `inserted` are new entries that
    known ones follow: they become branches. `left` is the entry where the session stood, if the leaf is now on
    another branch and the file lacks that entry.
    """

    id: str
    earlier: str | None
    format: str
    events: int
    added: int
    rewritten: int
    diverged: bool
    skipped: list[Remark]
    differs_from_harness: list[Remark]
    orphans: list[Remark]
    not_utf8: list[Remark]
    unknown: dict[str, int] = {}
    inserted: list[Remark] = []
    left: str | None = None


def import_file(
    log: EventLog,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    progress: Progress = lambda *_: None,
) -> ImportResult:
    """Import a file with one session; skip what the log already has.

    `name` overrides the session id in the header. Raises BadInputError for a file that is no session, holds
    several, or cannot be read.
    """

    def check(source: Source, contents: SourceContents) -> None:
        if len(contents.sessions) != 1:
            problem = f"holds {len(contents.sessions):,} sessions"
            raise BadInputError(source.name, problem, "import them with 'refold sync FILE', then name one")

    return _import(log, path, check, name, progress)[0]


def import_sessions(
    log: EventLog,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    progress: Progress = lambda *_: None,
    followed: FollowedFiles | None = None,
    harness: str = "",
) -> list[ImportResult]:
    """Import all sessions of a file; see `import_file`. `name` needs a file with one session.

    `harness` probably wrote it: its reader is tried first, which saves loading the others.

    Of a file in `followed`, only both ends of what is known are read again, and what is new.

    The commit that completes the import also stores the file's state for `Snapshot.source`, but not with `name`:
    then the session by its own name may still be missing.
    """

    def check(source: Source, contents: SourceContents) -> None:
        if name is None:
            for session in contents.sessions:
                _check_name(source, session.name)
        elif len(contents.sessions) != 1:
            problem = f"holds {len(contents.sessions):,} sessions"
            raise BadInputError(source.name, problem, "import it without another name")

    return _import(log, path, check, name, progress, followed, harness)


def _import(  # noqa: PLR0917  its callers pass on what they were given
    log: EventLog,
    path: str | os.PathLike[str],
    check: Callable[[Source, SourceContents], None],
    name: str | None,
    progress: Progress,
    followed: FollowedFiles | None = None,
    harness: str = "",
) -> list[ImportResult]:
    def read() -> list[ImportResult]:
        with opened_source(path, followed) as source:
            contents = open_source(source, harness)
            check(source, contents)
            matching = SessionMatcher(log, source, contents, name, compares=any(conflict))
            return _Importing(log, source, contents, matching, progress).run()

    conflict = ("", "")
    while True:
        try:
            return read()
        except VersionConflictError:
            # Others appended to a session while its file, which may grow, was read here: read it anew.
            pass
        except EventConflictError as error:
            # The log has another record or link with this id: others stored it while this file was read, or a program
            # did before the last import. Now it is found in the log. A conflict that stays is an error.
            if conflict == (error.session, error.event_id):
                raise
            conflict = error.session, error.event_id


def _check_name(source: Source, name: str) -> None:
    """Raise BadInputError, with the file's name, for a session's name that no log can have."""
    try:
        check_events(name, ())
    except BadInputError as error:
        problem = f"{error.source}: {error.problem}"
        raise BadInputError(source.name, problem, "import it under another name") from None


@contextmanager
def opened_source(path: str | os.PathLike[str], followed: FollowedFiles | None = None) -> Iterator[Source]:
    """Open a session file for the block. Raises BadInputError if it is none or cannot be read."""
    source = os.fsencode(path).decode("utf-8", "replace")
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  the path may be one of bytes
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise BadInputError(source, "is not a regular file", "write it to a file first")
        with open(path, "rb") as file:
            opened = Source(file, path, source, followed)
            try:
                yield opened
            finally:
                opened.file.close()
    except IsADirectoryError:
        raise BadInputError(source, "is a folder", "name the session files in it") from None
    except FileNotFoundError:
        raise BadInputError(source, "the file does not exist", "check the path") from None
    except OSError as error:
        raise BadInputError(source, f"cannot be read ({error.strerror})", "check its permissions") from error


class _Digest:
    """SHA-256 of a source up to the read position: `of_all`; `of_lasting` omits its slot."""

    def __init__(self, source: Source, slot: int, resume: Resume, progress: Progress) -> None:
        self.offset, self._slot = resume.offset, slot
        self.of_lasting = source.digest_to(max(slot, self.offset), slot) if self.offset else sha256()
        self.of_all = source.digest_to(self.offset) if slot else self.of_lasting
        self._progress, self._size = progress, source.size
        self._reported = 0

    def update(self, data: bytes) -> None:
        """Add the next bytes of the source; now and then, report the progress."""
        self.of_all.update(data)
        if self._slot:
            self.of_lasting.update(data[max(0, self._slot - self.offset) :])
        self.offset += len(data)
        if self.offset - self._reported > _PROGRESS_BYTES:
            self._reported = self.offset
            self._progress(min(self.offset, self._size), self._size)


class _Importing:
    """One import of one open source. The first session keeps the bytes between all records."""

    def __init__(
        self,
        log: EventLog,
        source: Source,
        contents: SourceContents,
        matching: SessionMatcher,
        progress: Progress,
    ) -> None:
        self._log, self._source, self._contents, self._progress = log, source, contents, progress
        self._matching = matching
        self._path = str(Path(source.name).absolute())
        """The source's absolute path, as a session's head has it."""
        self._targets, self._main = self._matching.targets, self._matching.main
        self._has_bytes = self._matching.has_bytes
        self._batches = EventBatches(log, self._targets)

    def run(self) -> list[ImportResult]:
        """Import the source unless it is unchanged since the newest import."""
        with checked(self._log) as snapshot:
            self._matching.find(snapshot)
            is_unchanged = self._matching.is_unchanged()
            is_export = not is_unchanged and self._matching.is_export(snapshot, self._path)
        if is_export or is_unchanged:
            newest = None if is_export else self._main.newest
            self._remember(newest.resume if newest is not None else FROM_START)
            return [
                self._report(
                    each, _of_copy(each, each.newest) if is_export else each.newest, is_diverged=False
                )
                for each in self._targets
                if each.newest is not None
            ]
        continued = self._matching.continued
        if continued is None:
            return self._read(self._matching.resumed, continues=0)
        return self._read(continued.resume, continues=self._main.newest_seq)

    def _read(self, resume: Resume, *, continues: int) -> list[ImportResult]:
        """Read from where the last import ended, append what is new, record the import."""
        reader = self._matching.reader(resume)
        digest = _Digest(self._source, self._contents.slot, resume, self._progress)
        lines, tail = SegmentWriter(), SegmentWriter()
        segment, end = lines, None
        for piece in reader.pieces():
            if isinstance(piece, Tail):
                segment, end = tail, self._resume(reader, digest)
            else:
                digest.update(self._batches.take(piece, segment))
        if end is None:
            end = self._resume(reader, digest)
        for each in self._targets:
            line = resume.line if self._matching.continued is not None else reader.resumed(each.place)
            each.keep_remarks(line, self._contents.passing)
        orphans = [[*reader.orphans(each.place)] for each in self._targets]
        for each in self._targets:
            self._batches.append_rest(each, is_continued=self._matching.continued is not None)
        self._progress(self._source.size, self._source.size)
        (lines_segment, lines_glue), (tail_segment, tail_glue) = lines.finish(), tail.finish()
        head_segment, head_glue = self._changed_in_place(resume)
        main = Import(
            source_format=self._main.of.format,
            header=embed(self._main.of.header),
            records=reader.records(0),
            offset=resume.offset,
            size=digest.offset if self._has_bytes else 0,
            digest=digest.of_all.hexdigest(),
            lines=lines_segment if self._has_bytes else Segment(),
            tail=tail_segment if self._has_bytes else Segment(),
            resume=end,
            continues=continues,
            head=head_segment,
            skipped=self._main.skipped,
            differs_from_harness=self._main.differs,
            orphans=orphans[0],
            not_utf8=self._main.not_utf8,
            unknown=dict(reader.unknown(0)),
            sessions=[each.session for each in self._targets[1:]] if self._has_bytes else [],
            is_file=self._has_bytes,
            copy_of=self._main.of.name if self._main.of.name != self._main.base else "",
        )
        glue = [*head_glue, *lines_glue, *tail_glue] if self._has_bytes else []
        self._batches.append_elsewhere()
        # The first session's record completes the import, so it is appended after all others.
        reports = [
            self._conclude_other(each, main, reader, orphans[each.place]) for each in self._targets[1:]
        ]
        if not self._has_bytes and not _has_news(self._main):
            self._remember(end)
            return [self._report(self._main, self._main.newest or main, is_diverged=False), *reports]
        is_diverged = self._conclude(self._main, main, glue, self._state(end))
        return [self._report(self._main, main, is_diverged=is_diverged), *reports]

    def _remember(self, end: Resume) -> None:
        """Store the state of a source without news, unless it is known."""
        seen = self._state(end)
        with self._log.snapshot() as snapshot:
            is_known = seen is None or snapshot.source(seen.path) == seen
        if not is_known:
            self._log.append(self._main.session, (), seen=seen)

    def _state(self, end: Resume) -> SourceState | None:
        """Return the source's state when read up to `end`, None if it has another name here."""
        if not self._matching.is_by_its_name:
            return None
        return self._source.state(
            read=end.offset,
            harness=format_of(self._main.of.format).name,
            sessions=tuple(each.session for each in self._targets),
            # The status of a database's file does not tell of rows that are still in its journal.
            trusts_status=self._has_bytes,
        )

    def _changed_in_place(self, resume: Resume) -> tuple[Segment, list[bytes]]:
        """Return the source's slot as a segment, and the payloads that it names."""
        if not self._contents.slot or not resume.offset:
            return Segment(), []
        head = SegmentWriter()
        head.between(self._source.beginning()[: self._contents.slot])
        return head.finish()

    def _resume(self, reader: SessionReader, digest: _Digest) -> Resume:
        if self._contents.growth is SourceGrowth.REWRITTEN:
            return FROM_START
        if not self._has_bytes:
            return Resume(offset=0, digest=NOTHING, line=reader.line, state=reader.state)
        self._source.keep(digest.offset, {0: digest.of_all, self._contents.slot: digest.of_lasting})
        return Resume(
            offset=digest.offset, digest=digest.of_lasting.hexdigest(), line=reader.line, state=reader.state
        )

    def _conclude_other(
        self, target: ImportTarget, main: Import, reader: SessionReader, orphans: list[Remark]
    ) -> ImportResult:
        """Append an import record to another session than the first, if it has news."""
        record = msgspec.structs.replace(
            main,
            source_format=target.of.format,
            header=embed(target.of.header),
            records=reader.records(target.place),
            lines=Segment(),
            tail=Segment(),
            resume=FROM_START,
            continues=0,
            head=Segment(),
            skipped=target.skipped,
            differs_from_harness=target.differs,
            orphans=orphans,
            not_utf8=target.not_utf8,
            unknown=dict(reader.unknown(target.place)),
            sessions=[],
            kept_by=self._main.session if self._has_bytes else "",
        )
        is_diverged = _has_news(target) and self._conclude(target, record)
        return self._report(target, record, is_diverged=is_diverged)

    def _conclude(
        self,
        target: ImportTarget,
        record: Import,
        glue: Sequence[bytes] = (),
        seen: SourceState | None = None,
    ) -> bool:
        """Append observations and the import record with the source's state, and detect divergence."""
        rewritten = self._path if self._matching.continued is None else None
        # The same file may come again after another state of it; the previous import distinguishes them.
        behind = f"-{target.newest_seq}" if target.newest_seq else ""
        events = [
            *target.first,
            *target.observed,
            compose(record, id=f"import-{record.digest[:16]}{behind}", time=None),
        ]
        if target.before is not None and not target.newest_seq:
            link = Link(relation="generation", session=target.before)
            _, generation = generation_of(target.session)
            events.append(compose(link, id=generation_link(generation - 1), time=None))
        is_together = target.is_new or bool(target.first)
        while True:
            version, is_diverged, move = target.version, False, None
            if not is_together:
                with self._log.snapshot() as snapshot:
                    if self._is_overtaken(snapshot, target, record):
                        return False
                    version, is_diverged, move = settle(snapshot, target, record, rewritten)
            try:
                appended = self._log.append(
                    target.session,
                    [move, *events] if move else events,
                    expected=version,
                    blobs=glue,
                    source=self._path,
                    seen=seen,
                )
            except VersionConflictError:
                if is_together:
                    raise
                # Others appended meanwhile: find the leaf again.
                continue
            if is_together and not appended.added:
                # Others imported the same meanwhile.
                target.added = 0
            return is_diverged

    def _is_overtaken(self, snapshot: Snapshot, target: ImportTarget, record: Import) -> bool:
        """Return True if another import has read at least as much of the file meanwhile."""
        head = snapshot.head(target.session)
        if head.import_seq == target.newest_seq or head.source != self._path:
            return False
        newest = newest_import(snapshot, head)
        is_appended = self._contents.growth is SourceGrowth.APPENDED
        return is_appended and newest is not None and newest.size >= record.size

    def _report(self, target: ImportTarget, record: Import, *, is_diverged: bool) -> ImportResult:
        return ImportResult(
            id=target.session,
            earlier=target.before,
            format=record.source_format,
            events=record.records,
            added=target.added,
            rewritten=len(target.observed),
            diverged=is_diverged,
            skipped=record.skipped,
            differs_from_harness=record.differs_from_harness,
            orphans=record.orphans,
            not_utf8=record.not_utf8,
            unknown=record.unknown,
            inserted=[
                Remark(
                    line, f"{event_id!r} is not in the session, but later records are: it becomes a branch"
                )
                for event_id, line in target.shared.inserted.items()
                if target.added
            ],
            left=self._left(target) if not is_diverged else None,
        )

    def _left(self, target: ImportTarget) -> str | None:
        """Return the session's former position if the file lacks it and it is not above the leaf."""
        stood = target.shared.leaf
        if self._matching.continued is not None or stood is None:
            return None
        with self._log.snapshot() as snapshot:
            seq = snapshot.locate(target.session, stood)
            leaf = snapshot.head(target.session).leaf
            return None if is_on_path(snapshot, target.session, seq, leaf) else stood


def _of_copy(target: ImportTarget, newest: Import) -> Import:
    """Return what an import of a file with only known records would record."""
    return msgspec.structs.replace(
        newest,
        records=target.shared.same + len(target.shared.exported),
        skipped=[Remark(each.line, each.reason) for each in target.compared if each.what == "skipped"],
        differs_from_harness=[
            Remark(each.line, each.reason) for each in target.compared if each.what == "differs"
        ],
        orphans=[*target.parentless],
        not_utf8=[],
    )


def _has_news(target: ImportTarget) -> bool:
    """Return True if the session has news or was never imported."""
    return bool(target.appended or target.observed or target.newest is None)
