"""Run one call at a time for each session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from weakref import WeakValueDictionary


class ActiveCalls:
    """Run one call at a time for each session.

    A call with priority cancels the running one and waits until it has ended: at once if that waits for a
    cancellable summarizer, otherwise when it is done.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._sessions: WeakValueDictionary[str, _Session] = WeakValueDictionary()

    @contextmanager
    def one(self, session: str) -> Iterator[None]:
        """Enter a block that excludes other calls for the session."""
        calls = self._of(session)
        with calls.running:
            yield

    @contextmanager
    def first(self, session: str) -> Iterator[None]:
        """Enter a block that excludes other calls, and cancel those that run."""
        calls, own = self._of(session), object()
        try:
            calls.go_first.add(own)
            with calls.running:
                calls.go_first.discard(own)
                yield
        finally:
            # A wait may be interrupted at any point.
            calls.go_first.discard(own)

    def is_cancelled(self, session: str) -> bool:
        """Return True if a call with priority is waiting."""
        calls = self._sessions.get(session)
        return calls is not None and bool(calls.go_first)

    def _of(self, session: str) -> _Session:
        with self._lock:
            return self._sessions.setdefault(session, _Session())


class _Session:
    """The lock of one session, dropped when unused; reentrant, so that hooks may call."""

    def __init__(self) -> None:
        self.running = RLock()
        self.go_first = set[object]()
