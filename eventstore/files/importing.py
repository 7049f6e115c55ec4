"""Taking a source of sessions into a log: every record an event, every other byte kept with the import.

A file that grew adds what is new; a record that its harness changed is observed; a file that says otherwise
of most of what the log holds becomes another generation of the session, beside the first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.event import Flag, NewEvent
from eventstore.files.discovery import open_source
from eventstore.files.glue import SegmentWriter
from eventstore.files.sources import (
    Comparing,
    Comparison,
    earlier_generation,
    generation_link,
    generations,
    import_parts,
    new_generation,
    newest_import,
)
from eventstore.formats import format_of
from eventstore.formats.refold.events import compose
from eventstore.formats.source import (
    Contents,
    Derived,
    Glue,
    Growth,
    Reader,
    Record,
    Remarked,
    Source,
    SourceSession,
)
from eventstore.frame import body_of, decode, header_of
from eventstore.kinds import is_entry
from eventstore.log import EventLog, Head, Snapshot
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
"""An append holds at most this many events and, one record aside, this many bytes of bodies."""
_NOTHING: Final = sha256().hexdigest()
_BEGINNING: Final = Resume(offset=0, digest=_NOTHING, line=1)
_NOTHING_SHARED: Final = Comparison(same=0, exported=frozenset(), changed={}, new=0)
_SAY_NOTHING: Final = frozenset({"label", "session_info"})
"""Kinds of our own entries that do not keep the leaf from following a file that grew."""
_SHOWN_OTHERWISE: Final = "not UTF-8: contexts show U+FFFD in place of what cannot be read"

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the file's size."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did: `earlier` is the generation before this one, where the file is one that was written anew.

    `events` is the number of records that the file holds, `added` how many were new.

    `rewritten` counts known records that their harness has changed. `diverged`: the session had grown here
    and the file elsewhere, so the leaf stays where it was. `skipped` is what of the file is no record, or
    repeats one; `differs_from_harness` where its harness reads other than refold does; `orphans` are records
    whose parent the file does not have; `not_utf8` records with bytes that are no UTF-8, which contexts show
    as U+FFFD.
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
) -> Imported:
    """Import a file that holds one session of a harness; what the log has already is not added again.

    `name` takes it as another session than its header says. Raises BadInputError for what is no session
    file, holds several, or cannot be read.
    """
    with _opened(path) as source:
        contents = open_source(source)
        if len(contents.sessions) != 1:
            problem = f"holds {len(contents.sessions):,} sessions"
            raise BadInputError(source.name, problem, "take them in with refold import, then name one")
        return _Importing(log, source, contents, name, progress).run()[0]


def import_sessions(
    log: EventLog,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    progress: Progress = lambda *_: None,
) -> list[Imported]:
    """Import all sessions of a file; see `import_file`. `name` is for a file with one of them."""
    with _opened(path) as source:
        contents = open_source(source)
        if name is not None and len(contents.sessions) != 1:
            problem = f"holds {len(contents.sessions):,} sessions"
            raise BadInputError(source.name, problem, "take it in without another name")
        return _Importing(log, source, contents, name, progress).run()


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Source]:
    source = os.fsencode(path).decode("utf-8", "replace")
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  the path may be one of bytes
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise BadInputError(source, "is no regular file", "write it to a file first")
        with open(path, "rb") as file:
            yield Source(file, path, source)
    except IsADirectoryError:
        raise BadInputError(source, "is a folder", "name the session files in it") from None
    except FileNotFoundError:
        raise BadInputError(source, "there is no such file", "check the path") from None
    except OSError as error:
        raise BadInputError(source, f"cannot be read ({error.strerror})", "check its permissions") from error


class _Target:
    """A session of the source, and the one in the log that it goes into."""

    def __init__(self, place: int, of: SourceSession, base: str) -> None:
        self.place, self.of, self.base = place, of, base
        self.session = base
        self.newest: Import | None = None
        self.newest_seq = 0
        self.before: str | None = None
        self.shared = _NOTHING_SHARED
        self.batch: list[tuple[SegmentWriter, int, NewEvent]] = []
        self.added = 0
        self.newest_added = ""
        self.observed: list[NewEvent] = []
        self.skipped: list[Remark] = []
        self.differs: list[Remark] = []
        self.not_utf8: list[Remark] = []
        self.waiting: dict[str, list[tuple[SegmentWriter, int, Record]]] = {}
        self.held = set[str]()

    def go_on(self, head: Head, snapshot: Snapshot, shared: Comparison, before: str | None) -> None:
        """Take the session of a head for the source's."""
        self.session, self.newest_seq = head.name, head.import_seq
        self.newest = newest_import(snapshot, head)
        self.shared = shared
        self.before = before if head.name != self.base else None

    def begin(self, snapshot: Snapshot, before: str | None) -> None:
        """Take a session that is not there yet."""
        self.session, self.before = new_generation(snapshot, self.base), before

    def keep_remarks(self, resume: Resume, passing: frozenset[str]) -> None:
        """Take over what the import before remarked on lines that are not read again."""
        if self.newest is not None:
            self.skipped, self.differs, self.not_utf8 = (
                [each for each in some if each.line < resume.line and each.reason not in passing]
                for some in (self.newest.skipped, self.newest.differs_from_harness, self.newest.not_utf8)
            )


class _KnownParts:
    """What the log holds of the parts of a source that are not read again."""

    def __init__(self, log: EventLog, targets: list[_Target], continued: Import | None) -> None:
        self._log, self._targets, self._continued = log, targets, continued
        self._runs: list[tuple[int, int, int]] | None = None

    def has(self, session: int, event_id: str) -> bool:
        if self._continued is None or not self._targets[session].newest_seq:
            return False
        with self._log.snapshot() as snapshot:
            return snapshot.locate(self._targets[session].session, event_id) > 0

    def body(self, session: int, event_id: str) -> bytes | None:
        target = self._targets[session]
        if self._continued is None or not target.newest_seq:
            return None
        with self._log.snapshot() as snapshot:
            seq = snapshot.locate(target.session, event_id)
            if seq and self._runs is None:
                self._runs = list(self._read_before(snapshot, self._continued))
            if not any(
                place == session and first <= seq < first + count for place, first, count in self._runs or ()
            ):
                return None
            return bytes(body_of(snapshot.frame(target.session, seq)))

    def _read_before(self, snapshot: Snapshot, continued: Import) -> Iterator[tuple[int, int, int]]:
        """Yield the runs of records in those parts, each with the place of its session in the source."""
        places = {target.session: target.place for target in self._targets}
        main = self._targets[0].session
        for part in import_parts(snapshot, main, continued):
            sessions = [main, *part.sessions]
            which = part.lines.sessions or [0] * len(part.lines.records)
            for at, (first, count) in zip(which, part.lines.records, strict=True):
                yield places.get(sessions[at], -1), first, count


class _Importing:
    """One import of one open source. The first of its sessions keeps the bytes between the records of all."""

    def __init__(
        self, log: EventLog, source: Source, contents: Contents, name: str | None, progress: Progress
    ) -> None:
        self._log, self._source, self._contents, self._progress = log, source, contents, progress
        self._targets = [
            _Target(place, each, name or each.name) for place, each in enumerate(contents.sessions)
        ]
        self._main = self._targets[0]
        self._has_bytes = contents.growth is not Growth.ROWS
        self._continued: Import | None = None
        self._resumed = _BEGINNING
        self._batched = 0
        self._batch_bytes = 0

    def run(self) -> list[Imported]:
        """Import the source, unless it is as it was at the newest import."""
        with self._log.snapshot() as snapshot:
            self._find_sessions(snapshot)
        if self._is_unchanged():
            return [
                self._report(each, each.newest, is_diverged=False)
                for each in self._targets
                if each.newest is not None
            ]
        if self._continued is None:
            return self._read(self._resumed, continues=0)
        return self._read(self._continued.resume, continues=self._main.newest_seq)

    def _is_unchanged(self) -> bool:
        if any(each.newest is None for each in self._targets):
            return False
        if not self._has_bytes:
            return not any(each.shared.new or each.shared.changed for each in self._targets)
        return self._is_read(self._main.newest)

    def _is_read(self, newest: Import | None) -> bool:
        """Return True if the file is, byte for byte, what an import read."""
        return (
            newest is not None
            and newest.size == self._source.size
            and self._source.digest_to(newest.size).hexdigest() == newest.digest
        )

    def _find_sessions(self, snapshot: Snapshot) -> None:
        """Find the session in the log for each of the source's, and the import that it goes on from."""
        known = [generations(snapshot, each.base) for each in self._targets]
        if self._contents.growth is Growth.APPENDED:
            for head in reversed(known[0]):
                newest = newest_import(snapshot, head)
                if newest is not None and self._begins_as(newest):
                    self._continue(snapshot, head, newest, known)
                    return
        elif self._contents.growth is Growth.ROWS:
            self._resumed = self._watermark(snapshot, known[0])
            self._keep(snapshot, known)
            return
        else:
            # What is written anew may be as it was.
            for head in reversed(known[0]):
                newest = newest_import(snapshot, head)
                if newest is not None and self._is_read(newest):
                    self._stay(snapshot, head, known)
                    return
        shared = self._compare(snapshot, _BEGINNING, known)
        for each, heads in zip(self._targets, known, strict=True):
            self._choose(snapshot, each, heads, shared)

    def _watermark(self, snapshot: Snapshot, heads: list[Head]) -> Resume:
        """Return where an earlier reading of a database ended; its format knows what that means."""
        newest = newest_import(snapshot, heads[-1]) if heads else None
        return _BEGINNING if newest is None or newest.is_file else newest.resume

    def _begins_as(self, newest: Import) -> bool:
        """Return True if the file begins with what an import read, but for a torn record at its end."""
        size, digest = newest.resume.offset, newest.resume.digest
        if newest.tail.records:
            size, digest = newest.size, newest.digest
        return size <= self._source.size and self._source.digest_to(size).hexdigest() == digest

    def _continue(self, snapshot: Snapshot, head: Head, newest: Import, known: list[list[Head]]) -> None:
        """Go on from an import of the first session, and of the others with it."""
        self._continued = newest
        self._stay(snapshot, head, known)
        self._compare_chosen(snapshot, newest.resume, known)

    def _keep(self, snapshot: Snapshot, known: list[list[Head]]) -> None:
        """Take the newest generation of each session: rows change in place, and never make another."""
        for each, heads in zip(self._targets, known, strict=True):
            if heads:
                before = earlier_generation(snapshot, heads[-1].name)
                each.go_on(heads[-1], snapshot, _NOTHING_SHARED, before)
        self._compare_chosen(snapshot, self._resumed, known)

    def _compare_chosen(self, snapshot: Snapshot, resume: Resume, known: list[list[Head]]) -> None:
        """Compare the records from a place on with the sessions that have been taken."""
        chosen = [
            [each for each in heads if each.name == target.session]
            for target, heads in zip(self._targets, known, strict=True)
        ]
        shared = self._compare(snapshot, resume, chosen)
        for each in self._targets:
            each.shared = shared.get((each.place, each.session), _NOTHING_SHARED)

    def _stay(self, snapshot: Snapshot, head: Head, known: list[list[Head]]) -> None:
        """Take the sessions of the newest import of the first session, whose head is given."""
        self._main.go_on(head, snapshot, _NOTHING_SHARED, earlier_generation(snapshot, head.name))
        for each, heads in zip(self._targets[1:], known[1:], strict=True):
            for other in reversed(heads):
                newest = newest_import(snapshot, other)
                if newest is not None and newest.kept_by == head.name:
                    each.go_on(other, snapshot, _NOTHING_SHARED, earlier_generation(snapshot, other.name))
                    break
            else:
                each.begin(snapshot, heads[-1].name if heads else None)

    def _choose(
        self,
        snapshot: Snapshot,
        target: _Target,
        heads: list[Head],
        shared: dict[tuple[int, str], Comparison],
    ) -> None:
        """Take the newest session that agrees with the source's records, or else a new one."""
        whole = [head.name for head in heads if head.name == target.base or head.import_seq]
        for head in reversed(heads):
            found = shared[target.place, head.name]
            if self._contents.is_mutable or found.is_of_session:
                before = earlier_generation(snapshot, head.name) or whole[-1]
                target.go_on(head, snapshot, found, before)
                return
        target.begin(snapshot, whole[-1] if whole else None)

    def _compare(
        self, snapshot: Snapshot, resume: Resume, candidates: list[list[Head]]
    ) -> dict[tuple[int, str], Comparison]:
        """Return the comparisons of the source's records with sessions that may be theirs, by place and name."""
        comparing = [[(head.name, Comparing(snapshot, head.name)) for head in heads] for heads in candidates]
        if not any(comparing):
            return {}
        for piece in self._reader(resume).pieces():
            if isinstance(piece, Record):
                is_exported = format_of(piece.event.format).is_exported
                for _, each in comparing[piece.session]:
                    each.add(piece.event, is_exported)
        return {
            (place, name): each.result for place, several in enumerate(comparing) for name, each in several
        }

    def _reader(self, resume: Resume) -> Reader:
        continued = self._continued if self._has_bytes else self._main.newest
        return self._contents.read(resume, _KnownParts(self._log, self._targets, continued))

    def _read(self, resume: Resume, *, continues: int) -> list[Imported]:
        """Read the source from where the import before it ended, append what is new, and record what was read."""
        reader, digest = self._reader(resume), self._source.digest_to(resume.offset)
        offset = resume.offset
        lines, tail = SegmentWriter(), SegmentWriter()
        segment, end = lines, None
        if self._continued is not None:
            for each in self._targets:
                each.keep_remarks(resume, self._contents.passing)
        for piece in reader.pieces():
            if isinstance(piece, Record):
                self._take(piece, segment)
                digest.update(piece.event.body)
                offset += len(piece.event.body)
            elif isinstance(piece, Glue):
                segment.between(piece.data)
                digest.update(piece.data)
                offset += len(piece.data)
                self._progress(offset, self._source.size)
            elif isinstance(piece, Remarked):
                target = self._targets[piece.session]
                remarks = target.skipped if piece.what == "skipped" else target.differs
                remarks.append(Remark(piece.line, piece.reason))
            elif isinstance(piece, Derived):
                self._add(self._targets[piece.session], segment, -1, piece.event)
            else:
                segment, end = tail, self._resume(reader, offset, digest.hexdigest())
        if end is None:
            end = self._resume(reader, offset, digest.hexdigest())
        orphans = [self._orphans(each, reader) for each in self._targets]
        self._append_batches()
        self._progress(self._source.size, self._source.size)
        (lines_segment, lines_glue), (tail_segment, tail_glue) = lines.finish(), tail.finish()
        main = Import(
            source_format=self._main.of.format,
            header=embed(self._main.of.header),
            records=reader.records(0),
            offset=resume.offset,
            size=offset if self._has_bytes else 0,
            digest=digest.hexdigest(),
            lines=lines_segment if self._has_bytes else Segment(),
            tail=tail_segment if self._has_bytes else Segment(),
            resume=end,
            continues=continues,
            skipped=self._main.skipped,
            differs_from_harness=self._main.differs,
            orphans=orphans[0],
            not_utf8=self._main.not_utf8,
            sessions=[each.session for each in self._targets[1:]] if self._has_bytes else [],
            is_file=self._has_bytes,
        )
        glue = [*lines_glue, *tail_glue] if self._has_bytes else []
        # The first session's record says that the source has been read: it comes when all others are there.
        reports = [
            self._conclude_other(each, main, reader, orphans[each.place]) for each in self._targets[1:]
        ]
        if not self._has_bytes and not _is_new(self._main):
            return [self._report(self._main, self._main.newest or main, is_diverged=False), *reports]
        is_diverged = self._conclude(self._main, main, glue)
        return [self._report(self._main, main, is_diverged=is_diverged), *reports]

    def _resume(self, reader: Reader, offset: int, digest: str) -> Resume:
        if self._contents.growth is Growth.REWRITTEN:
            return _BEGINNING
        if not self._has_bytes:
            return Resume(offset=0, digest=_NOTHING, line=reader.line, state=reader.state)
        return Resume(offset=offset, digest=digest, line=reader.line, state=reader.state)

    def _conclude_other(
        self, target: _Target, main: Import, reader: Reader, orphans: list[Remark]
    ) -> Imported:
        """Append the record of an import of another session than the first, if it brought anything."""
        record = msgspec.structs.replace(
            main,
            source_format=target.of.format,
            header=embed(target.of.header),
            records=reader.records(target.place),
            lines=Segment(),
            tail=Segment(),
            resume=_BEGINNING,
            continues=0,
            skipped=target.skipped,
            differs_from_harness=target.differs,
            orphans=orphans,
            not_utf8=target.not_utf8,
            sessions=[],
            kept_by=self._main.session if self._has_bytes else "",
        )
        is_diverged = _is_new(target) and self._conclude(target, record, [])
        return self._report(target, record, is_diverged=is_diverged)

    def _orphans(self, target: _Target, reader: Reader) -> list[Remark]:
        """Return remarks on records without a parent; those whose parent has not come after all are stored now."""
        orphans = [*reader.orphans(target.place)]
        while target.waiting:
            parent, waiting = next(iter(target.waiting.items()))
            # One by one: of records that wait for each other, the others have their parents then.
            segment, slot, record = waiting.pop(0)
            if not waiting:
                del target.waiting[parent]
            orphans.append((record.line, parent))
            flags = record.event.facts.flags | Flag.ORPHAN
            facts = msgspec.structs.replace(record.event.facts, flags=flags)
            target.held.discard(record.event.id)
            self._add(target, segment, slot, msgspec.structs.replace(record.event, parent=None, facts=facts))
            self._release(target, record.event.id)
        return [
            Remark(at, f"its parent {parent!r} is not in the file: contexts below it begin there")
            for at, parent in orphans
        ]

    def _take(self, record: Record, segment: SegmentWriter) -> None:
        """Take a record at its place: a new one into a slot, one that the session has or has otherwise as bytes."""
        target, event = self._targets[record.session], record.event
        if not _is_utf8(event.body):
            target.not_utf8.append(Remark(record.line, _SHOWN_OTHERWISE))
        if event.id in target.shared.changed:
            self._observe(target, event)
            segment.between(event.body)
        elif event.id in target.shared.exported:
            segment.between(event.body)
        elif record.waits_for or event.parent in target.held:
            parent = record.waits_for or str(event.parent)
            target.waiting.setdefault(parent, []).append((segment, segment.record(), record))
            target.held.add(event.id)
            return
        else:
            self._add(target, segment, segment.record(), event)
        self._release(target, event.id)

    def _release(self, target: _Target, parent: str) -> None:
        """Store the records that have waited for a parent, and those that have waited for them."""
        ready = target.waiting.pop(parent, [])
        while ready:
            segment, slot, record = ready.pop(0)
            target.held.discard(record.event.id)
            self._add(target, segment, slot, record.event)
            ready[:0] = target.waiting.pop(record.event.id, [])

    def _add(self, target: _Target, segment: SegmentWriter, slot: int, event: NewEvent) -> None:
        target.batch.append((segment, slot, event))
        self._batched += 1
        self._batch_bytes += len(event.body)
        if self._batched >= BATCH_EVENTS or self._batch_bytes >= BATCH_BYTES:
            self._append_batches()

    def _observe(self, target: _Target, event: NewEvent) -> None:
        """A known record is another now: it is kept as it came, beside the event that had it before."""
        record = ObservedRewrite(target_id=event.id, record=embed(event.body))
        count = target.shared.changed[event.id] + 1
        target.observed.append(compose(record, id=f"observed-{event.id}-{count}", time=event.time))

    def _append_batches(self) -> None:
        for target in self._targets:
            if target.batch:
                self._append_batch(target)
        self._batched = self._batch_bytes = 0

    def _append_batch(self, target: _Target) -> None:
        events = [event for _, _, event in target.batch]
        appended = self._log.append(target.session, events)
        if appended.added == len(events):
            first = appended.version - appended.added + 1
            numbers = list(range(first, appended.version + 1))
        else:
            with self._log.snapshot() as snapshot:
                numbers = [snapshot.locate(target.session, event.id) for event in events]
        for (segment, slot, _), seq in zip(target.batch, numbers, strict=True):
            if slot >= 0:
                segment.number(slot, seq, target.place)
        target.added += appended.added
        newest = (event.id for event in reversed(events) if is_entry(event.kind))
        target.newest_added = next(newest, target.newest_added)
        target.batch = []

    def _conclude(self, target: _Target, record: Import, glue: list[bytes]) -> bool:
        """Append what the import observed and the import itself; and whether session and file have diverged."""
        # The same file may come again after another state of it: the import before tells the two apart.
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
                    source=str(Path(self._source.name).absolute()),
                )
            except VersionConflictError:
                # Somebody appended meanwhile: where the session stands by itself is to be seen again.
                continue
            return is_diverged

    def _move_back(self, target: _Target, record: Import) -> tuple[int, bool, NewEvent | None]:
        """The session's version, whether it and the file have diverged, and the move that keeps its leaf if need be."""
        with self._log.snapshot() as snapshot:
            try:
                head = snapshot.head(target.session)
            except NotFoundError:
                return 0, False, None
            stood = _own_leaf(snapshot, target) if target.newest_seq else None
            added = snapshot.locate(target.session, target.newest_added) if target.newest_added else 0
            if stood is None or not added or stood in _path(snapshot, target.session, added):
                return head.version, False, None
            if head.leaf == stood or added in _path(snapshot, target.session, stood):
                # The session went on while the file was read: it stands where it should.
                return head.version, added not in _path(snapshot, target.session, stood), None
            here = decode(snapshot.frame(target.session, stood), target.session)
            newest = decode(snapshot.frame(target.session, head.leaf), target.session)
        move = LeafMoved(from_id=newest.id)
        event_id = f"stayed-{record.digest[:16]}-{target.newest_seq}"
        return head.version, True, compose(move, id=event_id, time=newest.time, parent=here.id)

    def _report(self, target: _Target, record: Import, *, is_diverged: bool) -> Imported:
        return Imported(
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


def _is_new(target: _Target) -> bool:
    """Return True if the session has something new, or was never imported."""
    return bool(target.added or target.observed or target.newest is None)


def _path(snapshot: Snapshot, session: str, leaf: int) -> set[int]:
    return {header_of(frame).seq for frame in snapshot.path(session, leaf)}


def _own_leaf(snapshot: Snapshot, target: _Target) -> int | None:
    """The newest entry of the session's own since the import before, if any of them says something."""
    newest = None
    for frame in snapshot.frames(target.session, first=target.newest_seq + 1, backward=True):
        event = decode(frame, target.session)
        if event.is_entry and event.format == FORMAT:
            newest = newest or event.seq
            if event.kind not in _SAY_NOTHING:
                return newest
    return None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
