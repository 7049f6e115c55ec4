"""Record the sessions that a fold asks a snapshot about, and count the events that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from eventstore.log import Snapshot

T = TypeVar("T")


class RecordingSnapshot:
    """A snapshot that tells which sessions it was asked about; "" stands for all of them.

    `read` is the number of events that it gave, each as often as it was asked for.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.sessions: set[str] = set()
        self.read = 0

    def snapshot(self) -> AbstractContextManager[RecordingSnapshot]:
        return nullcontext(self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        primitive: Callable[..., Any] = getattr(self._snapshot, name)

        def recorded(*arguments: Any, **options: Any) -> Any:
            self.sessions.add(arguments[0] if arguments else "")
            given = primitive(*arguments, **options)
            self.read += name == "frame"
            return self._counted(given) if name in ("frames", "path") else given

        return recorded

    def _counted(self, frames: Iterator[T]) -> Iterator[T]:
        for frame in frames:
            self.read += 1
            yield frame
