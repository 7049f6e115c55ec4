"""Compare the records of a file with a session of the log."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import msgspec

from eventstore.append import is_same
from eventstore.event import Event, NewEvent
from eventstore.frame import decode
from eventstore.imports import observed_rewrites
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

    `new` records are only in the file. `changed` maps the ids of changed records to how often the session has
    seen them change before.
    """

    same: int
    exported: frozenset[str]
    changed: dict[str, int]
    new: int

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

    def add(self, event: NewEvent, is_exported: IsExported) -> None:
        """Compare the next record."""
        seq = self._snapshot.locate(self._session, event.id)
        if not seq:
            self._new += 1
            return
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
            return Agreement.EXPORTED if event.body == seen[-1] else Agreement.CHANGED
        stored = decode(self._snapshot.frame(self._session, seq), self._session)
        if is_same(event, stored):
            return Agreement.SAME
        return Agreement.EXPORTED if is_exported(self._snapshot, event, stored) else Agreement.CHANGED

    @property
    def result(self) -> ComparisonResult:
        """Return the comparison of the records so far."""
        exported, changed = frozenset(self._exported), dict(self._changed)
        return ComparisonResult(same=self._same, exported=exported, changed=changed, new=self._new)
