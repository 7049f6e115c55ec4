"""Define the log's interface: a few primitives for all stores and folds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, Self

import msgspec

from eventstore.chain import START
from eventstore.event import Event, Flag, NewEvent
from eventstore.frame import Buffer

Expected = int | Literal["any", "new"]
"""The session version that an append expects; 0 and "new" mean no session yet."""


class Head(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The state of a session.

    `version` is the number of its newest event, `leaf` that of its newest entry, `position` the newest
    event's place in the whole store, `digest` the end of its chain. `entries` counts the entries of its tree.
    `info_seq`, `user_seq` and `import_seq` are the newest `session_info`, the first user message and the
    newest `import` (0: none), `observed` all `observed_rewrite` events. `first_time` and `last_time` span the
    known times of its entries. `source` is the file that it was last imported from, on this machine. `titles`
    are all other events that set the title.
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


def advance(head: Head, event: Event, *, source: str = "") -> Head:
    """Return a session's head after one more event, imported from `source` if given."""
    first, last, is_node = head.first_time, head.last_time, event.is_entry
    if is_node and event.time is not None:
        first = event.time if first is None else min(first, event.time)
        last = event.time if last is None else max(last, event.time)
    return Head(
        name=head.name,
        number=head.number,
        version=event.seq,
        leaf=event.seq if is_node else head.leaf,
        position=event.position,
        digest=event.digest,
        entries=head.entries + is_node,
        info_seq=event.seq if event.kind == "session_info" else head.info_seq,
        user_seq=head.user_seq or (event.seq if event.role == "user" and is_node else 0),
        import_seq=event.seq if event.kind == "import" else head.import_seq,
        observed=(*head.observed, event.seq) if event.kind == "observed_rewrite" else head.observed,
        first_time=first,
        last_time=last,
        source=source or head.source,
        titles=(*head.titles, event.seq) if event.flags & Flag.GIVES_TITLE else head.titles,
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
        """Return the heads of all sessions, sorted by name."""

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
        """Copy a consistent state into an empty folder. Raises StoreError, also for a store that is in none."""
