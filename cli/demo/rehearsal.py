"""A log to play in before it counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eventstore.event import NewEvent
from eventstore.log import Appended, Expected
from eventstore.memory_log import MemoryLog


class Rehearsal(MemoryLog):
    """A log in memory that remembers what was appended, so that another log can have all of it in one append.

    A store flushes each append to disk: one flush takes the place of one for every event.
    """

    def __init__(self) -> None:
        super().__init__(clock=lambda: 0)
        self.appended: list[NewEvent] = []

    def append(
        self,
        session: str,
        events: Sequence[NewEvent],
        *,
        expected: Expected = "any",
        blobs: Iterable[bytes] = (),
        source: str = "",
    ) -> Appended:
        done = super().append(session, events, expected=expected, blobs=blobs, source=source)
        self.appended += events
        return done
