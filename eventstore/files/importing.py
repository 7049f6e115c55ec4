"""Taking a session file into a log: every record an event, every other byte kept with the import.

A file that grew adds what is new; a record that its harness changed is observed; a file that says otherwise
of most of what the log holds becomes another generation of the session, beside the first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.event import NewEvent
from eventstore.files.glue import SegmentWriter
from eventstore.files.sources import (
    Comparison,
    compare,
    earlier_generation,
    generation_link,
    generations,
    import_parts,
    new_generation,
    newest_import,
)
from eventstore.formats.pi.file import Line, PiReader, find_header
from eventstore.formats.refold.events import compose
from eventstore.frame import body_of, decode, header_of
from eventstore.log import EventLog, Snapshot
from eventstore.records import FORMAT, Import, LeafMoved, Link, ObservedRewrite, Remark, Resume, embed

BATCH_EVENTS: Final = 4096
BATCH_BYTES: Final = 16 << 20
"""An append holds at most this many events and, one record aside, this many bytes of bodies."""
_COPY_BYTES: Final = 1 << 20
_BEGINNING: Final = Resume(offset=0, digest=sha256().hexdigest(), line=1)
_NOTHING_SHARED: Final = Comparison(same=0, exported=frozenset(), changed={}, new=0)
_SAY_NOTHING: Final = frozenset({"label", "session_info"})
"""Kinds of our own entries that do not keep the leaf from following a file that grew."""
_SHOWN_OTHERWISE: Final = "not UTF-8: contexts show U+FFFD in place of what cannot be read"
_GOES_ON: Final = "the file ends with a repeat of an older record: pi goes on from there"

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
    """Import a session file of a harness; what the log has already is not added again.

    `name` takes it as another session than its header says. Raises BadInputError for what is no session
    file, or cannot be read.
    """
    source = os.fsencode(path).decode("utf-8", "replace")
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  the path may be one of bytes
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise BadInputError(source, "is no regular file", "write it to a file first")
        with open(path, "rb") as file:
            return _Importing(log, file, source, name, progress).run()
    except IsADirectoryError:
        raise BadInputError(source, "is a folder", "name the session files in it") from None
    except FileNotFoundError:
        raise BadInputError(source, "there is no such file", "check the path") from None
    except OSError as error:
        raise BadInputError(source, f"cannot be read ({error.strerror})", "check its permissions") from error


class _Importing:
    """One import of one open file."""

    def __init__(
        self, log: EventLog, file: BinaryIO, source: str, name: str | None, progress: Progress
    ) -> None:
        self._log, self._file, self._source, self._progress = log, file, source, progress
        self._size = os.fstat(file.fileno()).st_size
        self._header = find_header(file, source)
        self._name = name or self._header.session
        self._shared = _NOTHING_SHARED
        self._batch: list[tuple[SegmentWriter, NewEvent]] = []
        self._batch_bytes = 0
        self._added = 0
        self._newest_added = ""
        self._observed: list[NewEvent] = []
        self._session = ""
        self._before: str | None = None
        self._not_utf8: list[Remark] = []
        self._continued: Import | None = None
        self._earlier: list[tuple[int, int]] | None = None

    def run(self) -> Imported:
        """Import the file, unless it is as it was at the newest import."""
        with self._log.snapshot() as snapshot:
            self._session, self._continued, self._newest_seq = self._find_session(snapshot)
        previous = self._continued
        if previous is None:
            return self._read(_BEGINNING, continues=0)
        if previous.size == self._size and self._digest_to(self._size).hexdigest() == previous.digest:
            return self._report(previous, is_diverged=False)
        return self._read(previous.resume, continues=self._newest_seq)

    def _find_session(self, snapshot: Snapshot) -> tuple[str, Import | None, int]:
        """Return the session that the file belongs to, the import that it goes on from, and the newest one's number."""
        known = generations(snapshot, self._name)
        for head in reversed(known):
            newest = newest_import(snapshot, head)
            if newest is not None and self._begins_as(newest):
                self._session, self._continued = head.name, newest
                self._before = earlier_generation(snapshot, head.name) if head.name != self._name else None
                self._shared = compare(snapshot, head.name, self._events_from(newest.resume))
                return head.name, newest, head.import_seq
        whole = [head.name for head in known if head.name == self._name or head.import_seq]
        for head in reversed(known):
            shared = compare(snapshot, head.name, self._events_from(_BEGINNING))
            if shared.is_of_session:
                self._shared = shared
                if head.name != self._name:
                    self._before = earlier_generation(snapshot, head.name) or whole[-1]
                return head.name, None, head.import_seq
        self._before = whole[-1] if whole else None
        return new_generation(snapshot, self._name), None, 0

    def _begins_as(self, newest: Import) -> bool:
        """Whether the file begins with what an import read, but for a torn record at its end."""
        size, digest = newest.resume.offset, newest.resume.digest
        if newest.tail.records:
            size, digest = newest.size, newest.digest
        return size <= self._size and self._digest_to(size).hexdigest() == digest

    def _digest_to(self, offset: int):  # type: ignore[no-untyped-def]  # noqa: ANN202  hashlib's type is private
        digest = sha256()
        self._file.seek(0)
        while offset and (block := self._file.read(min(_COPY_BYTES, offset))):
            digest.update(block)
            offset -= len(block)
        return digest

    def _events_from(self, resume: Resume) -> Iterator[NewEvent]:
        self._file.seek(resume.offset)
        reader = self._reader(resume)
        for number, raw in enumerate(self._file, resume.line):
            for _, _, event in reader.line(number, raw).records:
                yield event

    def _reader(self, resume: Resume) -> PiReader:
        return PiReader(self._header, state=resume.state, is_known=self._is_known, earlier=self._earlier_body)

    def _read(self, resume: Resume, *, continues: int) -> Imported:
        """Read the file from where the import before it ended, append what is new, and record what was read."""
        reader, digest = self._reader(resume), self._digest_to(resume.offset)
        offset, number, unfinished = resume.offset, resume.line, b""
        lines, tail = SegmentWriter(), SegmentWriter()
        skipped, differs, self._not_utf8 = self._remarks_before(resume)
        if not resume.offset and self._header.differs:
            differs.append(Remark(max(self._header.line, 1), self._header.differs))
        for raw in self._file:
            if not raw.endswith(b"\n"):
                unfinished = raw
                break
            self._take(reader.line(number, raw), raw, lines, skipped, differs)
            digest.update(raw)
            offset += len(raw)
            number += 1
            self._progress(offset, self._size)
        end = Resume(offset=offset, digest=digest.hexdigest(), line=number, state=reader.state)
        if unfinished:
            self._take(reader.line(number, unfinished), unfinished, tail, skipped, differs)
            digest.update(unfinished)
        self._append_batch()
        self._progress(self._size, self._size)
        if reader.repeated:
            differs.append(Remark(reader.repeated, _GOES_ON))
        (lines_segment, lines_glue), (tail_segment, tail_glue) = lines.finish(), tail.finish()
        record = Import(
            source_format=f"pi/{self._header.version}",
            header=embed(self._header.raw),
            records=reader.records,
            offset=resume.offset,
            size=offset + len(unfinished),
            digest=digest.hexdigest(),
            lines=lines_segment,
            tail=tail_segment,
            resume=end,
            continues=continues,
            skipped=skipped,
            differs_from_harness=differs,
            orphans=[
                Remark(at, f"its parent {parent!r} is not in the file: contexts below it begin there")
                for at, parent in reader.orphans
            ],
            not_utf8=self._not_utf8,
        )
        is_diverged = self._conclude(record, [*lines_glue, *tail_glue])
        return self._report(record, is_diverged=is_diverged)

    def _remarks_before(self, resume: Resume) -> tuple[list[Remark], list[Remark], list[Remark]]:
        """What earlier imports remarked on lines that are not read again."""
        if self._continued is None:
            return [], [], []
        before = self._continued
        skipped, differs, not_utf8 = (
            [each for each in some if each.line < resume.line and each.reason != _GOES_ON]
            for some in (before.skipped, before.differs_from_harness, before.not_utf8)
        )
        return skipped, differs, not_utf8

    def _take(
        self, line: Line, raw: bytes, segment: SegmentWriter, skipped: list[Remark], differs: list[Remark]
    ) -> None:
        at = 0
        for start, stop, event in line.records:
            segment.between(raw[at:start])
            at = start
            if not _is_utf8(event.body):
                self._not_utf8.append(Remark(line.number, _SHOWN_OTHERWISE))
            if event.id in self._shared.changed:
                self._observe(event)
            elif event.id not in self._shared.exported:
                segment.record()
                self._batch.append((segment, event))
                self._batch_bytes += len(event.body)
                at = stop
        segment.between(raw[at:])
        skipped += [Remark(line.number, reason) for reason in line.skipped]
        differs += [Remark(number, reason) for number, reason in line.differs]
        if len(self._batch) >= BATCH_EVENTS or self._batch_bytes >= BATCH_BYTES:
            self._append_batch()

    def _observe(self, event: NewEvent) -> None:
        """A known record is another now: it is kept as it came, beside the event that had it before."""
        record = ObservedRewrite(target_id=event.id, record=embed(event.body))
        count = self._shared.changed[event.id] + 1
        self._observed.append(compose(record, id=f"observed-{event.id}-{count}", time=event.time))

    def _append_batch(self) -> None:
        if not self._batch:
            return
        events = [event for _, event in self._batch]
        appended = self._log.append(self._session, events)
        if appended.added == len(events):
            first = appended.version - appended.added + 1
            numbers = list(range(first, appended.version + 1))
        else:
            with self._log.snapshot() as snapshot:
                numbers = [snapshot.locate(self._session, event.id) for event in events]
        for (segment, _), seq in zip(self._batch, numbers, strict=True):
            segment.number(seq)
        self._added += appended.added
        self._newest_added = events[-1].id
        self._batch, self._batch_bytes = [], 0

    def _conclude(self, record: Import, glue: list[bytes]) -> bool:
        """Append what the import observed and the import itself; and whether session and file have diverged."""
        # The same file may come again after another state of it: the import before tells the two apart.
        behind = f"-{self._newest_seq}" if self._newest_seq else ""
        events = [*self._observed, compose(record, id=f"import-{record.digest[:16]}{behind}", time=None)]
        if self._before is not None and not self._newest_seq:
            link = Link(relation="generation", session=self._before)
            generation = int(self._session.removeprefix(f"{self._name}~"))
            events.append(compose(link, id=generation_link(generation - 1), time=None))
        while True:
            version, is_diverged, move = self._move_back(record)
            try:
                self._log.append(
                    self._session,
                    [*events, *([move] if move else [])],
                    expected=version,
                    blobs=glue,
                    source=str(Path(self._source).absolute()),
                )
            except VersionConflictError:
                # Somebody appended meanwhile: where the session stands by itself is to be seen again.
                continue
            return is_diverged

    def _move_back(self, record: Import) -> tuple[int, bool, NewEvent | None]:
        """The session's version, whether it and the file have diverged, and the move that keeps its leaf if need be."""
        with self._log.snapshot() as snapshot:
            try:
                head = snapshot.head(self._session)
            except NotFoundError:
                return 0, False, None
            stood = self._own_leaf(snapshot) if self._newest_seq else None
            added = snapshot.locate(self._session, self._newest_added) if self._newest_added else 0
            if stood is None or not added or stood in self._path(snapshot, added):
                return head.version, False, None
            if head.leaf == stood or added in self._path(snapshot, stood):
                # The session went on while the file was read: it stands where it should.
                return head.version, added not in self._path(snapshot, stood), None
            here = decode(snapshot.frame(self._session, stood), self._session)
            newest = decode(snapshot.frame(self._session, head.leaf), self._session)
        move = LeafMoved(from_id=newest.id)
        event_id = f"stayed-{record.digest[:16]}-{self._newest_seq}"
        return head.version, True, compose(move, id=event_id, time=newest.time, parent=here.id)

    def _path(self, snapshot: Snapshot, leaf: int) -> set[int]:
        return {header_of(frame).seq for frame in snapshot.path(self._session, leaf)}

    def _own_leaf(self, snapshot: Snapshot) -> int | None:
        """The newest entry of the session's own since the import before, if any of them says something."""
        newest = None
        for frame in snapshot.frames(self._session, first=self._newest_seq + 1, backward=True):
            event = decode(frame, self._session)
            if event.is_entry and event.format == FORMAT:
                newest = newest or event.seq
                if event.kind not in _SAY_NOTHING:
                    return newest
        return None

    def _is_known(self, event_id: str) -> bool:
        if self._continued is None:
            return False
        with self._log.snapshot() as snapshot:
            return snapshot.locate(self._session, event_id) > 0

    def _earlier_body(self, event_id: str) -> bytes | None:
        """Return the bytes of the record with this id in lines that earlier imports read, or None."""
        if self._continued is None:
            return None
        with self._log.snapshot() as snapshot:
            seq = snapshot.locate(self._session, event_id)
            if seq and self._earlier is None:
                parts = import_parts(snapshot, self._session, self._continued)
                self._earlier = [run for part in parts for run in part.lines.records]
            if not seq or not any(first <= seq < first + count for first, count in self._earlier or ()):
                return None
            return bytes(body_of(snapshot.frame(self._session, seq)))

    def _report(self, record: Import, *, is_diverged: bool) -> Imported:
        return Imported(
            id=self._session,
            earlier=self._before,
            format=record.source_format,
            events=record.records,
            added=self._added,
            rewritten=len(self._observed),
            diverged=is_diverged,
            skipped=record.skipped,
            differs_from_harness=record.differs_from_harness,
            orphans=record.orphans,
            not_utf8=record.not_utf8,
        )


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
