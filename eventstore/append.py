"""Check appends, build their events, and compute pointers and the effect of undos."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from eventstore.chain import is_same_body, is_tombstone, link, link_encoded
from eventstore.errors import (
    BadInputError,
    EventConflictError,
    VersionConflictError,
    no_parent,
)
from eventstore.event import MAX_RECORD_BYTES, OWN_PLACE, Event, Flag, NewEvent, Parent, Place
from eventstore.facts import facts_of
from eventstore.frame import (
    FORMATS,
    Buffer,
    Written,
    decode,
    encode_place,
    encode_record,
    header_of,
    header_only,
    id_of,
    pointers_of,
    seq_of,
    with_body,
    written_in,
)
from eventstore.harnesses import place_of
from eventstore.javascript import DEEPEST_RECORD, is_deeper
from eventstore.kinds import CODE_OF_KIND, COMPACTION, OFF_PATH, is_entry
from eventstore.log import Expected, Head, HeadFold
from eventstore.placing import Placed, Placer
from eventstore.records import FORMAT
from eventstore.runs import ReadFrame, append_at, in_effect, runs_above

MAX_SESSION_NAME_BYTES: Final = 480
"""In bytes of UTF-8; LMDB keys hold 511."""
_MAX_NAME_LENGTH: Final = 0xFFFF
# Python 3.11 looks up a member of an enum in several steps, and these are needed for every event.
_OFF_PATH: Final = int(Flag.OFF_PATH)
_OVERLAID: Final = int(Flag.OVERLAID)
_SETS_MODEL: Final = int(Flag.SETS_MODEL)
_SETS_THINKING: Final = int(Flag.SETS_THINKING)
_ORPHAN: Final = int(Flag.ORPHAN)
_OVERLAYS: Final = frozenset({"rewrite", "undone"})
"""Kinds of events behind which contexts show earlier ones otherwise."""
_ENCODED: Final = {name: name.encode() for name in (*FORMATS, *CODE_OF_KIND)}
"""Formats and kinds in UTF-8."""
_FORMATS_OF_FILES: Final = frozenset(FORMATS[1:])
_LATEST: Final = 8_640_000_000_000_000
"""The last millisecond that ECMAScript accepts as a date; imported times come from there."""


def check_session_id(name: str) -> str:
    """Return a valid session id unchanged.

    Raises BadInputError for an empty one, and for one that the command line would parse as something else.
    """
    if not name or name.startswith("@") or not name.isprintable():
        problem = "a name must not be empty, start with @ or contain control characters"
        raise BadInputError(f"session {name!r}", problem, "choose another name")
    return name


def check_new_session(name: str) -> str:
    """Return an id that a person may give to a new session.

    Raises BadInputError for one that looks like a file path or an event number. Imported sessions may have
    such ids, because harnesses choose them.
    """
    check_session_id(name)
    if "/" in name or name.endswith((".jsonl", ".json")):
        raise BadInputError(f"session {name!r}", "the name looks like a file path", "choose another name")
    if name.startswith("#"):
        raise BadInputError(f"session {name!r}", "the name looks like an event number", "choose another name")
    return name


def check_events(session: str, events: Sequence[NewEvent]) -> None:
    """Raise BadInputError for an invalid session name or an event that cannot be stored."""
    if not 0 < _size(session) <= MAX_SESSION_NAME_BYTES:
        raise BadInputError(
            f"session {session[:40]!r}",
            f"a session's name must have 1 to {MAX_SESSION_NAME_BYTES} bytes of UTF-8",
            "choose another name",
        )
    for event in events:
        event_id, time = event.id, event.time
        # Almost all events of files pass these; the others are checked rule by rule.
        if (
            0 < len(event_id) <= _MAX_NAME_LENGTH
            and event_id.isascii()
            and event.kind in CODE_OF_KIND
            and event.format in _FORMATS_OF_FILES
            and not event.cause
            and (time is None or -_LATEST <= time <= _LATEST)
            and len(event.body) <= MAX_RECORD_BYTES
        ):
            continue
        _check_event(session, event)


def _check_event(session: str, event: NewEvent) -> None:
    if not 0 < _size(event.id) <= _MAX_NAME_LENGTH:
        raise _wrong_length(session, event, "id")
    if isinstance(event.parent, str) and not 0 < _size(event.parent) <= _MAX_NAME_LENGTH:
        raise no_parent(event.parent)
    if event.kind not in CODE_OF_KIND and not 0 < _size(event.kind) <= _MAX_NAME_LENGTH:
        raise _wrong_length(session, event, "kind")
    if event.cause and not 0 < _size(event.cause) <= _MAX_NAME_LENGTH:
        raise BadInputError(
            f"session {session!r}, event {event.id!r}",
            f"its cause must have at most {_MAX_NAME_LENGTH} bytes of UTF-8",
            "give it another cause",
        )
    # Other formats' events were read from files or copied from a log, and are checked already.
    if event.format == FORMATS[0] and is_entry(event.kind) and is_deeper(event.body, DEEPEST_RECORD):
        raise BadInputError(
            f"session {session!r}, event {event.id!r}",
            f"its record is nested deeper than {DEEPEST_RECORD} levels",
            "store deeper levels as a text",
        )
    if event.time is not None and abs(event.time) > _LATEST:
        raise BadInputError(
            f"session {session!r}, event {event.id!r}",
            f"its time, {event.time}, is not a valid time in epoch milliseconds",
            "give it its time, or None",
        )
    if len(event.body) > MAX_RECORD_BYTES:
        raise BadInputError(
            f"session {session!r}, event {event.id!r}",
            f"its record has {len(event.body):,} bytes, and the largest {MAX_RECORD_BYTES:,}",
            "store its content in parts",
        )
    if event.format not in FORMATS:
        raise BadInputError(
            f"session {session!r}, event {event.id!r}",
            f"unknown format {event.format!r}",
            f"use one of {', '.join(FORMATS)}",
        )


def _wrong_length(session: str, event: NewEvent, what: str) -> BadInputError:
    return BadInputError(
        f"session {session!r}, event {event.id[:40]!r}",
        f"its {what} must have 1 to {_MAX_NAME_LENGTH} bytes of UTF-8",
        f"give it another {what}",
    )


def _size(name: str) -> int:
    """Return the length in bytes of UTF-8, -1 if there is none (a lone surrogate)."""
    if name.isascii():
        return len(name)
    try:
        return len(name.encode())
    except UnicodeEncodeError:
        return -1


def check_expected(session: str, expected: Expected, version: int) -> None:
    """Raise VersionConflictError unless a session has the expected version (0: none yet)."""
    if expected != "any" and version != (0 if expected == "new" else expected):
        raise VersionConflictError(session, expected, version)


def is_same(new: NewEvent, stored: Event | NewEvent) -> bool:
    """Return True if an event equals a stored one, ignoring fields that its writer left open."""
    return (
        is_same_body(new.body, stored.body)
        and (new.kind == stored.kind or is_tombstone(stored.body))
        and (new.is_clocked or new.time == stored.time)
        and new.format == stored.format
        and new.cause == stored.cause
        and (new.parent is Parent.LEAF or not is_entry(new.kind) or new.parent == _written(stored))
    )


def _written(event: Event | NewEvent) -> object:
    return event.written_parent if isinstance(event, Event) else event.parent


def resolve_pointers(
    event: NewEvent, seq: int, parent_seq: int, target_seq: int, read: ReadFrame
) -> tuple[int, int, int, int, int, int]:
    """Return the pointers of a new event with number `seq`, given its parent and target.

    They are its flags, and the numbers from `run_start` to `target_seq` of `Event`.
    """
    flags, kind = event.facts.flags, event.kind
    if kind in OFF_PATH:
        return flags | _OFF_PATH, seq, 0, 0, 0, target_seq
    above_flags = run_start = compaction = model = thinking = 0
    if parent_seq:
        _, above_flags, _, run_start, compaction, model, thinking, _ = pointers_of(read(parent_seq))
    if above_flags & _OVERLAID or kind in _OVERLAYS:
        flags |= _OVERLAID
    if kind == "compaction":
        compaction = seq
        target_seq = target_seq if _lies_on_path(target_seq, parent_seq, read) else 0
    elif kind == "undone":
        compaction = _effective_compaction(parent_seq, target_seq, read)
    return (
        flags,
        run_start if parent_seq and parent_seq == seq - 1 else seq,
        compaction,
        seq if flags & _SETS_MODEL else model,
        seq if flags & _SETS_THINKING else thinking,
        target_seq,
    )


def _lies_on_path(seq: int, leaf: int, read: ReadFrame) -> bool:
    if not seq:
        return False
    return any(start <= seq <= stop for start, stop in runs_above(leaf, read))


def _upward(leaf: int, read: ReadFrame) -> Iterator[Buffer]:
    seen = set[int]()
    while leaf and leaf not in seen:
        seen.add(leaf)
        frame = read(leaf)
        yield frame
        _, _, leaf, *_ = pointers_of(frame)


def _effective_compaction(leaf: int, target_seq: int, read: ReadFrame) -> int:
    """Return the newest compaction in effect on the path once an append is undone.

    The append is that of event number `target_seq`.
    """
    above = header_of(read(leaf)) if leaf else None
    if above is None:
        return 0
    if not above.flags & Flag.OVERLAID and target_seq:
        # Without an undo above, the newest compaction is in effect, unless this append undoes it.
        if not above.compaction_seq:
            return 0
        if append_at(above.compaction_seq, read) != append_at(target_seq, read):
            return above.compaction_seq
    effective = in_effect(_upward(leaf, read), read, undoing=target_seq)
    return next((seq_of(frame) for frame in effective if frame[1] == COMPACTION), 0)


def link_of(previous: bytes, event: Event) -> bytes:
    """Return the digest that an event should have after `previous`."""
    return link(
        previous,
        body=event.body,
        format=event.format,
        id=event.id,
        parent=event.written_parent,
        kind=event.kind if event.is_own else "",
        time=event.time,
        cause=event.cause,
    )


def written_of(event: NewEvent, seq: int, position: int, now: int, previous: bytes) -> Written:
    """Return the record of a session's next event, after the digest `previous`."""
    parent, written_as, body = event.parent, event.format, event.body
    kind = event.kind if written_as == FORMAT else ""
    names = event.id.encode(), parent.encode() if isinstance(parent, str) else b"", event.cause.encode()
    # The digest and the frame have the same names.
    digest = link_encoded(
        previous,
        body,
        (_ENCODED.get(written_as) or written_as.encode(), names[0], names[1], kind.encode(), names[2]),
        event.time,
    )
    return encode_record(
        names,
        type=kind,
        format=written_as,
        numbers=(seq, position),
        times=(event.time, now),
        digest=digest,
        body=body,
    )


def to_place(events: Iterable[NewEvent], leaf: Callable[[], str | None]) -> list[NewEvent]:
    """Return events that name their parents and say what decides about their places.

    The leaf is the entry before, or else `leaf()`. Events off the path name none.
    """
    found, newest = list[NewEvent](), None
    for event in events:
        parent, place = event.parent, event.place
        if event.kind in OFF_PATH:
            parent = None
        else:
            if parent is Parent.LEAF:
                parent = newest or leaf()
            newest = event.id
        if place is None:
            place = place_of(event)
        is_whole = parent is event.parent and place is event.place
        found.append(event if is_whole else msgspec.structs.replace(event, parent=parent, place=place))
    return found


class EventBuilder(ABC):
    """Build the frames of one append; each kind of store looks up what the session has.

    `frames` are the new frames by number, in order, `numbers` the new events' numbers by id, `moved` the frames of
    earlier events whose places change.
    """

    def __init__(self, session: str, now: int) -> None:
        self.session, self.now = session, now
        self.frames: dict[int, bytes] = {}
        self.numbers: dict[str, int] = {}
        self.moved: dict[int, bytes] = {}

    @abstractmethod
    def has_any(self, ids: Iterable[str]) -> bool:
        """Return True if an event with one of these ids is stored."""

    @abstractmethod
    def stored_number(self, event_id: str) -> int:
        """Return the number of a stored event by its id, 0 if there is none."""

    @abstractmethod
    def stored_frame(self, seq: int) -> Buffer:
        """Return the frame of a stored event. Raises CorruptionError."""

    def other_number(self, event_id: str) -> int:
        """Return the number of a stored event that a new one names, 0 if there is none."""
        return self.stored_number(event_id)

    def whole_frame(self, seq: int) -> Buffer:
        """Return the frame of a stored event with its body, where others come without."""
        return self.stored_frame(seq)

    def not_there_yet(self, events: Sequence[NewEvent]) -> list[NewEvent]:
        """Return the events that are not stored. Raises EventConflictError if the content differs."""
        fresh = {event.id: event for event in events}
        if len(fresh) == len(events) and not self.has_any(fresh):
            return list(events)
        fresh = {}
        for event in events:
            twin: NewEvent | Event | None = fresh.get(event.id)
            if twin is None and (seq := self.stored_number(event.id)):
                twin = decode(self.stored_frame(seq), self.session)
            if twin is None:
                fresh[event.id] = event
            elif not is_same(event, twin):
                raise EventConflictError(self.session, event.id)
        return list(fresh.values())

    def add(self, events: Iterable[NewEvent], head: Head, position: int, source: str) -> Head:
        """Build the session's next events, after `position`, and return the head after them.

        Raises NotFoundError for a parent.
        """
        new = to_place(events, lambda: self._id(head.leaf) if head.leaf else None)
        first, digest = head.version + 1, head.digest
        written: dict[int, Written] = {}
        for at, event in enumerate(new):
            each = written_of(event, first + at, position + at + 1, self.now, digest)
            written[first + at], digest = each, each.digest
        self.frames = dict.fromkeys(written, b"")
        placer = self._placer(head.standing, head.leaf)
        is_late = placer.is_late
        if not placer.changes_places(new):
            for placed in placer.place(new, first):
                self.numbers[placed.event.id] = placed.seq
                self.frames[placed.seq] = place_frame(written[placed.seq], placed, self._read)
            if placer.is_late:
                self.numbers = {event.id: seq for seq, event in enumerate(new, first)}
        if head.version and (placer.is_late > is_late or placer.changes_places(new)):
            return self._place_anew(new, written, head, source)
        placer.stand()
        after = HeadFold(head, source)
        for event, (seq, frame) in zip(new, self.frames.items(), strict=True):
            flags = pointers_of(frame)[1]
            digest, role = written[seq].digest, event.facts.role
            after.add(seq, position + seq - first + 1, digest, event.kind, role, event.time, flags)
        return stood(after, placer)

    def _place_anew(
        self, new: Sequence[NewEvent], written: Mapping[int, Written], head: Head, source: str
    ) -> Head:
        """Find the places of all events of the session again, because a parent came late."""
        before: list[bytes] = []
        earlier: list[NewEvent] = []
        for seq in range(1, head.version + 1):
            frame = self.whole_frame(seq)
            before.append(header_only(frame))
            earlier.append(placed_event(decode(frame, self.session), self._id))
        frames, placer = place_all(
            [*earlier, *new], lambda seq: written.get(seq) or written_in(before[seq - 1])
        )
        self.numbers = {event.id: seq for seq, event in enumerate(new, head.version + 1)}
        self.frames = {seq: frames[seq] for seq in written}
        self.moved = {
            seq: with_body(frames[seq], self.whole_frame(seq))
            for seq, frame in enumerate(before, 1)
            if frames[seq] != frame
        }
        return head_of(frames, placer, Head(name=head.name, number=head.number, source=head.source), source)

    def _placer(self, standing: bytes, leaf: int) -> Placer:
        return Placer(standing, leaf, locate=self._locate, read=self._read, place=self._place_of)

    def _place_of(self, seq: int) -> Place:
        return place_of(decode(self.whole_frame(seq), self.session))

    def _id(self, seq: int) -> str:
        return id_of(self.stored_frame(seq))

    def _locate(self, event_id: str) -> int:
        return self.numbers.get(event_id) or self.other_number(event_id)

    def _read(self, seq: int) -> Buffer:
        return self.frames.get(seq) or self.stored_frame(seq)


def head_of(frames: Mapping[int, bytes], placer: Placer, head: Head, source: str) -> Head:
    """Return a session's head after more events, by number and in order."""
    after = HeadFold(head, source)
    for seq, frame in frames.items():
        after.add_frame(seq, frame)
    return stood(after, placer)


def stood(after: HeadFold, placer: Placer) -> Head:
    """Return a session's head after events that a placer has placed."""
    after.leaf, after.standing, after.is_late = placer.leaf, placer.standing, placer.is_late
    return after.head()


def place_all(
    events: Sequence[NewEvent], written: Callable[[int], Written]
) -> tuple[dict[int, bytes], Placer]:
    """Place all events of a session; return their frames by number, with the record of each."""
    frames: dict[int, bytes] = dict.fromkeys(range(1, len(events) + 1), b"")
    numbers: dict[str, int] = {}
    placer = Placer(
        b"",
        0,
        locate=lambda name: numbers.get(name, 0),
        read=frames.__getitem__,
        place=lambda seq: events[seq - 1].place or OWN_PLACE,
    )
    for placed in placer.place(events, 1):
        numbers[placed.event.id] = placed.seq
        frames[placed.seq] = place_frame(written(placed.seq), placed, frames.__getitem__)
    placer.stand()
    return frames, placer


def place_frame(written: Written, placed: Placed, read: ReadFrame) -> bytes:
    """Return the frame of a record at its place; `read` returns the frames of placed ones."""
    seq, event, parent, target = placed.seq, placed.event, placed.parent, placed.target
    facts = event.facts
    flags, run_start, compaction, model, thinking, target = resolve_pointers(event, seq, parent, target, read)
    other = b""
    if parent and not placed.is_as_written and event.kind not in OFF_PATH:
        other = id_of(read(parent)).encode()
    return encode_place(
        written,
        kind=event.kind,
        parent=other,
        role=facts.role,
        flags=flags | _ORPHAN if placed.is_orphan else flags,
        span=facts.message,
        estimates=(facts.utf16, facts.utf8),
        pointers=(parent, run_start, compaction, model, thinking, target),
    )


def placed_event(event: Event, id_of_event: Callable[[int], str]) -> NewEvent:
    """Return a stored event as one to be placed again, without its body.

    What it says of its place is read from its record; a target that only its source told is kept.
    """
    facts = facts_of(event)
    target = facts.target
    if facts.needs_source:
        target = id_of_event(event.target_seq) if event.target_seq else None
    flags = facts.flags | (event.flags & _ORPHAN if event.written_parent is None else 0)
    return NewEvent(
        id=event.id,
        kind=event.kind,
        body=b"",
        format=event.format,
        parent=event.written_parent,
        time=event.time,
        cause=event.cause,
        facts=msgspec.structs.replace(facts, flags=flags, target=target),
        place=place_of(event),
    )
