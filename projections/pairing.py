"""Which tool results belong to which calls."""

from __future__ import annotations

from collections.abc import Sequence

from eventstore.views import Message


def answered(messages: Sequence[Message]) -> dict[int, int]:
    """From the place of each tool result to that of the message with its call; a result without one is left out.

    Harnesses that count calls anew in each turn give several calls one id: a result answers the newest of them
    before it.
    """
    newest: dict[str, int] = {}
    found: dict[int, int] = {}
    for place, message in enumerate(messages):
        if message.role == "toolResult" and message.tool_call_id in newest:
            found[place] = newest[message.tool_call_id]
        for call in message.tool_calls:
            newest[call.id] = place
    return found
