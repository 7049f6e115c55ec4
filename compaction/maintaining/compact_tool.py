"""A compaction that the model asks for by calling a tool, once or more often.

Its calls get their results first, for else what a compaction appends would stand between them; where nothing comes of
it, the results are shown otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.rewriting import record_rewrite
from eventstore.checked import checked
from eventstore.errors import NotFoundError, VersionConflictError
from eventstore.formats import view_of_message
from eventstore.javascript import stringify
from eventstore.records import MessageRecord, Shown
from eventstore.views import ToolCall
from eventstore.writing import SessionWriter, until_ours
from projections.context.build import build_context
from projections.context.parts import Part
from projections.usage import FAILED

TOOL: Final = "compact"
DONE: Final = "[Compacted. History summarized.]"
_CORRECTION: Final = "correction"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Unanswered calls of the tool in one answer; `is_last`: all other calls beside them have their results."""

    calls: tuple[ToolCall, ...]
    is_last: bool

    @property
    def instructions(self) -> str:
        """What the model wants of the summary."""
        return "\n".join(str(said) for call in self.calls if (said := call.argument("instructions")))


def compact_calls(parts: Sequence[Part]) -> Asked | None:
    """The calls by which the newest answer of a context asks for a compaction, None where it does not.

    Nor does it where more than results has come since: the person has gone on.
    """
    answered: set[str] = set()
    for part in reversed(parts):
        message = view_of_message(part.raw)
        if message.role == "toolResult":
            answered.add(message.tool_call_id)
            continue
        if message.role != "assistant":
            return None
        waiting = [call for call in message.tool_calls if call.id not in answered]
        asked = tuple(call for call in waiting if call.name == TOOL)
        if message.stop_reason in FAILED or not asked:
            return None
        return Asked(calls=asked, is_last=len(asked) == len(waiting))
    return None


def answer_calls(writer: SessionWriter, asked: Asked) -> list[str]:
    """Append that it is done as the result of each call; the ids.

    None where somebody has given them by now, or has left the branch.
    """

    def look_and_append() -> list[str]:
        with checked(writer.log) as snapshot:
            version = snapshot.head(writer.session).version
            now = compact_calls(build_context(snapshot, writer.session).parts)
        if now is None or now.calls != asked.calls:
            return []
        return writer.append(*map(_result, asked.calls), expected=version)

    return until_ours(look_and_append)


def tell_that_nothing_came(writer: SessionWriter, results: Sequence[str], problem: str) -> list[str]:
    """Show results of calls otherwise, namely why nothing was done; the id of the rewrite.

    The log keeps what they said at first. None where the context has them no more, or others never stop
    appending.
    """
    told = [Shown(target=result, shown=f"[Not compacted: {problem}]") for result in results]
    try:
        return [until_ours(lambda: record_rewrite(writer, targets=told, reason=_CORRECTION))]
    except (NotFoundError, VersionConflictError):
        return []


def _result(call: ToolCall) -> MessageRecord:
    message = {
        "role": "toolResult",
        "toolCallId": call.id,
        "toolName": call.name,
        "content": [{"type": "text", "text": DONE}],
        "isError": False,
    }
    return MessageRecord(message=msgspec.Raw(stringify(message).encode()))
