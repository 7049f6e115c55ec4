"""Messages that go on after a compaction: the model is told them, and no person said them."""

from __future__ import annotations

from typing import Final

from eventstore.event import Event
from eventstore.formats import format_of, view_of_event
from eventstore.paths import LazyEvent
from eventstore.views import Text

WORD: Final = "continue"
"""What opencode tells its model in the middle of a task: a user's message that repeats no request."""


def is_continuation(event: Event | LazyEvent) -> bool:
    """Return True for a user's message, or an extension's, that goes on after a compaction."""
    if event.kind != "custom_message" and (event.kind != "message" or event.role != "user"):
        return False
    return format_of(event.format).continues(event.kind, event.body)


def repeats_nothing(event: Event | LazyEvent) -> bool:
    """Return True for a user's message that only says to go on: no request, and so no beginning of a turn."""
    if event.kind != "message" or not is_continuation(event):
        return False
    message = view_of_event(event)
    blocks = message.blocks if message else ()
    return next((block.text for block in blocks if isinstance(block, Text) and block.text), "") == WORD
