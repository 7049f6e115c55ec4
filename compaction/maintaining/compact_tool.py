"""A compaction that the model asks for by calling a tool."""

from __future__ import annotations

from typing import Final

import msgspec

from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.javascript import stringify
from eventstore.records import MessageRecord
from eventstore.views import ToolCall

TOOL: Final = "compact"
ANSWER: Final = "[Compacted. History summarized.]"


def compact_call(leaf: Event) -> ToolCall | None:
    """The call by which an answer, the newest entry, asks for a compaction; None for any other entry."""
    message = view_of_event(leaf) if leaf.role == "assistant" else None
    calls = message.tool_calls if message else []
    return next((call for call in calls if call.name == TOOL), None)


def call_result(call: ToolCall) -> MessageRecord:
    """The result that the call gets before the compaction runs, for behind it the result would be an orphan."""
    message = {
        "role": "toolResult",
        "toolCallId": call.id,
        "toolName": call.name,
        "content": [{"type": "text", "text": ANSWER}],
        "isError": False,
    }
    return MessageRecord(message=msgspec.Raw(stringify(message).encode()))
