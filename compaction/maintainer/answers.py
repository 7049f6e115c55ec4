"""The newest answer of a session: if it went through, and calls of the tool by which a model asks for a compaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.rewriting import record_rewrite
from compaction.window import is_compacted
from eventstore.checked import checked
from eventstore.errors import NotFoundError, VersionConflictError
from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.javascript import stringify
from eventstore.log import Snapshot
from eventstore.paths import event, events
from eventstore.records import MessageRecord, TextReplacement
from eventstore.views import Message, ToolCall
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.build import build_context
from projections.context.cursor import resolve_cursor
from projections.context.parts import Part, has_message, view_of_part
from projections.settings import settings_at
from projections.usage import CUT_OFF, FAILED

_FAILED: Final = "error"
_LEFT_OUT: Final = frozenset({_FAILED, CUT_OFF})
"""Stop reasons of answers that leave the context once they are recovered."""
_ENDS: Final = frozenset({"compaction", "undone"})
"""Kinds of entries that are no messages, and change which messages there are."""


class SessionEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a session, without entries that say nothing to a model.

    `entry` is the newest message, compaction or undo, None where there is none; `answer` is its message if it is an
    answer. `before` is the entry at which the session would stand, had the answers at its end that failed or were
    cut off not come. `model` is the one in use, as provider/name, "" where the log names none.
    """

    entry: Event | None
    answer: Message | None
    before: Event | None
    model: str = ""

    @property
    def stop(self) -> str:
        """Why the answer ended, "" without one."""
        return self.answer.stop_reason if self.answer else ""

    @property
    def has_failed(self) -> bool:
        """True if it ends with an answer that failed or was cut off."""
        return self.entry is not self.before

    @property
    def is_left_out(self) -> bool:
        """True if the answer is one that leaves the context when it is recovered."""
        return self.stop in _LEFT_OUT

    def is_of(self, model: str | None = None) -> bool:
        """Return True if the answer is of a model, told by its name or as provider/name; None: of the one in use.

        Where there is no answer, or it names no model, it may be.
        """
        answer, wanted = self.answer, model or self.model
        if answer is None or not answer.model or not wanted:
            return True
        return is_same_model(wanted, f"{answer.provider}/{answer.model}")


def is_same_model(one: str, other: str) -> bool:
    """Return True if two names are of one model; each is told by its name alone, or as provider/name."""
    if not one or not other:
        return False
    return one in (other, other.partition("/")[2]) or other == one.partition("/")[2]


def session_end(snapshot: Snapshot, session: str) -> SessionEnd:
    """Return what a session ends with. Raises NotFoundError."""
    leaf = snapshot.head(session).leaf
    entry = _telling(snapshot, session, leaf)
    before = told = entry
    while told is not None and (said := _answer(told)) and said.stop_reason in _LEFT_OUT:
        before = _entry(snapshot, session, told.parent_seq)
        told = _telling(snapshot, session, told.parent_seq)
    model = settings_at(snapshot, session, leaf).model
    return SessionEnd(
        entry=entry,
        answer=_answer(entry),
        before=before,
        model=str(model) if model is not None else "",
    )


def failed_before_compaction(snapshot: Snapshot, session: str) -> bool:
    """Return True if the session's newest answer failed, and nothing has been said since but a compaction was made.

    It counts wherever it stands: a compaction by which a request is recovered is no entry below the failed answer.
    """
    cursor = resolve_cursor(snapshot, session)
    if not is_compacted(snapshot, cursor):
        return False
    compaction = event(snapshot, session, cursor.leaf).compaction_seq
    earlier = events(snapshot, session, last=compaction - 1, backward=True)
    newest = next(filter(has_message, earlier), None)
    answer = _answer(newest.decode() if newest else None)
    return answer is not None and answer.stop_reason == _FAILED


def _telling(snapshot: Snapshot, session: str, seq: int) -> Event | None:
    """Return the entry at a number, or the first above it that a model is told or that changes what it is told."""
    while (entry := _entry(snapshot, session, seq)) is not None:
        if has_message(entry) or entry.kind in _ENDS:
            return entry
        seq = entry.parent_seq
    return None


def _entry(snapshot: Snapshot, session: str, seq: int) -> Event | None:
    return event(snapshot, session, seq).decode() if seq else None


def _answer(entry: Event | None) -> Message | None:
    return view_of_event(entry) if entry is not None and entry.role == "assistant" else None


TOOL: Final = "compact"
DONE: Final = "[Compacted. History summarized.]"
_CORRECTION: Final = "correction"


class CompactToolCalls(msgspec.Struct, frozen=True, kw_only=True):
    """Unanswered calls of the tool in one answer; `is_last`: all other calls beside them have their results."""

    calls: tuple[ToolCall, ...]
    is_last: bool

    @property
    def instructions(self) -> str:
        """The model's wishes for the summary."""
        return "\n".join(str(said) for call in self.calls if (said := call.argument("instructions")))


def find_compact_calls(parts: Sequence[Part]) -> CompactToolCalls | None:
    """Return the calls by which the newest answer of a context asks for a compaction, None where it does not.

    Nor does it where more than results has come since: the person has gone on.
    """
    answered: set[str] = set()
    for part in reversed(parts):
        message = view_of_part(part)
        if message.role == "toolResult":
            answered.add(message.tool_call_id)
            continue
        if message.role != "assistant":
            return None
        waiting = [call for call in message.tool_calls if call.id not in answered]
        asked = tuple(call for call in waiting if call.name == TOOL)
        if message.stop_reason in FAILED or not asked:
            return None
        return CompactToolCalls(calls=asked, is_last=len(asked) == len(waiting))
    return None


def answer_calls(writer: SessionWriter, asked: CompactToolCalls) -> list[str]:
    """Append that it is done as the result of each call; the ids.

    None where somebody has given them by now, or has left the branch.
    """

    def look_and_append() -> list[str]:
        with checked(writer.log) as snapshot:
            version = snapshot.head(writer.session).version
            now = find_compact_calls(build_context(snapshot, writer.session).parts)
        if now is None or now.calls != asked.calls:
            return []
        return writer.append(*map(_result, asked.calls), expected=version)

    return retry_on_conflict(look_and_append)


def report_no_compaction(writer: SessionWriter, results: Sequence[str], problem: str) -> list[str]:
    """Show results of calls otherwise, namely why nothing was done; the id of the rewrite.

    The log keeps what they said at first. None where the context has them no more, or others never stop
    appending.
    """
    told = [TextReplacement(target=result, text=f"[Not compacted: {problem}]") for result in results]
    try:
        return [retry_on_conflict(lambda: record_rewrite(writer, targets=told, reason=_CORRECTION))]
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
