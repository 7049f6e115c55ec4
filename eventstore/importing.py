"""Taking a session file into a log: every record an event, every other byte kept with the import.

A file that grew adds what is new; a file seen before adds nothing; a file that says otherwise of records
that the log holds becomes another generation of the session, beside the first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from eventstore.admission import is_same
from eventstore.errors import BadInputError, NotFoundError
from eventstore.event import NewEvent
from eventstore.formats.pi_file import BLANK, BOM, Line, PiHeader, PiReader, header_of
from eventstore.frame import body_of, decode
from eventstore.glue import SegmentWriter
from eventstore.log import EventLog, Head, Snapshot
from eventstore.records import Import, Resume, Skipped, compose, record_of

BATCH_EVENTS: Final = 4096
BATCH_BYTES: Final = 16 << 20
"""An append holds at most this many events and, one record aside, this many bytes of bodies."""
_COPY_BYTES: Final = 1 << 20

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the file's size."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did: `events` is the number of records that the file holds, `added` how many were new."""

    id: str
    format: str
    events: int
    added: int
    skipped: list[Skipped]


def import_file(
    log: EventLog, path: str | os.PathLike[str], *, progress: Progress = lambda *_: None
) -> Imported:
    """Import a session file of a harness; what the log has already is not added again.

    Raises BadInputError for what is no session file, or cannot be read.
    """
    source = os.fsencode(path).decode("utf-8", "replace")
    try:
        with open(path, "rb") as file:
            return _Importing(log, file, source, progress).run()
    except IsADirectoryError:
        raise BadInputError(source, "is a folder", "name the session files in it") from None
    except FileNotFoundError:
        raise BadInputError(source, "there is no such file", "check the path") from None
    except OSError as error:
        raise BadInputError(source, f"cannot be read ({error.strerror})", "check its permissions") from error


def generations(snapshot: Snapshot, session: str) -> list[Head]:
    """The heads of a session and of its later generations (`ID~2`, `ID~3`, …), oldest first."""
    found: list[Head] = []
    try:
        while True:
            found.append(snapshot.head(f"{session}~{len(found) + 1}" if found else session))
    except NotFoundError:
        return found


def newest_import(snapshot: Snapshot, head: Head) -> Import | None:
    """What the newest import of a session read, None for one that never was imported."""
    return import_at(snapshot, head.name, head.import_seq) if head.import_seq else None


def import_at(snapshot: Snapshot, session: str, seq: int) -> Import:
    """The record of the import event with this number."""
    record = record_of("import", body_of(snapshot.frame(session, seq)))
    assert isinstance(record, Import)  # noqa: S101  the kind says so
    return record


def import_parts(snapshot: Snapshot, session: str, newest: Import) -> list[Import]:
    """The imports that together read a file, newest first."""
    parts = [newest]
    while parts[-1].continues:
        parts.append(import_at(snapshot, session, parts[-1].continues))
    return parts


class _Importing:
    """One import of one open file."""

    def __init__(self, log: EventLog, file: BinaryIO, source: str, progress: Progress) -> None:
        self._log, self._file, self._source, self._progress = log, file, source, progress
        self._size = os.fstat(file.fileno()).st_size
        self._header, self._header_line = self._find_header()
        self._batch: list[tuple[SegmentWriter, NewEvent]] = []
        self._batch_bytes = 0
        self._added = 0
        self._continued: Import | None = None
        self._earlier: list[tuple[int, int]] | None = None

    def _find_header(self) -> tuple[PiHeader, int]:
        """The header, and the number of its line."""
        for number, line in enumerate(self._file, 1):
            header = header_of(line, self._source)
            if header is not None:
                return header, number
            if line.removeprefix(BOM).strip(BLANK):
                raise BadInputError(
                    self._source,
                    "not a session file that refold knows (a pi session begins with a line of type session)",
                    "name a session file of pi",
                    line=number,
                )
        raise BadInputError(self._source, "is empty", "there is nothing to import")

    def run(self) -> Imported:
        with self._log.snapshot() as snapshot:
            self._session, previous, self._newest_seq = self._generation(snapshot)
        self._continued = previous
        if previous is None:
            return self._read(Resume(offset=0, digest=sha256().hexdigest(), line=1), [], continues=0)
        if previous.size == self._size and self._digest_to(self._size).hexdigest() == previous.digest:
            return self._report(previous.records, previous.skipped)
        kept = [skipped for skipped in previous.skipped if skipped.line < previous.resume.line]
        return self._read(previous.resume, kept, continues=self._newest_seq)

    def _generation(self, snapshot: Snapshot) -> tuple[str, Import | None, int]:
        """The session that the file belongs to, the import that it goes on from, and the newest one's number."""
        known = generations(snapshot, self._header.session)
        for head in reversed(known):
            newest = newest_import(snapshot, head)
            if newest is not None and self._begins_as(newest):
                return head.name, newest, head.import_seq
        for head in reversed(known):
            if self._agrees_with(snapshot, head.name):
                return head.name, None, head.import_seq
        return f"{self._header.session}~{len(known) + 1}" if known else self._header.session, None, 0

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

    def _agrees_with(self, snapshot: Snapshot, session: str) -> bool:
        """Whether the file and the session share records, if it has any, and none of the shared ones differ."""
        shares = False
        self._file.seek(0)
        reader = PiReader(self._header)
        for line in self._lines(reader, 1):
            for _, _, event in line.records:
                seq = snapshot.locate(session, event.id)
                if seq and not is_same(event, decode(snapshot.frame(session, seq), session)):
                    return False
                shares = shares or seq > 0
        return shares or not reader.records

    def _lines(self, reader: PiReader, number: int) -> Iterator[Line]:
        for at, raw in enumerate(self._file, number):
            yield self._line(reader, at, raw)

    def _line(self, reader: PiReader, number: int, raw: bytes) -> Line:
        return Line(number, [], []) if number <= self._header_line else reader.line(number, raw)

    def _read(self, resume: Resume, skipped: list[Skipped], *, continues: int) -> Imported:
        reader = PiReader(self._header, state=resume.state, is_known=self._is_known, is_taken=self._is_taken)
        digest = self._digest_to(resume.offset)
        offset, number, unfinished = resume.offset, resume.line, b""
        lines, tail = SegmentWriter(), SegmentWriter()
        for raw in self._file:
            if not raw.endswith(b"\n"):
                unfinished = raw
                break
            self._take(self._line(reader, number, raw), raw, lines, skipped)
            digest.update(raw)
            offset += len(raw)
            number += 1
            self._progress(offset, self._size)
        end = Resume(offset=offset, digest=digest.hexdigest(), line=number, state=reader.state)
        if unfinished:
            self._take(self._line(reader, number, unfinished), unfinished, tail, skipped)
            digest.update(unfinished)
        self._append_batch()
        self._progress(self._size, self._size)
        (lines_segment, lines_glue), (tail_segment, tail_glue) = lines.finish(), tail.finish()
        record = Import(
            source_format=f"pi/{self._header.version}",
            header=msgspec.Raw(self._header.raw),
            records=reader.records,
            offset=resume.offset,
            size=offset + len(unfinished),
            digest=digest.hexdigest(),
            lines=lines_segment,
            tail=tail_segment,
            resume=end,
            continues=continues,
            skipped=skipped,
        )
        # The same file may come again after another state of it: the import before tells the two apart.
        behind = f"-{self._newest_seq}" if self._newest_seq else ""
        event = compose(record, id=f"import-{record.digest[:16]}{behind}", time=None)
        self._log.append(
            self._session, [event], blobs=[*lines_glue, *tail_glue], source=str(Path(self._source).absolute())
        )
        return self._report(record.records, skipped)

    def _take(self, line: Line, raw: bytes, segment: SegmentWriter, skipped: list[Skipped]) -> None:
        at = 0
        for start, stop, event in line.records:
            segment.between(raw[at:start])
            segment.record()
            self._batch.append((segment, event))
            self._batch_bytes += len(event.body)
            at = stop
        segment.between(raw[at:])
        skipped += [Skipped(line.number, reason) for reason in line.skipped]
        if len(self._batch) >= BATCH_EVENTS or self._batch_bytes >= BATCH_BYTES:
            self._append_batch()

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
        self._batch, self._batch_bytes = [], 0

    def _is_known(self, event_id: str) -> bool:
        if self._continued is None:
            return False
        with self._log.snapshot() as snapshot:
            return snapshot.locate(self._session, event_id) > 0

    def _is_taken(self, event_id: str) -> bool:
        """Whether a record in the lines that were read by earlier imports has this id."""
        if self._continued is None:
            return False
        with self._log.snapshot() as snapshot:
            seq = snapshot.locate(self._session, event_id)
            if seq and self._earlier is None:
                parts = import_parts(snapshot, self._session, self._continued)
                self._earlier = [run for part in parts for run in part.lines.records]
        return any(first <= seq < first + count for first, count in self._earlier or ()) if seq else False

    def _report(self, events: int, skipped: list[Skipped]) -> Imported:
        return Imported(
            id=self._session,
            format=f"pi/{self._header.version}",
            events=events,
            added=self._added,
            skipped=skipped,
        )
