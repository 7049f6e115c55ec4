"""Record which sessions a result depends on, to tell later whether it still holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

from eventstore.errors import NotFoundError
from eventstore.frame import Buffer
from eventstore.log import FeedItem, Head, Snapshot, SourceState


def digest_of_session(snapshot: Snapshot, session: str) -> bytes | None:
    """Return the digest of a session's chain, None if there is no such session."""
    try:
        return snapshot.head(session).digest
    except NotFoundError:
        return None


class DependencySnapshot:
    """A `Snapshot` that remembers which sessions were read, with their digests.

    `reads_all`: a result depends on all sessions, also on those that are not there yet.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.sessions: dict[str, bytes | None] = {}
        self.reads_all = False

    def _read(self, session: str) -> Snapshot:
        if session not in self.sessions:
            self.sessions[session] = digest_of_session(self._snapshot, session)
        return self._snapshot

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self)

    def heads(self) -> Iterator[Head]:
        self.reads_all = True
        return self._snapshot.heads()

    def head(self, session: str) -> Head:
        return self._read(session).head(session)

    def frame(self, session: str, seq: int) -> Buffer:
        return self._read(session).frame(session, seq)

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        return self._read(session).frames(session, first=first, last=last, backward=backward)

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        return self._read(session).path(session, leaf, first=first)

    def locate(self, session: str, event_id: str) -> int:
        return self._read(session).locate(session, event_id)

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        return self._read(session).ids(session, prefix)

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        self.reads_all = True
        return self._snapshot.feed(after)

    def blob(self, digest: bytes) -> bytes:
        return self._snapshot.blob(digest)

    def derived(self, key: bytes) -> bytes | None:
        return self._snapshot.derived(key)

    def source(self, path: bytes) -> SourceState | None:
        return self._snapshot.source(path)

    def sources(self) -> Iterator[SourceState]:
        return self._snapshot.sources()
