"""What providers measured: token usage that assistant messages carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eventstore.event import ROLES, Event
from eventstore.formats import view_of_event
from eventstore.frame import decode, header_of
from eventstore.log import Snapshot
from eventstore.views import Message, Usage
from projections.standpoint import Standpoint

_ASSISTANT: Final = ROLES.index("assistant")
FAILED: Final = frozenset({"aborted", "error"})
"""Stop reasons of calls that did not go through."""
CUT_OFF: Final = "length"
"""The stop reason of an answer that ended because it was as long as it might get."""


def measured(message: Message) -> Usage | None:
    """The usage of a call that went through; None for other messages, and for calls that failed or were cut off.

    pi and oh-my-pi ignore the usage of aborted and failed calls, and so does this.
    """
    return None if message.stop_reason in FAILED else paid(message)


def paid(message: Message) -> Usage | None:
    """The usage of any call that its provider counted; one that failed or was cut off was paid for, too."""
    if message.role != "assistant" or message.usage is None:
        return None
    return message.usage if message.usage.total > 0 else None


def assistant_messages(snapshot: Snapshot, at: Standpoint) -> Iterator[tuple[Event, Message]]:
    """The assistant's messages of every branch, in order of the log, each once."""
    for frame in snapshot.frames(at.session, last=at.as_of):
        if header_of(frame).role == _ASSISTANT:
            event = decode(frame, at.session)
            view = view_of_event(event)
            if view is not None:
                yield event, view
