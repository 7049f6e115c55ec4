"""Record the sessions that a fold asks a snapshot about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from eventstore.log import Snapshot


class RecordingSnapshot:
    """A snapshot that tells which sessions it was asked about; "" stands for all of them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.sessions: set[str] = set()

    def snapshot(self) -> AbstractContextManager[RecordingSnapshot]:
        return nullcontext(self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        primitive: Callable[..., Any] = getattr(self._snapshot, name)

        def recorded(*arguments: Any, **options: Any) -> Any:
            self.sessions.add(arguments[0] if arguments else "")
            return primitive(*arguments, **options)

        return recorded
