"""Who looks on while somebody is asked."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Onlooker(Protocol):
    """Is told of requests while they are made, by several threads at once."""

    def waiting_for(self, whom: str) -> AbstractContextManager[object]:
        """A block in which an answer is waited for, of a summarizer by its name and its model."""

    def note(self, what: str) -> None:
        """A line about a request that failed, and what is done next."""


class Nobody:
    """No onlooker."""

    def waiting_for(self, whom: str) -> AbstractContextManager[object]:
        """A block like any other."""
        del whom
        return nullcontext()

    def note(self, what: str) -> None:
        """Nothing."""
