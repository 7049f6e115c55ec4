"""Import a source: every record becomes an event, other bytes are stored with the import.

If a file has grown, only new records are added. A record that its harness changed is stored as an
observation. A file that contradicts most of what the log holds becomes another generation of the session.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from heapq import heappop, heappush
from pathlib import Path
from typing import Final

import msgspec

from eventstore.append import check_events
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.event import Flag, NewEvent
from eventstore.files.discovery import open_source
from eventstore.files.glue import SegmentWriter
from eventstore.files.matching import BEGINNING, NOTHING, ImportTarget, SessionMatcher, Waiting
from eventstore.formats import format_of
from eventstore.formats.refold.events import compose
from eventstore.formats.source import (
    DerivedEvent,
    Glue,
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    SourceRecord,
    SourceRemark,
)
from eventstore.frame import decode, header_of
from eventstore.imports import generation_link, generations
from eventstore.kinds import is_entry
from eventstore.log import EventLog, Snapshot, SourceState
from eventstore.records import (
    FORMAT,
    Import,
    LeafMoved,
    Link,
    ObservedRewrite,
    Remark,
    Resume,
    Segment,
    embed,
)

BATCH_EVENTS: Final = 4096
BATCH_BYTES: Final = 16 << 20
"""Maximum bytes of an append's bodies, except for one large record."""
_SAYNOTHING: Final = frozenset({"label", "session_info"})
"""Kinds of refold's own entries that do not keep the leaf from following a grown file."""
_DIGEST_BYTES: Final = 64 << 10
_SHOWN_OTHERWISE: Final = "not UTF-8: contexts show U+FFFD in place of invalid bytes"

Progress = Callable[[int, int], None]
"""Called with the number of bytes read so far and the file's size."""


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import; `earlier` is the previous generation if the file was rewritten.

    `events` is the number of records in the file, `added` the number of new ones, `rewritten` the number of
    known records that the harness changed. `diverged` means that the session grew in the store and the file
    elsewhere, so that the leaf is unchanged. `skipped` are lines without a record, or with a repeated one;
    `differs_from_harness` are those that the harness reads differently; `orphans` are records with a missing
    parent; `not_utf8` are records with invalid UTF-8, which contexts show as U+FFFD.
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
    with opened_source(path) as source:
        contents = open_source(source)
        if len(contents.sessions) != 1:
            problem = f"holds {len(contents.sessions):,} sessions"
            raise BadInputError(source.name, problem, "import them with 'refold import', then name one")
        return _Importing(log, source, contents, name, progress).run()[0]


def import_sessions(
    log: EventLog,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    progress: Progress = lambda *_: None,
) -> list[ImportResult]:
    """Import all sessions of a file; see `import_file`. `name` needs a file with one session.

    The commit that completes the import also stores the file's state for `Snapshot.source`, but not with `name`:
    then the session by its own name may still be missing.
    """
    with opened_source(path) as source:
        contents = open_source(source)
        if name is None:
            for session in contents.sessions:
                _check_name(source, session.name)
        elif len(contents.sessions) != 1:
            problem = f"holds {len(contents.sessions):,} sessions"
            raise BadInputError(source.name, problem, "import it without another name")
        return _Importing(log, source, contents, name, progress).run()


def _check_name(source: Source, name: str) -> None:
    """Raise BadInputError, with the file's name, for a session's name that no log can have."""
    try:
        check_events(name, ())
    except BadInputError as error:
        problem = f"{error.source}: {error.problem}"
        raise BadInputError(source.name, problem, "import it under another name") from None


@contextmanager
def opened_source(path: str | os.PathLike[str]) -> Iterator[Source]:
    """Open a session file for the block. Raises BadInputError if it is none or cannot be read."""
    source = os.fsencode(path).decode("utf-8", "replace")
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  the path may be one of bytes
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise BadInputError(source, "is not a regular file", "write it to a file first")
        with open(path, "rb") as file:
            yield Source(file, path, source)
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
        self._ahead = bytearray()
        self._progress, self._size = progress, source.size

    def update(self, data: bytes) -> None:
        """Add the next bytes of the source."""
        self._ahead += data
        if len(self._ahead) > _DIGEST_BYTES:
            self.finish()

    def finish(self) -> None:
        """Digest the bytes that were added, and report the progress."""
        data = self._ahead
        self.of_all.update(data)
        if self._slot:
            self.of_lasting.update(data[max(0, self._slot - self.offset) :])
        self.offset += len(data)
        self._ahead = bytearray()
        self._progress(min(self.offset, self._size), self._size)


class _Importing:
    """One import of one open source. The first session keeps the bytes between all records."""

    def __init__(
        self, log: EventLog, source: Source, contents: SourceContents, name: str | None, progress: Progress
    ) -> None:
        self._log, self._source, self._contents, self._progress = log, source, contents, progress
        self._is_by_its_name = name is None
        self._matching = SessionMatcher(log, source, contents, name)
        self._targets, self._main = self._matching.targets, self._matching.main
        self._has_bytes = self._matching.has_bytes
        self._elsewhere: dict[str, dict[str, NewEvent]] = {}
        self._batched = 0
        self._batch_bytes = 0
        self._waited = 0

    def run(self) -> list[ImportResult]:
        """Import the source unless it is unchanged since the newest import."""
        with self._log.snapshot() as snapshot:
            self._matching.find(snapshot)
            is_unchanged = self._matching.is_unchanged()
            is_export = not is_unchanged and self._matching.is_export(snapshot, _path_of(self._source))
        if is_export or is_unchanged:
            newest = None if is_export else self._main.newest
            self._remember(newest.resume if newest is not None else BEGINNING)
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
        if self._matching.continued is not None:
            for each in self._targets:
                each.keep_remarks(resume, self._contents.passing)
        for piece in reader.pieces():
            if isinstance(piece, SourceRecord):
                self._take(piece, segment)
                digest.update(piece.event.body)
            elif isinstance(piece, Glue):
                data = piece.data
                segment.between(data)
                digest.update(data)
            elif isinstance(piece, SourceRemark):
                target = self._targets[piece.session]
                remarks = target.skipped if piece.what == "skipped" else target.differs
                remarks.append(Remark(piece.line, piece.reason))
            elif isinstance(piece, DerivedEvent):
                self._derive(piece, segment)
            else:
                segment, end = tail, self._resume(reader, digest)
        if end is None:
            end = self._resume(reader, digest)
        digest.finish()
        orphans = [self._orphans(each, reader) for each in self._targets]
        self._append_batches()
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
            sessions=[each.session for each in self._targets[1:]] if self._has_bytes else [],
            is_file=self._has_bytes,
            copy_of=self._main.of.name if self._main.of.name != self._main.base else "",
        )
        glue = [*head_glue, *lines_glue, *tail_glue] if self._has_bytes else []
        self._append_elsewhere()
        # The first session's record completes the import, so it is appended after all others.
        reports = [
            self._conclude_other(each, main, reader, orphans[each.place]) for each in self._targets[1:]
        ]
        if not self._has_bytes and not _is_new(self._main):
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
        if not self._is_by_its_name:
            return None
        return self._source.state(
            read=end.offset,
            harness=format_of(self._main.of.format).name,
            sessions=tuple(each.session for each in self._targets),
            # The status of a database's file does not tell of rows that are still in its journal.
            is_told_by_status=self._has_bytes,
        )

    def _changed_in_place(self, resume: Resume) -> tuple[Segment, list[bytes]]:
        """Return the source's slot, the position read by earlier imports, and the payloads it names."""
        if not self._contents.slot or not resume.offset:
            return Segment(), []
        head = SegmentWriter()
        head.between(self._source.beginning()[: self._contents.slot])
        return head.finish()

    def _resume(self, reader: SessionReader, digest: _Digest) -> Resume:
        if self._contents.growth is SourceGrowth.REWRITTEN:
            return BEGINNING
        if not self._has_bytes:
            return Resume(offset=0, digest=NOTHING, line=reader.line, state=reader.state)
        digest.finish()
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
            resume=BEGINNING,
            continues=0,
            head=Segment(),
            skipped=target.skipped,
            differs_from_harness=target.differs,
            orphans=orphans,
            not_utf8=target.not_utf8,
            sessions=[],
            kept_by=self._main.session if self._has_bytes else "",
        )
        is_diverged = _is_new(target) and self._conclude(target, record, [])
        return self._report(target, record, is_diverged=is_diverged)

    def _orphans(self, target: ImportTarget, reader: SessionReader) -> list[Remark]:
        """Return remarks on records with a missing parent, and store those that waited in vain."""
        orphans = [*reader.orphans(target.place)]
        while target.waiting:
            parent, waiting = next(iter(target.waiting.items()))
            # One by one: storing one record of a cycle gives the others their parents.
            _, segment, slot, record = waiting.pop(0)
            if not waiting:
                del target.waiting[parent]
            orphans.append((record.line, parent))
            flags = record.event.facts.flags | Flag.ORPHAN
            facts = msgspec.structs.replace(record.event.facts, flags=flags)
            target.held.discard(record.event.id)
            self._add(target, segment, slot, msgspec.structs.replace(record.event, parent=None, facts=facts))
            self._release(target, record.event.id)
        return [
            Remark(at, f"its parent {parent!r} is not in the file, so contexts start here")
            for at, parent in orphans
        ]

    def _take(self, record: SourceRecord, segment: SegmentWriter) -> None:
        """Handle a record: put a new one into a slot, keep a repeated or changed one as bytes."""
        target, event = self._targets[record.session], record.event
        event_id, shared = event.id, target.shared
        if event.facts.flags & Flag.REPLACED_TEXT:
            target.not_utf8.append(Remark(record.line, _SHOWN_OTHERWISE))
        if event_id in shared.changed:
            self._observe(target, event)
            segment.between(event.body)
        elif event_id in shared.exported:
            segment.between(event.body)
        elif record.waits_for or event.parent in target.held:
            self._wait(target, segment, segment.record(), record)
            return
        else:
            self._add(target, segment, segment.record(), event)
        if target.waiting:
            self._release(target, event_id)

    def _wait(self, target: ImportTarget, segment: SegmentWriter, slot: int, record: SourceRecord) -> None:
        """Keep a record until its parent is stored."""
        parent = record.waits_for or str(record.event.parent)
        self._waited += 1
        target.waiting.setdefault(parent, []).append(Waiting(self._waited, segment, slot, record))
        target.held.add(record.event.id)

    def _release(self, target: ImportTarget, parent: str) -> None:
        """Store the records that waited for a parent, and all below them, in their order."""
        ready = target.waiting.pop(parent, [])
        while ready:
            _, segment, slot, record = heappop(ready)
            target.held.discard(record.event.id)
            self._add(target, segment, slot, record.event)
            for each in target.waiting.pop(record.event.id, ()):
                heappush(ready, each)

    def _add(self, target: ImportTarget, segment: SegmentWriter, slot: int, event: NewEvent) -> None:
        target.batch.append((segment, slot, event))
        self._batched += 1
        self._batch_bytes += len(event.body)
        if self._batched >= BATCH_EVENTS or self._batch_bytes >= BATCH_BYTES:
            self._append_batches()

    def _derive(self, piece: DerivedEvent, segment: SegmentWriter) -> None:
        """Handle an event derived from the source, unless its session has one with that id."""
        target, event_id = self._targets[piece.session], piece.event.id
        if piece.into:
            self._elsewhere.setdefault(piece.into, {}).setdefault(event_id, piece.event)
        elif event_id not in target.derived and not self._is_there(target.session, piece.event):
            target.derived.add(event_id)
            if piece.waits_for or piece.event.parent in target.held:
                waiting = SourceRecord(piece.event, piece.session, waits_for=piece.waits_for)
                self._wait(target, segment, -1, waiting)
            else:
                self._add(target, segment, -1, piece.event)

    def _is_there(self, session: str, event: NewEvent) -> bool:
        with self._log.snapshot() as snapshot, suppress(NotFoundError):
            return snapshot.locate(session, event.id) > 0
        return False

    def _append_elsewhere(self) -> None:
        """Append derived events to other sources' sessions, if these are in the store."""
        for name, events in self._elsewhere.items():
            with self._log.snapshot() as snapshot:
                newest = generations(snapshot, name)[-1:]
            for head in newest:
                new = [each for each in events.values() if not self._is_there(head.name, each)]
                self._log.append(head.name, new)

    def _observe(self, target: ImportTarget, event: NewEvent) -> None:
        """Store the new version of a changed record beside the original event."""
        record = ObservedRewrite(target_id=event.id, record=embed(event.body))
        count = target.shared.changed[event.id] + 1
        target.observed.append(compose(record, id=f"observed-{event.id}-{count}", time=event.time))

    def _append_batches(self) -> None:
        for target in self._targets:
            if target.batch:
                self._append_batch(target)
        self._batched = self._batch_bytes = 0

    def _append_batch(self, target: ImportTarget) -> None:
        events = [event for _, _, event in target.batch]
        appended = self._log.append(target.session, events)
        if appended.added == len(events):
            first = appended.version - appended.added + 1
            numbers = list(range(first, appended.version + 1))
        else:
            with self._log.snapshot() as snapshot:
                numbers = [snapshot.locate(target.session, event.id) for event in events]
        earlier = appended.version - appended.added
        for (segment, slot, _), seq in zip(target.batch, numbers, strict=True):
            if slot >= 0:
                segment.number(slot, seq, target.place)
                target.added += seq > earlier
        target.appended += appended.added
        newest = (event.id for event in reversed(events) if is_entry(event.kind))
        target.newest_added = next(newest, target.newest_added)
        target.batch = []

    def _conclude(
        self, target: ImportTarget, record: Import, glue: list[bytes], seen: SourceState | None = None
    ) -> bool:
        """Append observations and the import record with the source's state, and detect divergence."""
        # The same file may come again after another state of it; the previous import distinguishes them.
        behind = f"-{target.newest_seq}" if target.newest_seq else ""
        events = [*target.observed, compose(record, id=f"import-{record.digest[:16]}{behind}", time=None)]
        if target.before is not None and not target.newest_seq:
            link = Link(relation="generation", session=target.before)
            generation = int(target.session.removeprefix(f"{target.base}~"))
            events.append(compose(link, id=generation_link(generation - 1), time=None))
        while True:
            version, is_diverged, move = self._move_back(target, record)
            try:
                self._log.append(
                    target.session,
                    [*events, *([move] if move else [])],
                    expected=version,
                    blobs=glue,
                    source=_path_of(self._source),
                    seen=seen,
                )
            except VersionConflictError:
                # Others appended meanwhile: find the session's own leaf again.
                continue
            return is_diverged

    def _move_back(self, target: ImportTarget, record: Import) -> tuple[int, bool, NewEvent | None]:
        """Return the session's version, True if it has diverged, and a move to its leaf."""
        with self._log.snapshot() as snapshot:
            try:
                head = snapshot.head(target.session)
            except NotFoundError:
                return 0, False, None
            stood = _own_leaf(snapshot, target) if target.newest_seq else None
            added = snapshot.locate(target.session, target.newest_added) if target.newest_added else 0
            if stood is None or not added or _is_on_path(snapshot, target.session, stood, added):
                return head.version, False, None
            is_behind = _is_on_path(snapshot, target.session, added, stood)
            if is_behind or head.leaf == stood:
                # The session grew while the file was read: its leaf is right.
                return head.version, not is_behind, None
            here = decode(snapshot.frame(target.session, stood), target.session)
            newest = decode(snapshot.frame(target.session, head.leaf), target.session)
        move = LeafMoved(from_id=newest.id)
        event_id = f"stayed-{record.digest[:16]}-{target.newest_seq}"
        return head.version, True, compose(move, id=event_id, time=newest.time, parent=here.id)

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
        )


def _path_of(source: Source) -> str:
    """Return a source's absolute path, as a session's head has it."""
    return str(Path(source.name).absolute())


def _of_copy(target: ImportTarget, newest: Import) -> Import:
    """Return what an import of a file with only known records would record."""
    known = target.shared.same + len(target.shared.exported)
    return msgspec.structs.replace(
        newest, records=known, skipped=[], differs_from_harness=[], orphans=[], not_utf8=[]
    )


def _is_new(target: ImportTarget) -> bool:
    """Return True if the session has news or was never imported."""
    return bool(target.appended or target.observed or target.newest is None)


def _is_on_path(snapshot: Snapshot, session: str, seq: int, leaf: int) -> bool:
    """Return True if an entry is on the path to a leaf."""
    # The path from the entry on begins with it, or further down if the entry is not on it.
    first = next(iter(snapshot.path(session, leaf, first=seq)), None)
    return first is not None and header_of(first).seq == seq


def _own_leaf(snapshot: Snapshot, target: ImportTarget) -> int | None:
    """Return the newest of the session's own meaningful entries since the last import."""
    newest = None
    for frame in snapshot.frames(target.session, first=target.newest_seq + 1, backward=True):
        event = decode(frame, target.session)
        if event.is_entry and event.format == FORMAT:
            newest = newest or event.seq
            if event.kind not in _SAYNOTHING:
                return newest
    return None
