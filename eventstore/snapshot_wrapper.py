"""Wrap a snapshot, to change some of its reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Self

from eventstore.log import Snapshot, SourceState


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
