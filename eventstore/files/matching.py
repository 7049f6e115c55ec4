"""Match a source's sessions and records with the log's, and find where an import continues."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec

from eventstore.append import is_same
from eventstore.chain import is_same_body
from eventstore.errors import NotFoundError
from eventstore.event import Event, NewEvent
from eventstore.files.glue import SegmentWriter
from eventstore.frame import body_of, decode
from eventstore.harnesses import format_of
from eventstore.harnesses.source import (
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    SourceRecord,
    SourceRemark,
    SourceSession,
    one_by_one,
)
from eventstore.imports import (
    earlier_generation,
    generations,
    import_parts,
    new_generation,
    newest_import,
    observed_rewrites,
)
from eventstore.kinds import is_entry
from eventstore.log import EventLog, Head, Snapshot
from eventstore.records import Import, Remark, Resume


class Agreement(Enum):
    """The result of comparing an imported record with the stored event."""

    SAME = "same"
    """The record equals the event."""
    EXPORTED = "exported"
    """The record equals an export of the event."""
    CHANGED = "changed"
    """The session has something else under this id."""


class ComparisonResult(msgspec.Struct, frozen=True, kw_only=True):
    """A file's records, counted by their agreement with a session.

    `new` records are only in the file. `inserted` maps the ids of new entries that known ones follow to their lines.
    `changed` maps the ids of changed records to how often the session has seen them change before. `leaf` is
    the imported entry where the session stands, None if the file has it too.
    """

    same: int
    exported: frozenset[str]
    changed: dict[str, int]
    new: int
    inserted: Mapping[str, int] = {}
    leaf: str | None = None

    @property
    def is_of_session(self) -> bool:
        """True if the file belongs to the session: most shared records agree.

        A file without records matches any session.
        """
        agreeing = self.same + len(self.exported)
        return agreeing > len(self.changed) or not (agreeing or self.changed or self.new)


IsExported = Callable[[Snapshot, NewEvent, Event], bool]
"""Returns True if a record equals an export of the stored event with its id."""


class EventComparer:
    """Compare a file's records, one after another, with a session."""

    def __init__(self, snapshot: Snapshot, session: str) -> None:
        self._snapshot, self._session = snapshot, session
        self._observed = observed_rewrites(snapshot, session)
        self._same, self._new = 0, 0
        self._exported, self._changed = set[str](), dict[str, int]()
        self._inserted, self._newest = dict[str, int](), dict[str, int]()
        self._leaf = _imported_leaf(snapshot, session)

    def add(self, record: SourceRecord, is_exported: IsExported) -> None:
        """Compare the next record."""
        event = record.event
        seq = self._snapshot.locate(self._session, event.id)
        if not seq:
            self._new += 1
            if is_entry(event.kind):
                self._newest[event.id] = record.line
            return
        if event.id == self._leaf:
            self._leaf = None
        if self._newest and is_entry(event.kind):
            self._inserted |= self._newest
            self._newest = {}
        seen = self._observed.get(seq, [])
        agreement = self._agreement(event, seq, seen, is_exported)
        if agreement is Agreement.SAME:
            self._same += 1
        elif agreement is Agreement.EXPORTED:
            self._exported.add(event.id)
        else:
            self._changed[event.id] = len(seen)

    def _agreement(self, event: NewEvent, seq: int, seen: list[bytes], is_exported: IsExported) -> Agreement:
        if seen:
            # The session's version is the newest change, which is stored beside the event.
            return Agreement.EXPORTED if is_same_body(event.body, seen[-1]) else Agreement.CHANGED
        stored = decode(self._snapshot.frame(self._session, seq), self._session)
        if is_same(event, stored):
            return Agreement.SAME
        return Agreement.EXPORTED if is_exported(self._snapshot, event, stored) else Agreement.CHANGED

    def result(self, *, is_appended: bool) -> ComparisonResult:
        """Return the comparison of the records so far.

        Only in a source that is appended to is a new record before known ones unusual.
        """
        exported, changed = frozenset(self._exported), dict(self._changed)
        return ComparisonResult(
            same=self._same,
            exported=exported,
            changed=changed,
            new=self._new,
            inserted=dict(self._inserted) if is_appended else {},
            leaf=self._leaf if is_appended else None,
        )


def _imported_leaf(snapshot: Snapshot, session: str) -> str | None:
    """Return the id of the newest imported entry on the leaf's path, None if there is none."""
    seq = snapshot.head(session).leaf
    while seq:
        event = decode(snapshot.frame(session, seq), session)
        if not event.is_own:
            return event.id
        seq = event.parent_seq if event.parent_seq < seq else 0
    return None


NOTHING: Final = sha256().hexdigest()
"""The digest of no bytes."""
FROM_START: Final = Resume(offset=0, digest=NOTHING, line=1)
NOTHING_SHARED: Final = ComparisonResult(same=0, exported=frozenset(), changed={}, new=0)


class ImportTarget:
    """A session of the source, and the session of the log that it goes into.

    `newest` is the last import. `before` is the previous generation if this is another one, `shared` the
    comparison of source and log, `compared` the remarks of that reading, `parentless` those on its records
    whose parents are missing. The other fields hold what was read: events to append, observed changes,
    remarks, and the ids of events that follow from the source (`derived`). `is_new` means that the log had no such
    session, and nothing was appended yet; `first` are the events that are appended with the record of the import,
    behind `version`. `last` is the newest entry of the file so far. Events up to number `since` are no part of it.
    """

    def __init__(self, place: int, of: SourceSession, base: str) -> None:
        self.place, self.of, self.base = place, of, base
        self.session = base
        self.newest: Import | None = None
        self.newest_seq = self.since = 0
        self.before: str | None = None
        self.shared = NOTHING_SHARED
        self.compared: list[SourceRemark] = []
        self.parentless: Sequence[Remark] = ()
        self.batch: list[tuple[SegmentWriter, int, Sequence[NewEvent]]] = []
        self.is_new, self.first, self.version = True, list[NewEvent](), 0
        self.added = 0
        self.appended = 0
        self.last = ""
        self.observed: list[NewEvent] = []
        self.skipped: list[Remark] = []
        self.differs: list[Remark] = []
        self.not_utf8: list[Remark] = []
        self.derived = set[str]()

    def go_on(self, head: Head, snapshot: Snapshot, shared: ComparisonResult, before: str | None) -> None:
        """Continue the log's session with this head."""
        self.session, self.newest_seq, self.version = head.name, head.import_seq, head.version
        self.since, self.is_new = head.import_seq or head.version, False
        self.newest = newest_import(snapshot, head)
        self.shared = shared
        self.before = before if head.name != self.base else None

    def reach(self, *events: NewEvent) -> None:
        """Advance past the next events of the source."""
        self.last = last_entry(events) or self.last

    def events(self) -> list[NewEvent]:
        """Return the events of the batch."""
        return [event for _, _, several in self.batch for event in several]

    def begin(self, snapshot: Snapshot, before: str | None) -> None:
        """Start a new session."""
        self.session, self.before = new_generation(snapshot, self.base), before

    def add_remark(self, remark: SourceRemark) -> None:
        """Add a remark of this reading."""
        remarks = self.skipped if remark.what == "skipped" else self.differs
        remarks.append(Remark(remark.line, remark.reason))

    def keep_remarks(self, line: int, passing: frozenset[str]) -> None:
        """Put the last import's remarks before these; those from a line on were read again."""
        if self.newest is not None:
            newest = self.newest
            self.skipped, self.differs, self.not_utf8 = (
                [each for each in some if each.line < line and each.reason not in passing] + read
                for some, read in (
                    (newest.skipped, self.skipped),
                    (newest.differs_from_harness, self.differs),
                    (newest.not_utf8, self.not_utf8),
                )
            )


def last_entry(events: Sequence[NewEvent]) -> str:
    """Return the id of the last entry among some events, "" for none."""
    return next((event.id for event in reversed(events) if is_entry(event.kind)), "")


class _KnownParts:
    """The log's contents for parts of a source that are not read again."""

    def __init__(self, log: EventLog, targets: list[ImportTarget], continued: Import | None) -> None:
        self._log, self._targets, self._continued = log, targets, continued
        self._runs: dict[int, list[tuple[int, int]]] | None = None

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
            if not seq:
                return None
            if self._runs is None:
                self._runs = self._read_before(snapshot, self._continued)
            runs = self._runs.get(session, [])
            at = bisect_right(runs, seq, key=itemgetter(0)) - 1
            if at < 0 or seq >= runs[at][1]:
                return None
            return bytes(body_of(snapshot.frame(target.session, seq)))

    def sessions_with(self, event_id: str) -> Sequence[str]:
        with self._log.snapshot() as snapshot:
            own = {head.name for each in self._targets for head in generations(snapshot, each.base)}
            return [name for name in snapshot.sessions_with(event_id) if name not in own]

    def name(self, session: int) -> str:
        return self._targets[session].session

    def next(self, session: str, event_id: str) -> Event | None:
        with self._log.snapshot() as snapshot, suppress(NotFoundError):
            if seq := snapshot.locate(session, event_id):
                events = (decode(each, session) for each in snapshot.frames(session, first=seq))
                here = next(events)
                return next((each for each in events if each.is_entry and each.format == here.format), None)
        return None

    def event(self, session: str, event_id: str) -> Event | None:
        with self._log.snapshot() as snapshot, suppress(NotFoundError):
            if seq := snapshot.locate(session, event_id):
                return decode(snapshot.frame(session, seq), session)
        return None

    def _read_before(self, snapshot: Snapshot, continued: Import) -> dict[int, list[tuple[int, int]]]:
        """Return the runs of records in those parts by their session's place in the source.

        A run is the number of its first record, and that behind its last. The runs are sorted.
        """
        runs: dict[int, list[tuple[int, int]]] = {}
        places = {target.session: target.place for target in self._targets}
        main = self._targets[0].session
        for part in import_parts(snapshot, main, continued):
            sessions = [main, *part.sessions]
            which = part.lines.sessions or [0] * len(part.lines.records)
            for at, (first, count) in zip(which, part.lines.records, strict=True):
                runs.setdefault(places.get(sessions[at], -1), []).append((first, first + count))
        return {place: sorted(each) for place, each in runs.items()}


class SessionMatcher:
    """Match the sessions of one open source with sessions of the log.

    `continued` is the import of the first session that reading continues from, None if the source is read
    from its beginning or, for a database, from `resumed` on. `compares`: new lines are compared with the log.
    """

    def __init__(
        self,
        log: EventLog,
        source: Source,
        contents: SourceContents,
        name: str | None,
        *,
        compares: bool = False,
    ) -> None:
        self._log, self._source, self._contents, self._compares = log, source, contents, compares
        self.is_by_its_name = name is None
        self.targets = [
            ImportTarget(place, each, name or each.name) for place, each in enumerate(contents.sessions)
        ]
        self.main = self.targets[0]
        self.has_bytes = contents.growth is not SourceGrowth.ROWS
        self.continued: Import | None = None
        self.resumed = FROM_START

    def is_unchanged(self) -> bool:
        """Return True if the source is unchanged since the newest import."""
        if any(each.newest is None for each in self.targets):
            return False
        if not self.has_bytes:
            return not any(each.shared.new or each.shared.changed for each in self.targets)
        return self._is_read(self.main.newest)

    def has_news(self) -> bool:
        """Return True if the source has records that the log lacks or has otherwise."""
        return any(each.is_new or each.shared.new or each.shared.changed for each in self.targets)

    def is_export(self, snapshot: Snapshot, path: str) -> bool:
        """Return True if the source is an export or a copy of the sessions, and not their own file.

        It must not take the place of the imported file. A file that has only equal records is an export of
        records without any difference, or the file after a move: the first if the imported file still exists.
        """
        if not self.has_bytes or self.continued is not None:
            return False
        if any(each.newest is None or each.shared.new or each.shared.changed for each in self.targets):
            return False
        own = snapshot.head(self.main.session).source
        return own != path and (all(each.shared.exported for each in self.targets) or Path(own).is_file())

    def _is_read(self, newest: Import | None) -> bool:
        """Return True if the file equals, byte for byte, what an import read."""
        return (
            newest is not None
            and newest.size == self._source.size
            and self._source.digest_to(newest.size).hexdigest() == newest.digest
        )

    def find(self, snapshot: Snapshot) -> None:
        """Find the log's session for each of the source's, and the import to continue."""
        known = [generations(snapshot, each.base) for each in self.targets]
        if self._contents.growth is SourceGrowth.APPENDED:
            for head in reversed(known[0]):
                newest = newest_import(snapshot, head)
                if newest is not None and self._begins_as(newest):
                    self._continue(snapshot, head, newest, known)
                    return
        elif self._contents.growth is SourceGrowth.ROWS:
            self.resumed = self._watermark(snapshot, known[0])
            self._keep(snapshot, known)
            return
        else:
            # A rewritten file may be unchanged.
            for head in reversed(known[0]):
                newest = newest_import(snapshot, head)
                if newest is not None and self._is_read(newest):
                    self._stay(snapshot, head, known)
                    return
        shared = self._compare(snapshot, FROM_START, known)
        for each, heads in zip(self.targets, known, strict=True):
            self._choose(snapshot, each, heads, shared)

    def _watermark(self, snapshot: Snapshot, heads: list[Head]) -> Resume:
        """Return where an earlier reading of a database ended, as its format defines it."""
        newest = newest_import(snapshot, heads[-1]) if heads else None
        return FROM_START if newest is None or newest.is_file else newest.resume

    def _begins_as(self, newest: Import) -> bool:
        """Return True if the file starts with what an import read, except a torn record.

        Bytes at its beginning that change in place are not compared.
        """
        size, digest, slot = newest.resume.offset, newest.resume.digest, self._contents.slot
        if newest.tail.records:
            size, digest, slot = newest.size, newest.digest, 0
        return slot <= size <= self._source.size and self._source.begins_with(size, digest, slot)

    def _continue(self, snapshot: Snapshot, head: Head, newest: Import, known: list[list[Head]]) -> None:
        """Continue an import of the first session, and those of the others with it."""
        self.continued = newest
        self._stay(snapshot, head, known)
        # Where nothing followed an import of whole lines, the log has almost never one of those behind them.
        may_know = self._compares or newest.resume.offset != newest.size
        if may_know or any(each.is_new or each.version != each.newest_seq for each in self.targets):
            self._compare_chosen(snapshot, newest.resume, known)

    def _keep(self, snapshot: Snapshot, known: list[list[Head]]) -> None:
        """Choose the newest generation of each session: rows never make another generation."""
        for each, heads in zip(self.targets, known, strict=True):
            if heads:
                before = earlier_generation(snapshot, heads[-1].name)
                each.go_on(heads[-1], snapshot, NOTHING_SHARED, before)
        self._compare_chosen(snapshot, self.resumed, known)

    def _compare_chosen(self, snapshot: Snapshot, resume: Resume, known: list[list[Head]]) -> None:
        """Compare the records from a place on with the chosen sessions."""
        chosen = [
            [each for each in heads if each.name == target.session]
            for target, heads in zip(self.targets, known, strict=True)
        ]
        shared = self._compare(snapshot, resume, chosen)
        for each in self.targets:
            each.shared = shared.get((each.place, each.session), NOTHING_SHARED)

    def _stay(self, snapshot: Snapshot, head: Head, known: list[list[Head]]) -> None:
        """Choose the sessions of the newest import of the first session."""
        self.main.go_on(head, snapshot, NOTHING_SHARED, earlier_generation(snapshot, head.name))
        for each, heads in zip(self.targets[1:], known[1:], strict=True):
            for other in reversed(heads):
                newest = newest_import(snapshot, other)
                if newest is not None and newest.kept_by == head.name:
                    each.go_on(other, snapshot, NOTHING_SHARED, earlier_generation(snapshot, other.name))
                    break
            else:
                each.begin(snapshot, heads[-1].name if heads else None)

    def _choose(
        self,
        snapshot: Snapshot,
        target: ImportTarget,
        heads: list[Head],
        shared: dict[tuple[int, str], ComparisonResult],
    ) -> None:
        """Choose the newest session that agrees with the source's records, else a new one."""
        whole = [head.name for head in heads if head.name == target.base or head.import_seq]
        for head in reversed(heads):
            found = shared[target.place, head.name]
            if self._contents.growth is not SourceGrowth.APPENDED or found.is_of_session:
                before = earlier_generation(snapshot, head.name) or whole[-1]
                target.go_on(head, snapshot, found, before)
                return
        target.begin(snapshot, whole[-1] if whole else None)

    def _compare(
        self, snapshot: Snapshot, resume: Resume, candidates: list[list[Head]]
    ) -> dict[tuple[int, str], ComparisonResult]:
        """Compare the source's records with candidate sessions, by place and name."""
        comparing = [
            [(head.name, EventComparer(snapshot, head.name)) for head in heads] for heads in candidates
        ]
        if not any(comparing):
            return {}
        reader = self.reader(resume)
        for piece in one_by_one(reader.pieces()):
            if isinstance(piece, SourceRecord):
                is_exported = format_of(piece.event.format).is_exported
                for _, each in comparing[piece.session]:
                    each.add(piece, is_exported)
            elif isinstance(piece, SourceRemark):
                self.targets[piece.session].compared.append(piece)
        for target in self.targets:
            target.parentless = reader.orphans(target.place)
        is_appended = self._contents.growth is SourceGrowth.APPENDED
        return {
            (place, name): each.result(is_appended=is_appended)
            for place, several in enumerate(comparing)
            for name, each in several
        }

    def reader(self, resume: Resume) -> SessionReader:
        continued = self.continued if self.has_bytes else self.main.newest
        return self._contents.read(resume, _KnownParts(self._log, self.targets, continued))
