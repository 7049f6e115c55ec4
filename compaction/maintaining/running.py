"""What runs for a session: one call at a time, and a person's goes first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, RLock
from weakref import WeakValueDictionary


class Running:
    """The calls that run, of which there is one at a time for each session.

    Who goes first calls off what runs, and waits until that has ended: at once where it waits for a summarizer
    that can be called off, else when it is done.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._sessions: WeakValueDictionary[str, _Session] = WeakValueDictionary()

    @contextmanager
    def one(self, session: str) -> Iterator[None]:
        """A block that runs when no other runs for the session."""
        calls = self._of(session)
        with calls.running:
            yield

    @contextmanager
    def first(self, session: str) -> Iterator[None]:
        """The same, where whatever runs until then is called off."""
        calls = self._of(session)
        with ExitStack() as waits:
            waits.enter_context(self._going_first(calls))
            with calls.running:
                waits.close()
                yield

    def is_called_off(self, session: str) -> bool:
        """Whether somebody waits who goes first."""
        calls = self._sessions.get(session)
        return calls is not None and calls.go_first > 0

    @contextmanager
    def _going_first(self, calls: _Session) -> Iterator[None]:
        with self._lock:
            calls.go_first += 1
        try:
            yield
        finally:
            with self._lock:
                calls.go_first -= 1

    def _of(self, session: str) -> _Session:
        with self._lock:
            return self._sessions.setdefault(session, _Session())


class _Session:
    """The calls for one session, forgotten when there are none; a hook may call from within one."""

    def __init__(self) -> None:
        self.running = RLock()
        self.go_first = 0
