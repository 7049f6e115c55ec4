"""Find the places of a session's records in its tree, and where the session stands.

A record names its parent, which may come later in the file, or never. The log keeps what was written; a place is made
of it, and made again for the whole session if a parent comes late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Final

import msgspec

from eventstore.errors import no_parent
from eventstore.event import OWN_PLACE, Absent, Flag, KeptMessages, NewEvent, Parent, Place
from eventstore.frame import Buffer, id_of, pointers_of, role_of
from eventstore.kinds import CODE_OF_KIND, OFF_PATH

_MESSAGE: Final = CODE_OF_KIND["message"]
_OFF_PATH: Final = int(Flag.OFF_PATH)
_NEVER: Final = 2**63
_REFUSED: Final = Absent.REFUSED
_ROOT: Final = Absent.ROOT


class Standing(msgspec.Struct, array_like=True, omit_defaults=True):
    """The state of a session's reading, on which places depend beside the records before.

    `last` is the newest record of the session's harness in the tree, `boundary` that of a compaction whose summary has
    not come. `instead` maps records to those that stand for them, `kept` the ids of messages that a summary keeps to
    the summary. `awaited` are the ids of parents that have not come. `is_late`: a parent came after its child.
    """

    last: int = 0
    boundary: int = 0
    instead: dict[int, int] = {}
    kept: dict[str, int] = {}
    awaited: list[str] = []
    is_late: bool = False

    def __bool__(self) -> bool:
        return self != _NOTHING


_NOTHING: Final = Standing()
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Standing).decode


class Placed(msgspec.Struct, frozen=True, gc=False):
    """A record with its number, and its parent's and target's, 0 for none.

    `is_as_written`: the parent is the one that the record names. `is_orphan`: that one is missing.
    """

    seq: int
    event: NewEvent
    parent: int
    target: int
    is_as_written: bool
    is_orphan: bool


class Placer:
    """Place the records of a session, in the order of the log.

    `locate` returns the number of a placed event by its id, 0 for none; `read` the frame of a placed event; `place`
    what the record with a number says of its place.
    """

    def __init__(
        self,
        standing: bytes,
        leaf: int,
        *,
        locate: Callable[[str], int],
        read: Callable[[int], Buffer],
        place: Callable[[int], Place],
    ) -> None:
        self._at = _decode(standing) if standing else Standing()
        self._locate, self._read, self._place_of = locate, read, place
        self._awaited = set(self._at.awaited)
        self._boundary: Place | None = None
        self._newest, self._time, self._below = 0, -_NEVER, dict[int, int]()
        self._is_own = False
        self.leaf = leaf

    @property
    def standing(self) -> bytes:
        """The state to continue from; b"" for a session of refold's own records."""
        self._at.awaited = sorted(self._awaited)
        return _encode(self._at) if self._at else b""

    @property
    def is_late(self) -> bool:
        """True if a parent came after its child."""
        return self._at.is_late

    def changes_places(self, events: Iterable[NewEvent]) -> bool:
        """Return True if these events change the places of earlier ones."""
        if self._at.is_late:
            return any(event.place and event.place.absent is not _REFUSED for event in events)
        return bool(self._awaited) and any(event.id in self._awaited for event in events)

    def place(self, events: Sequence[NewEvent], first: int) -> Iterator[Placed]:
        """Yield the places of the next events, parents first; the first one has the number `first`.

        The caller stores each one's frame, and its id for `locate`, before it asks for the next. Raises NotFoundError
        for the parent of one of refold's own records.
        """
        to_come: set[str] | None = None
        waiting: dict[str, list[tuple[int, NewEvent]]] = {}
        held, ends = dict[str, tuple[int, NewEvent]](), dict[str, str]()
        for seq, event in enumerate(events, first):
            named, found = event.parent, self._named(event)
            if not found and isinstance(named, str) and named != event.id:
                is_own = event.place is None or event.place.absent is _REFUSED
                if to_come is None and not is_own:
                    to_come = {each.id for each in events}
                if named in (held if is_own else to_come or held):
                    waiting.setdefault(named, []).append((seq, event))
                    held[event.id] = seq, event
                    if (end := _end(named, ends)) != event.id:
                        ends[event.id] = end
                    else:
                        # What waits for itself, as a circle does: its first has no parent.
                        number, root = min(_circle(event, held), key=itemgetter(0))
                        waiting[str(root.parent)].remove((number, root))
                        yield self._placed(number, root, 0)
                        yield from self._released(root.id, waiting)
                    continue
            yield self._placed(seq, event, found)
            if event.id in waiting:
                yield from self._released(event.id, waiting)

    def _released(self, name: str, waiting: dict[str, list[tuple[int, NewEvent]]]) -> Iterator[Placed]:
        """Place all events that waited for a placed one, or for those."""
        ready = waiting.pop(name, [])
        while ready:
            # In the order of the log; those that wait for one event are in it already.
            seq, event = heappop(ready)
            self._at.is_late = True
            yield self._placed(seq, event, self._named(event))
            for each in waiting.pop(event.id, ()):
                heappush(ready, each)

    def _named(self, event: NewEvent) -> int:
        """Return the number of the parent that a record names, 0 if it is not there."""
        named = event.parent
        return self._locate(named) if isinstance(named, str) and named != event.id else 0

    def _placed(self, seq: int, event: NewEvent, named: int) -> Placed:
        """Return an event's place; `named` is the number of the parent that it names."""
        place, at = event.place or OWN_PLACE, self._at
        if event.kind in OFF_PATH:
            self.stand()
            self._move(place)
            return Placed(seq, event, self.leaf, self._target(event), is_as_written=False, is_orphan=False)
        parent, is_as_written, is_orphan = self._parent(event, place, named)
        target = self._target(event)
        if place.absent is not _REFUSED:
            if place.named and (other := self._locate(place.named)):
                at.instead[self._current(other)] = seq
            if place.stands_in and parent:
                at.instead[parent] = seq
            if place.is_boundary:
                at.boundary, self._boundary = seq, place
            elif event.kind == "compaction" and at.boundary:
                target = self._keep(seq) or target
                at.boundary = 0
            at.last = seq
            time = _NEVER if event.time is None else event.time
            if time >= self._time or event.time is None:
                self._newest, self._time = seq, self._time if event.time is None else time
            if parent:
                self._below[parent] = seq
        self.leaf, self._is_own = seq, place.absent is _REFUSED
        return Placed(seq, event, parent, target, is_as_written, is_orphan)

    def stand(self) -> None:
        """Stand where the harness continues, if a parent came late.

        Then the order of the file is not that in which the records were made: it is below the latest one.
        """
        at, seen = self._newest, set[int]()
        if not at or not self._at.is_late or self._is_own:
            return
        while at in self._below and at not in seen:
            seen.add(at)
            at = self._below[at]
        self.leaf = at

    def _target(self, event: NewEvent) -> int:
        name = event.facts.target
        return self._locate(name) if name else 0

    def _parent(self, event: NewEvent, place: Place, found: int) -> tuple[int, bool, bool]:
        """Return the number of a record's parent, if it is as written, and if that is missing."""
        named, at = event.parent, self._at
        if named is Parent.LEAF:
            return self.leaf, False, False
        if place.absent is not _REFUSED and event.kind == "compaction" and at.boundary:
            return at.boundary, found == at.boundary, False
        if named is None:
            return (at.last if place.continues else 0), False, False
        assert isinstance(named, str)  # noqa: S101  the leaf was handled
        if found and (found == at.last or not pointers_of(self._read(found))[1] & _OFF_PATH):
            parent = self._current(at.kept.get(named, found)) if at.kept or at.instead else found
            if place.kept is not None and not place.kept.before:
                # It may name the last message that it summarizes; those that it keeps follow that one.
                parent = max(parent, self._locate(place.kept.last))
            return parent, parent == found, False
        if place.absent is _REFUSED:
            raise no_parent(named)
        if named != event.id:
            self._awaited.add(named)
        if place.absent is _ROOT:
            return 0, False, True
        return at.last, False, not place.is_boundary

    def _current(self, seq: int) -> int:
        """Return the number of the record that stands for one."""
        instead, seen = self._at.instead, set[int]()
        while seq in instead and seq not in seen:
            seen.add(seq)
            seq = instead[seq]
        return seq

    def _keep(self, summary: int) -> int:
        """Note what a summary keeps, by its boundary; return the number of the first kept message."""
        kept = (self._boundary or self._place_of(self._at.boundary)).kept
        if kept is None:
            return 0
        if not kept.before:
            # What follows names the last message that is kept; a rewind, any of them.
            names = self._run(kept) if kept.ids is None else [*kept.ids, kept.last]
            self._at.kept |= dict.fromkeys(names, summary)
        return self._locate(kept.first)

    def _run(self, kept: KeptMessages) -> list[str]:
        """Return the ids of the path from one message to a later one; none if it is broken."""
        names, first, at = list[str](), self._locate(kept.first), self._locate(kept.last)
        seen = set[int]()
        while first and at and at not in seen:
            seen.add(at)
            frame = self._read(at)
            names.append(id_of(frame))
            if at == first:
                return names
            _, _, at, *_ = pointers_of(frame)
        return []

    def _move(self, place: Place) -> None:
        """Stand at the entry that a record means, if it means one.

        At one that it names only if the newest path leaves its path with a message.
        """
        if place.drops:
            self._drop(place.drops)
        found = self._locate(place.moves_to) if place.moves_to else 0
        if not found or not self._at.last:
            return
        leaf, at, seen = self._current(found), self._at.last, set[int]()
        while at and at != leaf and at not in seen:
            seen.add(at)
            kind, _, above, *_ = pointers_of(self._read(at))
            if kind == _MESSAGE:
                break
            at = above
        if at != leaf:
            self._stand_at(leaf)

    def _drop(self, count: int) -> None:
        """Stand above so many of the newest messages of users, or above all that there are."""
        leaf, at, seen = 0, self._at.last, set[int]()
        while at and count and at not in seen:
            seen.add(at)
            frame = self._read(at)
            kind, _, above, *_ = pointers_of(frame)
            if kind == _MESSAGE and role_of(frame) == "user":
                leaf, count = above, count - 1
            at = above
        if seen and leaf != self._at.last:
            self._stand_at(leaf)

    def _stand_at(self, leaf: int) -> None:
        self.leaf = self._at.last = self._newest = leaf
        self._below.pop(leaf, None)
        self._is_own = False


def _end(name: str, ends: dict[str, str]) -> str:
    """Return the name that a waiting event waits for in the end; shortens the ways of `ends`."""
    passed = list[str]()
    while (above := ends.get(name)) is not None:
        passed.append(name)
        name = above
    ends |= dict.fromkeys(passed, name)
    return name


def _circle(event: NewEvent, held: Mapping[str, tuple[int, NewEvent]]) -> Iterator[tuple[int, NewEvent]]:
    """Yield the waiting events that wait for each other with an event, and their numbers."""
    at = held[event.id]
    yield at
    while (at := held[str(at[1].parent)])[1] is not event:
        yield at
