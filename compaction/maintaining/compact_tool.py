"""A compaction that the model asks for by calling a tool, once or more often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from eventstore.formats import view_of_message
from eventstore.javascript import stringify
from eventstore.records import MessageRecord
from eventstore.views import ToolCall
from projections.context import Part
from projections.usage import FAILED

TOOL: Final = "compact"
DONE: Final = "[Compacted. History summarized.]"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Unanswered calls of the tool in one answer; `is_last`: all other calls beside them have their results."""

    calls: tuple[ToolCall, ...]
    is_last: bool

    @property
    def instructions(self) -> str:
        """What the model wants of the summary."""
        return "\n".join(str(said) for call in self.calls if (said := call.argument("instructions")))


def compact_calls(parts: Sequence[Part]) -> Asked | None:
    """The calls by which the newest answer of a context asks for a compaction, None where it does not."""
    answered: set[str] = set()
    for part in reversed(parts):
        message = view_of_message(part.raw)
        if message.role == "toolResult":
            answered.add(message.tool_call_id)
        if message.role != "assistant":
            continue
        waiting = [call for call in message.tool_calls if call.id not in answered]
        asked = tuple(call for call in waiting if call.name == TOOL)
        if message.stop_reason in FAILED or not asked:
            return None
        return Asked(calls=asked, is_last=len(asked) == len(waiting))
    return None


def call_result(call: ToolCall, *, problem: str = "") -> MessageRecord:
    """The result that the call gets: that it is done, or why nothing was."""
    message = {
        "role": "toolResult",
        "toolCallId": call.id,
        "toolName": call.name,
        "content": [{"type": "text", "text": f"[Not compacted: {problem}]" if problem else DONE}],
        "isError": bool(problem),
    }
    return MessageRecord(message=msgspec.Raw(stringify(message).encode()))
