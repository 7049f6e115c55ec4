"""Collect the events of a source, and append them to its sessions in batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from eventstore.errors import NotFoundError
from eventstore.event import Flag, NewEvent, Parent
from eventstore.files.glue import SegmentWriter
from eventstore.files.matching import ImportTarget, last_entry
from eventstore.files.settling import follows_file
from eventstore.frame import decode
from eventstore.harnesses.refold.events import compose
from eventstore.harnesses.source import (
    LINE_END,
    DerivedEvent,
    Glue,
    Piece,
    SourceRecord,
    SourceRecords,
    SourceRemark,
)
from eventstore.imports import generations
from eventstore.log import EventLog
from eventstore.records import ObservedRewrite, Remark, embed

BATCH_EVENTS: Final = 2048
BATCH_BYTES: Final = 4 << 20
"""Maximum bytes of an append's bodies, except for one large record.

The first use of each page of memory takes longer than a copy of it, so larger batches are slower in a new process.
"""
_INVALID_UTF8: Final = "not UTF-8: contexts show U+FFFD in place of invalid bytes"


class EventBatches:
    """The events of one reading of a source, for the sessions of the log that they go into."""

    def __init__(self, log: EventLog, targets: Sequence[ImportTarget]) -> None:
        self._log, self._targets = log, targets
        self._elsewhere: dict[str, dict[str, NewEvent]] = {}
        self._batched = 0
        self._batch_bytes = 0

    def take(self, piece: Piece, segment: SegmentWriter) -> bytes:
        """Handle a piece of the source, and return its bytes."""
        if isinstance(piece, SourceRecords):
            self._take_all(piece, segment)
            return piece.data
        if isinstance(piece, SourceRecord):
            self._take_record(piece, segment)
            return piece.event.body
        if isinstance(piece, Glue):
            segment.between(piece.data)
            return piece.data
        if isinstance(piece, SourceRemark):
            self._targets[piece.session].add_remark(piece)
        elif isinstance(piece, DerivedEvent):
            self._derive(piece, segment)
        return b""

    def _take_record(self, record: SourceRecord, segment: SegmentWriter) -> None:
        """Handle a record: put a new one into a slot, keep a repeated or changed one as bytes."""
        target, event = self._targets[record.session], record.event
        event_id, shared = event.id, target.shared
        if event.facts.flags & Flag.REPLACED_TEXT:
            target.not_utf8.append(Remark(record.line, _INVALID_UTF8))
        if event_id in shared.changed:
            self._observe(target, event, record.line)
            segment.between(event.body)
            target.reach(event)
        elif event_id in shared.exported:
            segment.between(event.body)
            target.reach(event)
        else:
            self._add(target, segment, segment.record(), event)

    def _take_all(self, records: SourceRecords, segment: SegmentWriter) -> None:
        """Handle adjacent lines: put them into slots together if none of them can be known."""
        target = self._targets[0]
        if target.shared.changed or target.shared.exported:
            for piece in records.pieces():
                if isinstance(piece, SourceRecord):
                    self._take_record(piece, segment)
                else:
                    segment.between(piece.data)
            return
        slot = segment.records(len(records.events), LINE_END.data)
        self._put(target, segment, slot, records.events, len(records.data))

    def _add(self, target: ImportTarget, segment: SegmentWriter, slot: int, event: NewEvent) -> None:
        self._put(target, segment, slot, (event,), len(event.body))

    def _put(
        self, target: ImportTarget, segment: SegmentWriter, slot: int, events: Sequence[NewEvent], size: int
    ) -> None:
        """Add events for adjacent slots (-1: none) to the batch; `size` is about their bytes."""
        target.batch.append((segment, slot, events))
        target.reach(*events)
        self._batched += len(events)
        self._batch_bytes += size
        if self._batched >= BATCH_EVENTS or self._batch_bytes >= BATCH_BYTES:
            self._append_batches()

    def _derive(self, piece: DerivedEvent, segment: SegmentWriter) -> None:
        """Handle an event derived from the source, unless its session has one with that id."""
        target, event_id = self._targets[piece.session], piece.event.id
        if piece.into:
            self._elsewhere.setdefault(piece.into, {}).setdefault(event_id, piece.event)
        elif event_id in target.derived or (
            # Of a new session, those that others have imported meanwhile are part of this import, too: the numbers
            # of its records depend on them.
            not target.is_new and self._is_stored(target.session, piece.event)
        ):
            target.reach(piece.event)
        else:
            target.derived.add(event_id)
            self._add(target, segment, -1, piece.event)

    def _is_stored(self, session: str, event: NewEvent) -> bool:
        with self._log.snapshot() as snapshot, suppress(NotFoundError):
            return snapshot.locate(session, event.id) > 0
        return False

    def append_elsewhere(self) -> None:
        """Append derived events to other sources' sessions, if these are in the store."""
        for name, events in self._elsewhere.items():
            with self._log.snapshot() as snapshot:
                newest = generations(snapshot, name)[-1:]
            for head in newest:
                new = [each for each in events.values() if not self._is_stored(head.name, each)]
                self._log.append(head.name, new)

    def _observe(self, target: ImportTarget, event: NewEvent, line: int) -> None:
        """Store the new version of a changed record beside the original event."""
        with self._log.snapshot() as snapshot:
            seq = snapshot.locate(target.session, event.id)
            parent = (
                decode(snapshot.frame(target.session, seq), target.session).written_parent
                if seq
                else event.parent
            )
        if event.parent is not Parent.LEAF and parent != event.parent and not event.facts.flags & Flag.ORPHAN:
            reason = (
                f"its parent was {parent!r} and is {event.parent!r} now: refold keeps it below the first; import the "
                "file under another name to read it as it is now"
            )
            target.differs.append(Remark(line, reason))
        record = ObservedRewrite(target_id=event.id, record=embed(event.body))
        count = target.shared.changed[event.id] + 1
        target.observed.append(compose(record, id=f"observed-{event.id}-{count}", time=event.time))

    def _append_batches(self) -> None:
        for target in self._targets:
            if target.batch:
                self._append_batch(target)
        self._batched = self._batch_bytes = 0

    def append_rest(self, target: ImportTarget, *, is_continued: bool) -> None:
        """Append the last batch, or keep it for the append of the import's record.

        `is_continued`: the source begins with what the last import read.
        """
        if not target.batch:
            return
        events = target.events()
        is_in_order = last_entry(events) == target.last
        is_plain = is_in_order and len({each.id for each in events}) == len(events)
        if is_plain and (target.is_new or (is_continued and self._goes_on(target, events))):
            self._number(target, target.version + 1)
            target.first, target.appended, target.batch = events, len(events), []
        else:
            self._append_batch(target)

    def _goes_on(self, target: ImportTarget, events: Sequence[NewEvent]) -> bool:
        """Return True if these events are the next of a session that follows its file."""
        with self._log.snapshot() as snapshot:
            is_known = any(snapshot.locate(target.session, each.id) for each in events)
            target.version = snapshot.head(target.session).version
            return not is_known and follows_file(snapshot, target, events)

    def _append_batch(self, target: ImportTarget) -> None:
        events = target.events()
        appended = self._log.append(target.session, events)
        earlier = appended.version - appended.added
        if appended.added == len(events):
            self._number(target, earlier + 1)
        else:
            self._number_stored(target, earlier)
        target.appended += appended.added
        target.batch, target.is_new = [], False

    def _number(self, target: ImportTarget, seq: int) -> None:
        """Fill the slots of a batch of new events, the first of which has the number `seq`."""
        for segment, slot, events in target.batch:
            if slot >= 0:
                segment.number(slot, seq, target.place, count=len(events))
                target.added += len(events)
            seq += len(events)

    def _number_stored(self, target: ImportTarget, earlier: int) -> None:
        """Fill the slots of a batch; events up to the number `earlier` are not new."""
        with self._log.snapshot() as snapshot:
            for segment, slot, events in target.batch:
                for at, event in enumerate(events if slot >= 0 else ()):
                    seq = snapshot.locate(target.session, event.id)
                    segment.number(slot + at, seq, target.place)
                    target.added += seq > earlier
