"""What a person asked for last, and whether that was answered."""

from __future__ import annotations

from collections.abc import Sequence

from eventstore.event import Event
from eventstore.formats import view_of_message
from eventstore.views import Image, Message, Opaque
from projections.context.parts import Part
from projections.continuation import is_continuation


def unanswered_request(messages: Sequence[Part], entries: Sequence[Event]) -> Part | None:
    """The newest real message of a person, unless an answer of the model's follows it; `entries` are the path's.

    No result, no summary, no extension's message, nothing that went on after a compaction is one; neither is
    what is blank, which could not be sent again.
    """
    events = {entry.seq: entry for entry in entries}
    for part in reversed(messages):
        event = events.get(part.seq)
        if event is None:
            continue
        # A message that stands for several has the event of the first.
        if event.role == "assistant":
            return None
        if event.role == part.role == "user" and _asks(part) and not is_continuation(event):
            return part
    return None


def has_media(message: Message) -> bool:
    """Whether a message holds images or files."""
    return any(isinstance(block, Image | Opaque) for block in message.blocks)


def _asks(part: Part) -> bool:
    message = view_of_message(part.raw)
    return bool(message.text.strip()) or has_media(message)
