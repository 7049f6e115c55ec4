"""What providers measured: token usage that assistant messages carry."""

from __future__ import annotations

from eventstore.views import Message, Usage

_FAILED = frozenset({"aborted", "error"})


def measured(message: Message) -> Usage | None:
    """The usage of a call that went through; None for other messages, and for calls that failed or were cut off.

    pi and oh-my-pi ignore the usage of aborted and failed calls, and so does this.
    """
    return None if message.stop_reason in _FAILED else paid(message)


def paid(message: Message) -> Usage | None:
    """The usage of any call that its provider counted; one that failed or was cut off was paid for, too."""
    if message.role != "assistant" or message.usage is None:
        return None
    return message.usage if message.usage.total > 0 else None
