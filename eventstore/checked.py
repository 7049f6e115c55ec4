"""Verify events while reading, so that no altered data reaches a summary or request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from eventstore.chain import START
from eventstore.errors import CorruptionError, NotFoundError
from eventstore.event import Flag
from eventstore.frame import Buffer, header_of, linked, pointers_of, seq_of
from eventstore.log import EventLog, FeedItem, Head, Snapshot, SnapshotWrapper

ALTERED: Final = "its header has been altered"
UNLINKED: Final = "its digest does not match its content and the previous event"


@contextmanager
def checked(log: EventLog | Snapshot) -> Iterator[Snapshot]:
    """Open a snapshot of a log, or wrap one, so that every read is verified."""
    with log.snapshot() as snapshot:
        yield snapshot if isinstance(snapshot, CheckedSnapshot) else CheckedSnapshot(snapshot)


def require_sound(log: EventLog | Snapshot, session: str) -> None:
    """Verify every event of a session. Raises CorruptionError for the first that was altered."""
    with checked(log) as snapshot:
        for _ in snapshot.frames(session):
            pass


class CheckedSnapshot(SnapshotWrapper):
    """A `Snapshot` that raises CorruptionError for an altered event or head.

    Each event is verified once: header, body, link to the previous event, and position. A fold thus verifies
    everything that it depends on: messages, the compaction in effect, rewrites, and events that set the model
    and thinking level.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self._digests = defaultdict[str, dict[int, bytes]](dict)
        self._heads: dict[str, Head] = {}

    def heads(self) -> Iterator[Head]:
        return (self.head(head.name) for head in self._snapshot.heads())

    def head(self, session: str) -> Head:
        if session not in self._heads:
            head = self._snapshot.head(session)
            newest = header_of(self._event(session, head.version, head.version))
            leaf = newest.parent_seq if newest.flags & Flag.OFF_PATH else newest.seq
            # Where a parent came late, the newest entry need not be the leaf.
            leaf = head.leaf if head.is_late else leaf
            if (newest.digest, newest.position, leaf) != (head.digest, head.position, head.leaf):
                raise CorruptionError(session, 0, "the session's head does not match its newest event")
            self._heads[session] = head
        return self._heads[session]

    def frame(self, session: str, seq: int) -> Buffer:
        return self._event(session, seq, self.head(session).version)

    def _event(self, session: str, seq: int, version: int) -> Buffer:
        try:
            frame = self._snapshot.frame(session, seq)
        except NotFoundError as error:
            if 0 < seq <= version:
                raise CorruptionError(session, seq, "is missing") from error
            raise
        return self._checked(session, seq, frame)

    def _checked(self, session: str, seq: int, frame: Buffer | None) -> Buffer:
        if frame is None:
            raise CorruptionError(session, seq, "is missing")
        digests = self._digests[session]
        if seq not in digests:
            previous = digests.get(seq - 1)
            digests[seq] = check_frame(self._snapshot, session, seq, frame, previous=previous)
        return frame

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        version = self.head(session).version
        numbers = range(max(first, 1), min(version, version if last is None else last) + 1)
        frames = self._snapshot.frames(session, first=first, last=last, backward=backward)
        return (
            self._checked(session, seq, next(frames, None))
            for seq in (reversed(numbers) if backward else numbers)
        )

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        version = self.head(session).version
        try:
            frames = list(self._snapshot.path(session, leaf, first=first))
        except NotFoundError as error:
            if leaf <= version:
                raise CorruptionError(session, leaf, "an event on its path is missing") from error
            raise
        if self.head(session).is_late:
            # Entries with earlier numbers may be left out between others.
            for frame in frames:
                self._checked(session, seq_of(frame), frame)
            return iter(frames)
        # Walk up first, to know each number before its frame is read; then verify in chain order.
        seq, numbers = leaf, []
        for frame in reversed(frames):
            numbers.append(seq)
            _, _, seq, *_ = pointers_of(frame)
        for number, frame in zip(reversed(numbers), frames, strict=True):
            self._checked(session, number, frame)
        if seq >= max(first, 1):
            raise CorruptionError(session, seq, "is missing on the path")
        return iter(frames)

    def locate(self, session: str, event_id: str) -> int:
        return self._snapshot.locate(session, event_id)

    def sessions_with(self, event_id: str, *, only: str = "") -> Sequence[str]:
        return self._snapshot.sessions_with(event_id, only=only)

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        return self._snapshot.ids(session, prefix)

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        for item in self._snapshot.feed(after):
            self._checked(item.session, item.seq, item.frame)
            yield item


def check_event(snapshot: Snapshot, session: str, seq: int) -> None:
    """Check one event; see `check_frame`. Raises CorruptionError, or NotFoundError for no event."""
    check_frame(snapshot, session, seq, snapshot.frame(session, seq))


def check_frame(
    snapshot: Snapshot, session: str, seq: int, frame: Buffer, *, previous: bytes | None = None
) -> bytes:
    """Verify that a frame is the event as it was appended; return its digest.

    Both parts must match their checksums, and what was written, together with the previous digest (`previous`, None to
    look it up), must match the digest. Raises CorruptionError.
    """
    if previous is None:
        previous = _digest_before(snapshot, session, seq)
    found = linked(frame, previous)
    if found is None:
        raise CorruptionError(session, seq, ALTERED)
    if found.seq != seq:
        raise CorruptionError(session, seq, f"is event {found.seq}")
    if found.digest != found.expected:
        raise CorruptionError(session, seq, UNLINKED)
    return found.digest


def _digest_before(snapshot: Snapshot, session: str, seq: int) -> bytes:
    if seq <= 1:
        return START
    try:
        before = snapshot.frame(session, seq - 1)
    except NotFoundError as error:
        raise CorruptionError(session, seq - 1, "is missing") from error
    found = linked(before, None)
    if found is None:
        raise CorruptionError(session, seq - 1, ALTERED)
    return found.digest
