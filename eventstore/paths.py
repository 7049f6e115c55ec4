"""Read paths and ranges of events, decoding only the fields that are used.

Frames, spans and offsets stay below this module; the packages above see `Event` and `LazyEvent`, and may cache
results of an event by its digest (`SnapshotCache`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Final, Generic, TypeVar

import msgspec

from eventstore.errors import CorruptionError, no_entry, no_event
from eventstore.event import Event, Flag
from eventstore.frame import (
    Buffer,
    body_of,
    cause_of,
    decode,
    digest_of,
    estimates_of,
    format_of,
    id_of,
    is_own,
    kind_of,
    pointers_of,
    position_of,
    role_of,
    seq_of,
    span_of,
    time_of,
)
from eventstore.kinds import CODE_OF_KIND, KINDS
from eventstore.log import Snapshot
from eventstore.records import Note, own_record
from eventstore.runs import append_at, append_of, in_effect

_OVERLAID: Final = Flag.OVERLAID.value
_OFF_PATH: Final = Flag.OFF_PATH.value
_NOTE: Final = CODE_OF_KIND["note"]


class LazyEvent:
    """An event whose fields are read on access; valid until the snapshot closes.

    Names follow `Event`. An unreadable field raises CorruptionError. Each is unpacked separately, because that costs
    less than a whole header.
    """

    __slots__ = ("_frame", "session")

    def __init__(self, frame: Buffer, session: str) -> None:
        self.session = session
        self._frame = frame

    def decode(self) -> Event:
        """Return the event with a copy of its bytes. Raises CorruptionError."""
        return decode(self._frame, self.session)

    @property
    def seq(self) -> int:
        return seq_of(self._frame)

    @property
    def position(self) -> int:
        return position_of(self._frame)

    @property
    def id(self) -> str:
        return id_of(self._frame)

    @property
    def cause(self) -> str:
        return cause_of(self._frame)

    @property
    def append(self) -> str:
        """The key of the event's append: the common cause, else the event's own id."""
        return append_of(self._frame)

    @property
    def kind(self) -> str:
        code = self._frame[1]
        return KINDS[code] if 0 < code < len(KINDS) else kind_of(self._frame)

    @property
    def role(self) -> str:
        return role_of(self._frame)

    @property
    def format(self) -> str:
        return format_of(self._frame)

    @property
    def flags(self) -> int:
        return pointers_of(self._frame)[1]

    @property
    def is_overlaid(self) -> bool:
        """True if a rewrite or undo is on the path to this entry."""
        return pointers_of(self._frame)[1] & _OVERLAID != 0

    @property
    def is_entry(self) -> bool:
        return not pointers_of(self._frame)[1] & _OFF_PATH

    @property
    def is_own(self) -> bool:
        """True if refold, or a harness through it, wrote the event; False if it came from a file."""
        return is_own(self._frame)

    @property
    def time(self) -> int | None:
        return time_of(self._frame)

    @property
    def utf16(self) -> int:
        return estimates_of(self._frame)[0]

    @property
    def utf8(self) -> int:
        return estimates_of(self._frame)[1]

    @property
    def parent_seq(self) -> int:
        return pointers_of(self._frame)[2]

    @property
    def compaction_seq(self) -> int:
        return pointers_of(self._frame)[4]

    @property
    def model_seq(self) -> int:
        return pointers_of(self._frame)[5]

    @property
    def thinking_seq(self) -> int:
        return pointers_of(self._frame)[6]

    @property
    def target_seq(self) -> int:
        return pointers_of(self._frame)[7]

    @property
    def digest(self) -> bytes:
        return digest_of(self._frame)

    @property
    def message(self) -> bytes:
        """The message's JSON as recorded, b"" if contexts show none unchanged."""
        start, stop = span_of(self._frame)
        return bytes(self._frame[start:stop])

    @property
    def body(self) -> bytes:
        return bytes(body_of(self._frame))

    @property
    def body_size(self) -> int:
        return len(body_of(self._frame))


def event(snapshot: Snapshot, session: str, seq: int) -> LazyEvent:
    """Return an event by its number. Raises NotFoundError."""
    return LazyEvent(snapshot.frame(session, seq), session)


def find_entry(snapshot: Snapshot, session: str, event_id: str, *, as_of: int) -> int:
    """Return an entry's number by its id. Raises NotFoundError if missing or after `as_of`."""
    seq = snapshot.locate(session, event_id)
    if not seq or seq > as_of:
        raise no_event(session, event_id)
    if not (found := event(snapshot, session, seq)).is_entry:
        raise no_entry(event_id, found.parent_seq)
    return seq


def entry_id(snapshot: Snapshot, session: str, seq: int) -> str | None:
    """Return the id of an entry by its number, None for 0, the root."""
    return event(snapshot, session, seq).id if seq else None


def events(
    snapshot: Snapshot, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
) -> Iterator[LazyEvent]:
    """Yield events `first` to `last` (None: the newest), oldest first unless `backward`."""
    frames = snapshot.frames(session, first=first, last=last, backward=backward)
    return (LazyEvent(frame, session) for frame in frames)


def parents_first(snapshot: Snapshot, session: str, *, last: int | None = None) -> Iterator[LazyEvent]:
    """Yield events up to number `last`, in the order of the log but parents before children."""
    if not snapshot.head(session).is_late:
        yield from events(snapshot, session, last=last)
        return
    waiting: dict[int, list[LazyEvent]] = {}
    seen = {0}
    for each in events(snapshot, session, last=last):
        if each.is_entry and each.parent_seq not in seen:
            waiting.setdefault(each.parent_seq, []).append(each)
            continue
        ready = [each]
        while ready:
            found = ready.pop(0)
            yield found
            seen.add(found.seq)
            ready += waiting.pop(found.seq, ())


class Order:
    """The order of a session's entries, in which parents precede their children.

    It is that of the log unless a parent came late.
    """

    def __init__(self, snapshot: Snapshot, session: str) -> None:
        self._numbers: list[int] = []
        self._places: dict[int, int] = {}
        if snapshot.head(session).is_late:
            self._numbers = [each.seq for each in parents_first(snapshot, session) if each.is_entry]
            self._places = {seq: place for place, seq in enumerate(self._numbers)}

    def place(self, seq: int) -> int:
        """Return an entry's place in the order, by its number."""
        return self._places.get(seq, seq)

    def between(self, above: int, below: int) -> Sequence[int]:
        """Return the numbers of the entries behind one and before another."""
        if not self._places:
            return range(above + 1, below)
        return self._numbers[self._places[above] + 1 : self._places[below]]


def events_of_kinds(
    snapshot: Snapshot,
    session: str,
    kinds: Collection[str],
    *,
    first: int = 1,
    last: int | None = None,
    backward: bool = False,
) -> Iterator[LazyEvent]:
    """Yield the events of some kinds on all branches; of others only the kind is read."""
    frames = snapshot.frames(session, first=first, last=last, backward=backward)
    return _of_kinds(frames, session, kinds)


def own_notes(
    snapshot: Snapshot, session: str, shape: type[T], *, last: int | None = None
) -> Iterator[tuple[Note, T]]:
    """Yield the notes that refold wrote whose data has a shape, and that data."""
    # A harness's own may be thousands.
    found = (each for each in snapshot.frames(session, last=last) if each[1] == _NOTE and is_own(each))
    for frame in found:
        note = own_record(LazyEvent(frame, session))
        with suppress(msgspec.ValidationError):
            if isinstance(note, Note):
                yield note, msgspec.convert(note.data, shape)


def path(snapshot: Snapshot, session: str, leaf: int, *, first: int = 1) -> Iterator[LazyEvent]:
    """Yield the entries from the root to entry `leaf`, from number `first` on."""
    return (LazyEvent(frame, session) for frame in snapshot.path(session, leaf, first=first))


def behind(snapshot: Snapshot, session: str, leaf: int, seq: int) -> Iterator[LazyEvent]:
    """Yield the entries of a path behind entry `seq`, all of them for 0."""
    return (entry for entry in path(snapshot, session, leaf, first=max(seq, 1)) if entry.seq != seq)


def path_of_kinds(
    snapshot: Snapshot, session: str, leaf: int, kinds: Collection[str], *, first: int = 1
) -> Iterator[LazyEvent]:
    """Yield the entries of some kinds on a path; of others only the kind is read."""
    return _of_kinds(snapshot.path(session, leaf, first=first), session, kinds)


def upward(snapshot: Snapshot, session: str, leaf: int) -> Iterator[LazyEvent]:
    """Yield entries from a leaf up to the root, each read on demand. Raises CorruptionError."""
    seen = set[int]()
    while leaf:
        entry = event(snapshot, session, leaf)
        if leaf in seen:
            raise CorruptionError(session, leaf, "it is above itself")
        seen.add(leaf)
        yield entry
        leaf = entry.parent_seq


def in_effect_on(snapshot: Snapshot, session: str, leaf: int, *, first: int = 1) -> Iterator[LazyEvent]:
    """Yield the entries in effect on a path, newest first."""
    newest_first = reversed(list(snapshot.path(session, leaf, first=first)))
    found = in_effect(newest_first, lambda seq: snapshot.frame(session, seq))
    return (LazyEvent(frame, session) for frame in found)


def append_with(snapshot: Snapshot, session: str, seq: int) -> str:
    """Return the key of the append that an event belongs to; see `LazyEvent.append`."""
    return append_at(seq, lambda number: snapshot.frame(session, number))


def _of_kinds(frames: Iterable[Buffer], session: str, kinds: Collection[str]) -> Iterator[LazyEvent]:
    codes = _codes(frozenset(kinds))
    found = (LazyEvent(frame, session) for frame in frames if frame[1] in codes)
    return found if 0 not in codes else (each for each in found if each.kind in kinds)


@cache
def _codes(kinds: frozenset[str]) -> frozenset[int]:
    """Return the codes on disk; 0 stands for every kind without its own."""
    return frozenset(CODE_OF_KIND.get(kind, 0) for kind in kinds)


def messages_of_path(
    snapshot: Snapshot,
    session: str,
    leaf: int,
    *,
    first: int,
    kinds: frozenset[str],
    show: Callable[[LazyEvent], Sequence[bytes]],
    marked: frozenset[str],
    marks: list[LazyEvent],
) -> list[Buffer]:
    """Return the messages of a path as slices of the store, without decoding or copying them.

    This loop is the cost of rebuilding a context: one unpacking and one slice per message. That is why it
    works on frames and is in this package. Entries of `kinds` that are not shown as stored go through `show`,
    which may return none or several messages. Those of `marked` kinds, which show none, are added to `marks`.
    """
    codes, others, marking = _codes(kinds), list[LazyEvent](), _codes(marked)

    def aside(frame: Buffer) -> bytes:
        others.append(LazyEvent(frame, session))
        return _ASIDE

    def mark(frame: Buffer) -> bool:
        marks.append(LazyEvent(frame, session))
        return False

    found = [
        frame[start:stop] if stop else aside(frame)
        for frame in snapshot.path(session, leaf, first=first)
        for start, stop in (span_of(frame),)
        if stop or frame[1] in codes or (frame[1] in marking and mark(frame))
    ]
    if not others:
        return found
    shown = iter(others)
    return [raw for message in found for raw in (show(next(shown)) if message is _ASIDE else (message,))]


_ASIDE: Final = b""
"""A placeholder for entries that are not shown as stored."""


T = TypeVar("T")
_ENTRIES: Final = 1024


class SnapshotCache(Generic[T]):
    """A bounded dictionary of results about events, keyed by digest; cleared when full.

    An event's chained digest identifies its record and all before it, in any store, so that results about these never
    become stale. Its place is not among them: a parent may come late. Threads may share a cache.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, T] = {}

    def find(self, key: Hashable) -> T | None:
        """Return the cached result for a key, None if there is none."""
        return self._kept.get(key)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached result for a key; compute it if needed."""
        try:
            return self._kept[key]
        except KeyError:
            if len(self._kept) >= _ENTRIES:
                self._kept = {}
            made = self._kept[key] = make()
            return made
