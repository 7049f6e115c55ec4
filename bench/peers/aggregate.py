"""A session as an aggregate of `eventsourcing`; imported only where that package is installed."""

from __future__ import annotations

from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event


class Conversation(Aggregate):
    """The messages of the context, each as JSON."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    @event("Appended")
    def append(self, message: str) -> None:
        self.messages.append(message)

    @event("Compacted")
    def compact(self, summary: str, kept: int) -> None:
        """Replace all messages but the last `kept` ones by a summary."""
        self.messages = [summary, *self.messages[len(self.messages) - kept :]]


class Conversations(Application[UUID]):
    """Conversations with snapshots."""

    is_snapshotting_enabled = True
