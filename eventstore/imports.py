"""The generations and imports of a session, and the comparison of a file with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from itertools import count

import msgspec

from eventstore.append import is_same
from eventstore.errors import NotFoundError
from eventstore.event import Event, NewEvent
from eventstore.frame import body_of, decode, pointers_of
from eventstore.log import Head, Snapshot
from eventstore.records import Import, Link, ObservedRewrite, embedded, record_of


def generations(snapshot: Snapshot, session: str) -> list[Head]:
    """Return the heads of a session and of its later generations (`ID~2`, `ID~3`, …), oldest first.

    Other sessions may have such names: a later generation is linked to an earlier one, or has not been read to
    its end.
    """
    found: list[Head] = []
    for name in _names(session):
        try:
            head = snapshot.head(name)
        except NotFoundError:
            break
        if name == session or not head.import_seq or earlier_generation(snapshot, name):
            found.append(head)
    return found


def new_generation(snapshot: Snapshot, session: str) -> str:
    """Return the first name for a generation of a session that no session has."""
    for name in _names(session):
        try:
            snapshot.head(name)
        except NotFoundError:
            return name
    raise AssertionError


def _names(session: str) -> Iterator[str]:
    yield session
    yield from (f"{session}~{number}" for number in count(2))


def earlier_generation(snapshot: Snapshot, session: str) -> str | None:
    """Return the generation of a session before this one, None for the first."""
    *_, number = session.rpartition("~")
    if not number.isascii() or not number.isdecimal():
        return None
    seq = snapshot.locate(session, generation_link(int(number) - 1))
    event = decode(snapshot.frame(session, seq), session) if seq else None
    link = record_of("link", event.body) if event is not None and event.kind == "link" else None
    return link.session if isinstance(link, Link) and link.relation == "generation" else None


def generation_link(generation: int) -> str:
    """Return the id of the event by which a session's next generation is linked to this one."""
    return f"generation-of-{generation}"


def newest_import(snapshot: Snapshot, head: Head) -> Import | None:
    """Return the record of a session's newest import, None for one that never was imported."""
    return import_at(snapshot, head.name, head.import_seq) if head.import_seq else None


def import_at(snapshot: Snapshot, session: str, seq: int) -> Import:
    """Return the record of the import event with this number."""
    record = record_of("import", body_of(snapshot.frame(session, seq)))
    assert isinstance(record, Import)  # noqa: S101  the kind says so
    return record


def import_parts(snapshot: Snapshot, session: str, newest: Import) -> list[Import]:
    """Return the imports that together read a file, newest first."""
    parts = [newest]
    while parts[-1].continues:
        parts.append(import_at(snapshot, session, parts[-1].continues))
    return parts


def observed_rewrites(
    snapshot: Snapshot, session: str, *, as_of: int | None = None
) -> dict[int, list[bytes]]:
    """Return the records that a harness changed after we had them, as they came, oldest first, by entry number."""
    found: dict[int, list[bytes]] = {}
    for seq in snapshot.head(session).observed:
        if as_of is None or seq <= as_of:
            frame = snapshot.frame(session, seq)
            record = record_of("observed_rewrite", body_of(frame))
            assert isinstance(record, ObservedRewrite)  # noqa: S101  the kind says so
            *_, target = pointers_of(frame)
            found.setdefault(target, []).append(embedded(record.record))
    return found


class Agreement(Enum):
    """The result of comparing a file's record with the stored event that has its id."""

    SAME = "same"
    """The very event."""
    EXPORTED = "exported"
    """The event as an export writes it."""
    CHANGED = "changed"
    """Something else than the session has under this id."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A file held against a session: records in both by their agreement; of the file's own, how many there are.

    `changed` maps the ids of changed records to how often the session has seen them change before.
    """

    same: int
    exported: frozenset[str]
    changed: dict[str, int]
    new: int

    @property
    def is_of_session(self) -> bool:
        """True if the file is the session's: they share records, and more of those agree than not.

        A file without any record is anybody's.
        """
        agreeing = self.same + len(self.exported)
        return agreeing > len(self.changed) or not (agreeing or self.changed or self.new)


IsExported = Callable[[Snapshot, NewEvent, Event], bool]
"""Tells if a record is what an export makes of the stored event with its id."""


class Comparing:
    """Compares a file's records, one after another, with a session that may be theirs."""

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
            # The newest change is what the session holds; its record is kept beside the event, not in it.
            return Agreement.EXPORTED if event.body == seen[-1] else Agreement.CHANGED
        stored = decode(self._snapshot.frame(self._session, seq), self._session)
        if is_same(event, stored):
            return Agreement.SAME
        return Agreement.EXPORTED if is_exported(self._snapshot, event, stored) else Agreement.CHANGED

    @property
    def result(self) -> Comparison:
        """The comparison of the records so far."""
        exported, changed = frozenset(self._exported), dict(self._changed)
        return Comparison(same=self._same, exported=exported, changed=changed, new=self._new)
