"""Results about events, kept by their digests.

An event's chained digest stands for its contents and all that came before it, in any store: what follows from
the event alone may be kept by it, and never gets stale.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_ENTRIES: Final = 1024


class Memo(Generic[T]):
    """A bounded dictionary of results; when it is full, it starts anew. Threads may share it."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, T] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is kept under a key, made if it is not there."""
        try:
            return self._kept[key]
        except KeyError:
            if len(self._kept) >= _ENTRIES:
                self._kept = {}
            made = self._kept[key] = make()
            return made
