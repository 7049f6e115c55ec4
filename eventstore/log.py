"""Define the log's interface: a few primitives for all stores and folds."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Literal, Protocol, Self

import msgspec

from eventstore.chain import START, UNKNOWN_TIME
from eventstore.errors import CorruptionError
from eventstore.event import ROLES, Flag, NewEvent
from eventstore.frame import Buffer, header_of, kind_of, linked

Progress = Callable[[int, int], None]
"""Called with the amount done so far and in all: bytes of files, or events."""
Expected = int | Literal["any", "new"]
"""The session version that an append expects; 0 and "new" mean no session yet."""
# Python 3.11 looks up a member of an enum in several steps, and these are needed for every event.
_OFF_PATH: Final = int(Flag.OFF_PATH)
_GIVES_TITLE: Final = int(Flag.GIVES_TITLE)


class Head(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The state of a session.

    `version` is the number of its newest event, `leaf` that of its newest entry, `position` the newest
    event's place in the whole store, `digest` the end of its chain. `entries` counts the entries of its tree.
    `info_seq`, `user_seq` and `import_seq` are the newest `session_info`, the first user message and the
    newest `import` (0: none), `observed` all `observed_rewrite` events. `first_time` and `last_time` span the
    known times of its entries. `source` is the file that it was last imported from, on this machine. `titles`
    are all other events that set the title. `standing` is how the reading of its records stands
    (`eventstore.placing`); `is_late`: a parent came after its child, so that paths are not in the order of the log.
    """

    name: str
    number: int
    version: int = 0
    leaf: int = 0
    position: int = 0
    digest: bytes = START
    entries: int = 0
    info_seq: int = 0
    user_seq: int = 0
    import_seq: int = 0
    observed: tuple[int, ...] = ()
    first_time: int | None = None
    last_time: int | None = None
    source: str = ""
    titles: tuple[int, ...] = ()
    standing: bytes = b""
    is_late: bool = False


class HeadFold:
    """Advance a session's head event by event, imported from `source` if given.

    A fold that changes in place takes a third of the time of a new `Head` for each event.
    """

    def __init__(self, head: Head, source: str = "") -> None:
        self._before, self._source = head, source or head.source
        self.version, self.leaf, self.digest = head.version, head.leaf, head.digest
        self._position, self._entries = head.position, head.entries
        self._info, self._user, self._import = head.info_seq, head.user_seq, head.import_seq
        self._first, self._last = head.first_time, head.last_time
        self._observed, self._titles = [*head.observed], [*head.titles]
        self.standing, self.is_late = head.standing, head.is_late

    def add_frame(self, seq: int, frame: Buffer) -> None:
        """Add the session's next event."""
        head = header_of(frame)
        time = None if head.time == UNKNOWN_TIME else head.time
        kind = kind_of(frame)
        self.add(seq, head.position, head.digest, kind, ROLES[head.role], time, head.flags)

    def add(  # noqa: PLR0917  every event of an import comes here
        self, seq: int, position: int, digest: bytes, kind: str, role: str, time: int | None, flags: int
    ) -> None:
        """Add the session's next event by its fields; see `Event`. Its leaf is the newest entry."""
        self.version, self._position, self.digest = seq, position, digest
        if not flags & _OFF_PATH:
            self.leaf = seq
            self._entries += 1
            if time is not None:
                if self._first is None or time < self._first:
                    self._first = time
                if self._last is None or time > self._last:
                    self._last = time
            if not self._user and role == "user":
                self._user = seq
        if kind == "session_info":
            self._info = seq
        elif kind == "import":
            self._import = seq
        elif kind == "observed_rewrite":
            self._observed.append(seq)
        if flags & _GIVES_TITLE:
            self._titles.append(seq)

    def head(self) -> Head:
        """Return the head after the events that were added."""
        return Head(
            name=self._before.name,
            number=self._before.number,
            version=self.version,
            leaf=self.leaf,
            position=self._position,
            digest=self.digest,
            entries=self._entries,
            info_seq=self._info,
            user_seq=self._user,
            import_seq=self._import,
            observed=tuple(self._observed),
            first_time=self._first,
            last_time=self._last,
            source=self._source,
            titles=tuple(self._titles),
            standing=self.standing,
            is_late=self.is_late,
        )


class SourceState(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The state of a session file when it was last imported without an error.

    `path` is absolute, as `os.fsencode` returns it. `size` is in bytes, `modified` in nanoseconds since the
    epoch, or 0 if its time does not tell it from a later state: it had changed just before, or is a database.
    `device` and `inode` recognize a file that was renamed. `read` is the number of bytes before a torn tail,
    where the next import of a file that only grows continues (0 for one that is read anew). `harness` names its
    format, and `sessions` are the sessions of the store that hold its records, its own first.
    """

    path: bytes
    size: int
    modified: int
    device: int
    inode: int
    read: int
    harness: str
    sessions: tuple[str, ...]

    def matches(self, stat: os.stat_result) -> bool:
        """Return True if a file with this status has not changed since."""
        now = stat.st_size, stat.st_mtime_ns, stat.st_dev, stat.st_ino
        return now == (self.size, self.modified, self.device, self.inode)


class AppendResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an append: session version, store position, number of new events."""

    version: int
    position: int
    added: int


class StoreSize(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A store's size: bytes of its file, and bytes in it that are free for reuse."""

    file_bytes: int
    free_bytes: int


class FeedItem(msgspec.Struct, frozen=True):
    """One event of the whole store, in order of position."""

    position: int
    session: str
    seq: int
    frame: Buffer


class Snapshot(Protocol):
    """A consistent view of a log. Frames are valid until it closes, and of the current version."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return the snapshot itself, so that a fold accepts a log or a snapshot of one."""

    def heads(self) -> Iterator[Head]:
        """Return the heads of all sessions, sorted by name.

        One that is damaged has version 0: `head` raises its CorruptionError.
        """

    def head(self, session: str) -> Head:
        """Return the head of a session. Raises NotFoundError."""

    def frame(self, session: str, seq: int) -> Buffer:
        """Return the frame of one event. Raises NotFoundError."""

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        """Return the frames of events `first` to `last` (None: the newest).

        They are oldest first unless `backward`.
        """

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        """Return the frames from the root to entry `leaf`, from number `first` on; none for leaf 0."""

    def locate(self, session: str, event_id: str) -> int:
        """Return an event's sequence number by its id, 0 if the session has no such event."""

    def sessions_with(self, event_id: str, *, only: str = "") -> Sequence[str]:
        """Return the names of the sessions that have an event with this id, sorted.

        With `only`, look in no other session.
        """

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        """Return the ids of a session's events that start with `prefix`, sorted."""

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        """Return all events of the store after position `after`, in order."""

    def blob(self, digest: bytes) -> bytes:
        """Return a payload stored beside the events. Raises NotFoundError."""

    def derived(self, key: bytes) -> bytes | None:
        """Return a cached result, None if it must be computed."""

    def source(self, path: bytes) -> SourceState | None:
        """Return the last imported state of the file at an absolute path, None if it has none."""

    def sources(self) -> Iterator[SourceState]:
        """Return the last imported states of all files, in no particular order."""


class EventLog(Protocol):
    """An append-only log of sessions."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open a consistent view of the log. Keep it short: it holds old pages in a store."""

    def append(
        self,
        session: str,
        events: Sequence[NewEvent],
        *,
        expected: Expected = "any",
        blobs: Iterable[bytes] = (),
        source: str = "",
        seen: SourceState | None = None,
    ) -> AppendResult:
        """Append events with their indexes and blobs in one transaction, or nothing.

        The same transaction replaces the state of the file at `seen.path`, even if no event is new; with no
        events at all, it only does that. A read-only log, or a store on a full disk that an older refold made,
        keeps no states: then `Snapshot.source` returns None.

        Skip events that the session already has with the same content, so that an append can be repeated; if
        all are skipped, `expected` does not matter. The append is durable on return. Raises
        VersionConflictError, EventConflictError, NotFoundError (a missing parent), BadInputError (an id or
        name that cannot be a key).
        """

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        """Cache computed results that can be computed again; a read-only store caches none."""

    def close(self) -> None:
        """Close the log; may be called twice."""


class StoredLog(EventLog, Protocol):
    """A log that outlives the process, for use in a `with` block.

    `path` is what `open_store` takes to open it again; `place` is the same as it may be shown.
    """

    path: str
    place: str

    @property
    def folder(self) -> str:
        """A folder on this machine for files that can be made again from the log."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def size(self) -> StoreSize:
        """Return the store's size."""

    def copy_to(self, folder: str | os.PathLike[str]) -> None:
        """Copy a consistent state into an empty folder. Raises StoreError if the store has none."""

    def replace(
        self,
        frames: Mapping[tuple[str, int], bytes],
        heads: Sequence[Head],
        blobs: Mapping[bytes, bytes],
        position: int,
    ) -> None:
        """Put other frames in the place of events, by session and number; drop cached results.

        `heads` are the heads of their sessions, `blobs` the payloads that replace others by digest. Only a purge does
        this, at the end: open the store again afterwards. Raises StoreError, also unless the store's newest event has
        this position; then nothing has changed.
        """


_OF_CONTENTS: Final = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    msgspec.MsgspecError,
)
"""Errors that a fold raises for contents that no append allows: a sign of damage."""


def damage_behind(
    error: BaseException, snapshot: Snapshot, sessions: Collection[str]
) -> CorruptionError | None:
    """Return the damage that explains a reader's error, None if there is none.

    `sessions` are those that were read: damage names the only one. Nothing is checked inside the loop over frames,
    which determines a rebuild's cost.
    """
    session = next(iter(sessions)) if len(sessions) == 1 else ""
    if isinstance(error, struct.error):
        return CorruptionError(session, 0, "a frame is truncated")
    if isinstance(error, CorruptionError) and session and not error.session:
        return CorruptionError(session, error.seq, error.problem)
    return _altered(snapshot, sessions) if isinstance(error, _OF_CONTENTS) else None


def _altered(snapshot: Snapshot, sessions: Collection[str]) -> CorruptionError | None:
    """Return the first altered event of these sessions, None if all are sound."""
    for session in sessions:
        digest = START
        try:
            for seq, frame in enumerate(snapshot.frames(session), 1):
                found = linked(frame, digest)
                if found is None or (found.seq, found.digest) != (seq, found.expected):
                    return CorruptionError(session, seq, "has been altered since it was appended")
                digest = found.digest
        except CorruptionError as error:
            return error
    return None


class SnapshotWrapper:
    """Forward the reads of a `Snapshot` that concern no events; subclasses define the others."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def snapshot(self) -> AbstractContextManager[Self]:
        return nullcontext(self)

    def blob(self, digest: bytes) -> bytes:
        return self._snapshot.blob(digest)

    def derived(self, key: bytes) -> bytes | None:
        return self._snapshot.derived(key)

    def source(self, path: bytes) -> SourceState | None:
        return self._snapshot.source(path)

    def sources(self) -> Iterator[SourceState]:
        return self._snapshot.sources()
