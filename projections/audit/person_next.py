"""List what a person said behind a replacement."""

from __future__ import annotations

from eventstore.harnesses import node_of
from projections.audit.measure import EventRef, MetricStruct
from projections.person_text import person_text
from projections.replacement import Replacement, entries_in_effect


class NextMessage(EventRef, frozen=True):
    """A message that a person wrote; `refuses`: it refuses a call, with or without words."""

    refuses: bool


class PersonNext(MetricStruct, frozen=True):
    """The person's messages up to the next compaction, undo or the leaf, in order."""

    messages: list[NextMessage]

    @property
    def refusals(self) -> list[NextMessage]:
        """The messages that refuse a call."""
        return [each for each in self.messages if each.refuses]


def person_next(replacement: Replacement) -> PersonNext:
    """Return the messages that a person wrote after a replacement."""
    messages = list[NextMessage]()
    for entry in entries_in_effect(replacement):
        view = node_of(entry).message if entry.role == "toolResult" else None
        refuses = view is not None and view.is_refused
        if refuses or person_text(entry):
            messages.append(NextMessage(event=entry.id, seq=entry.seq, refuses=refuses))
    return PersonNext(messages=messages)
