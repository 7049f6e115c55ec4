"""Compare the records of a file with a session of the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

import msgspec

from eventstore.append import is_same
from eventstore.chain import is_same_body
from eventstore.event import Event, NewEvent
from eventstore.frame import decode
from eventstore.harnesses.source import SourceRecord
from eventstore.imports import observed_rewrites
from eventstore.kinds import is_entry
from eventstore.log import Snapshot


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
