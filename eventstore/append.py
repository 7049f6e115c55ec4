"""Check appends, build their events, and compute pointers and the effect of undos."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from eventstore.chain import link, link_encoded
from eventstore.errors import BadInputError, EventConflictError, NotFoundError, VersionConflictError
from eventstore.event import Event, Flag, NewEvent, Parent
from eventstore.frame import (
    FORMATS,
    Buffer,
    Header,
    decode,
    encode_fields,
    header_of,
    id_of,
    names_of,
    pointers_of,
)
from eventstore.javascript import DEEPEST_RECORD, is_deeper
from eventstore.kinds import CODE_OF_KIND, COMPACTION, OFF_PATH, UNDONE, is_entry
from eventstore.log import Expected, Head, HeadFold

ReadFrame = Callable[[int], Buffer]
"""Returns the frame with a sequence number of the session."""
MAX_SESSION_NAME_BYTES: Final = 480
"""In bytes of UTF-8; LMDB keys hold 511."""
_MAX_NAME_LENGTH: Final = 0xFFFF
# Python 3.11 looks up a member of an enum in several steps, and these are needed for every event.
_OFF_PATH: Final = int(Flag.OFF_PATH)
_OVERLAID: Final = int(Flag.OVERLAID)
_SETS_MODEL: Final = int(Flag.SETS_MODEL)
_SETS_THINKING: Final = int(Flag.SETS_THINKING)
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
        ):
            continue
        _check_event(session, event)


def _check_event(session: str, event: NewEvent) -> None:
    if not 0 < _size(event.id) <= _MAX_NAME_LENGTH:
        raise _wrong_length(session, event, "id")
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
        new.body == stored.body
        and new.kind == stored.kind
        and (new.is_clocked or new.time == stored.time)
        and new.format == stored.format
        and new.cause == stored.cause
        and (new.parent is Parent.LEAF or not is_entry(new.kind) or new.parent == stored.parent)
    )


class PathPointers(NamedTuple):
    """The pointers of a frame; names follow `Event`."""

    flags: int
    run_start: int
    compaction_seq: int
    model_seq: int
    thinking_seq: int
    target_seq: int


def resolve_pointers(
    event: NewEvent, seq: int, parent_seq: int, target_seq: int, read: ReadFrame
) -> tuple[int, int, int, int, int, int]:
    """Return the pointers of a new event with number `seq`, given its parent and target.

    They are the fields of `PathPointers`, in a plain tuple, because every event needs them.
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
    while leaf > seq:
        _, _, _, run_start, *_ = pointers_of(read(leaf))
        if run_start <= seq:
            return True
        _, _, above, *_ = pointers_of(read(run_start))
        leaf = _older(above, leaf)
    return leaf == seq


def _upward(leaf: int, read: ReadFrame) -> Iterator[Buffer]:
    while leaf:
        frame = read(leaf)
        yield frame
        _, _, above, *_ = pointers_of(frame)
        leaf = _older(above, leaf)


def _older(above: int, leaf: int) -> int:
    """Return the parent's number, or 0 if damaged pointers lead down, so that every walk ends."""
    return above if above < leaf else 0


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
        newest = read(above.compaction_seq)
        if append_of(newest, header_of(newest)) != append_at(target_seq, read):
            return above.compaction_seq
    effective = in_effect(_upward(leaf, read), read, undoing=target_seq)
    return next((head.seq for _, head in effective if head.kind == COMPACTION), 0)


def build_stored_event(
    new: NewEvent,
    head: Head,
    *,
    parent_seq: int,
    parent: str | None,
    target_seq: int,
    position: int,
    recorded: int,
    read: ReadFrame,
) -> Event:
    """Return the stored form of the session's next event.

    `parent_seq` and `parent` are its parent (0, None: none), `target_seq` its target (0: none), `position`
    its place in the whole log, `recorded` the time of storing in epoch milliseconds. `read` returns the
    session's frames by number.
    """
    seq = head.version + 1
    pointers = PathPointers(*resolve_pointers(new, seq, parent_seq, target_seq, read))
    digest = link(
        head.digest,
        body=new.body,
        format=new.format,
        id=new.id,
        parent=parent,
        kind=new.kind,
        time=new.time,
        cause=new.cause,
    )
    return Event(
        session=head.name,
        seq=seq,
        position=position,
        id=new.id,
        parent=parent,
        parent_seq=parent_seq,
        kind=new.kind,
        role=new.facts.role,
        time=new.time,
        recorded=recorded,
        cause=new.cause,
        format=new.format,
        utf16=new.facts.utf16,
        utf8=new.facts.utf8,
        message_span=new.facts.message,
        digest=digest,
        body=new.body,
        flags=pointers.flags,
        run_start=pointers.run_start,
        compaction_seq=pointers.compaction_seq,
        model_seq=pointers.model_seq,
        thinking_seq=pointers.thinking_seq,
        target_seq=pointers.target_seq,
    )


class EventBuilder(ABC):
    """Build the frames of one append; each kind of store looks up what the session has.

    `frames` are the new frames by number, `numbers` the new events' numbers by id.
    """

    def __init__(self, session: str, now: int) -> None:
        self.session, self.now = session, now
        self.frames: dict[int, bytes] = {}
        self.numbers: dict[str, int] = {}
        self._leaf: tuple[int, str] | None = None

    @abstractmethod
    def has_any(self, ids: Iterable[str]) -> bool:
        """Return True if an event with one of these ids is stored."""

    @abstractmethod
    def stored_number(self, event_id: str) -> int:
        """Return the number of a stored event by its id, 0 if there is none."""

    @abstractmethod
    def stored_frame(self, seq: int) -> Buffer:
        """Return the frame of a stored event. Raises CorruptionError."""

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
        after = HeadFold(head, source)
        for at, new in enumerate(events, position + 1):
            self._add(new, after, at)
        return after.head()

    def _add(self, new: NewEvent, head: HeadFold, position: int) -> None:
        seq, event_id, kind, time, body = head.version + 1, new.id, new.kind, new.time, new.body
        facts, written_as = new.facts, new.format
        parent_seq, parent = self._parent(new, head.leaf)
        target_seq = self._locate(facts.target) if facts.target else 0
        pointers = resolve_pointers(new, seq, parent_seq, target_seq, self._read)
        flags, run_start, compaction_seq, model_seq, thinking_seq, target_seq = pointers
        # The digest and the frame have the same names: an `Event` in between would take as long as both.
        names = event_id.encode(), parent.encode() if parent else b"", new.cause.encode()
        digest = link_encoded(
            head.digest,
            body,
            (
                _ENCODED.get(written_as) or written_as.encode(),
                names[0],
                names[1],
                _ENCODED.get(kind) or kind.encode(),
                names[2],
            ),
            time,
        )
        self.frames[seq] = encode_fields(
            names,
            kind=kind,
            role=facts.role,
            format=written_as,
            flags=flags,
            span=facts.message,
            estimates=(facts.utf16, facts.utf8),
            numbers=(
                seq,
                parent_seq,
                run_start,
                compaction_seq,
                model_seq,
                thinking_seq,
                target_seq,
                position,
            ),
            times=(time, self.now),
            digest=digest,
            body=body,
        )
        self.numbers[event_id] = seq
        if not flags & _OFF_PATH:
            self._leaf = seq, event_id
        head.add(seq, position, digest, kind, facts.role, time, flags)

    def _locate(self, event_id: str) -> int:
        return self.numbers.get(event_id) or self.stored_number(event_id)

    def _read(self, seq: int) -> Buffer:
        return self.frames.get(seq) or self.stored_frame(seq)

    def _parent(self, new: NewEvent, leaf: int) -> tuple[int, str | None]:
        if new.parent is Parent.LEAF or not is_entry(new.kind):
            if self._leaf is not None or not leaf:
                return self._leaf or (0, None)
            frame = self._read(leaf)
            return leaf, id_of(frame, header_of(frame))
        parent = new.parent
        if parent is None:
            return 0, None
        if self._leaf is not None and parent == self._leaf[1]:
            return self._leaf
        seq = self._locate(parent)
        if not seq or pointers_of(self._read(seq))[1] & _OFF_PATH:
            raise NotFoundError(
                "parent entry",
                parent,
                f"append it to session {self.session!r} first, or name another parent",
            )
        return seq, parent


def append_of(frame: Buffer, head: Header) -> str:
    """Return the key of an event's append: the common cause, else the event's own id."""
    event_id, cause = names_of(frame, head)
    return cause or event_id


def in_effect(
    newest_first: Iterable[Buffer], read: ReadFrame, *, undoing: int = 0
) -> Iterator[tuple[Buffer, Header]]:
    """Yield frames and headers of a path's entries in effect, newest first.

    From newest to oldest, an undo comes before what it undoes, and an undo of an undo before that one.
    `undoing` is the number of an event whose append counts as undone from the start, 0 for none.
    """
    undone = {append_at(undoing, read)} if undoing else set()
    for frame in newest_first:
        head = header_of(frame)
        if undone and append_of(frame, head) in undone:
            continue
        if head.kind == UNDONE and head.target_seq:
            undone.add(append_at(head.target_seq, read))
        yield frame, head


def append_at(seq: int, read: ReadFrame) -> str:
    """Return the key of the append that event number `seq` belongs to; see `append_of`."""
    frame = read(seq)
    return append_of(frame, header_of(frame))
