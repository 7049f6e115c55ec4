"""Read the newest answer of a session and its calls of the compact tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.rewriting import record_rewrite
from compaction.window import is_compacted
from eventstore.checked import checked
from eventstore.errors import NotFoundError, VersionConflictError
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.javascript import stringify
from eventstore.log import Snapshot
from eventstore.paths import event, events
from eventstore.records import MessageRecord, TextReplacement
from eventstore.views import Message, ToolCall
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.build import build_context
from projections.context.cursor import ROOT, Leaf, resolve_cursor
from projections.context.parts import Part, has_message, view_of_part
from projections.settings import settings_at
from projections.usage import CUT_OFF, FAILED

_FAILED: Final = "error"
_LEFT_OUT: Final = frozenset({_FAILED, CUT_OFF})
"""Stop reasons of answers that leave the context once they are recovered."""
_ENDS: Final = frozenset({"compaction", "undone"})
"""Kinds of entries that are no messages but change which messages there are."""


class SessionEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a session, ignoring entries that do not reach the model.

    `entry` is the newest message, compaction or undo, None for none; `answer` is its message if it is an
    answer. `before` is the newest such entry before the failed or cut-off answers at the end. `model` is the
    one in use, as provider/name, "" if the log names none.
    """

    entry: Event | None
    answer: Message | None
    before: Event | None
    model: str = ""

    @property
    def stop(self) -> str:
        """The answer's stop reason, "" without an answer."""
        return self.answer.stop_reason if self.answer else ""

    @property
    def has_failed(self) -> bool:
        """True if the session ends with an answer that failed or was cut off."""
        return self.entry is not self.before

    @property
    def leaf_before(self) -> Leaf:
        """The leaf without failed answers at the end, None for the present leaf."""
        if not self.has_failed:
            return None
        return self.before.id if self.before is not None else ROOT

    @property
    def is_left_out(self) -> bool:
        """True if the answer is one that leaves the context when it is recovered."""
        return self.stop in _LEFT_OUT

    def is_of(self, model: str | None = None) -> bool:
        """Return True if the answer is by `model` (name or provider/name), or may be.

        None means the model in use. Without an answer, or if it names no model, the result is True.
        """
        answer, wanted = self.answer, model or self.model
        if answer is None or not answer.model or not wanted:
            return True
        return is_same_model(wanted, f"{answer.provider}/{answer.model}")


def is_same_model(one: str, other: str) -> bool:
    """Return True if two names denote one model, each as name or provider/name."""
    if not one or not other:
        return False
    return one in (other, other.partition("/")[2]) or other == one.partition("/")[2]


def session_end(snapshot: Snapshot, session: str) -> SessionEnd:
    """Return the end of a session. Raises NotFoundError."""
    leaf = snapshot.head(session).leaf
    entry = _sent_entry(snapshot, session, leaf)
    before = sent = entry
    while sent is not None and (answer := _answer(sent)) and answer.stop_reason in _LEFT_OUT:
        before = _entry(snapshot, session, sent.parent_seq)
        sent = _sent_entry(snapshot, session, sent.parent_seq)
    model = settings_at(snapshot, session, leaf).model
    return SessionEnd(
        entry=entry,
        answer=_answer(entry),
        before=before,
        model=str(model) if model is not None else "",
    )


def failed_before_compaction(snapshot: Snapshot, session: str) -> bool:
    """Return True if the newest answer failed and only a compaction followed.

    The compaction counts wherever it is: one that recovers a request is not below the failed answer.
    """
    cursor = resolve_cursor(snapshot, session)
    if not is_compacted(snapshot, cursor):
        return False
    compaction = event(snapshot, session, cursor.leaf).compaction_seq
    earlier = events(snapshot, session, last=compaction - 1, backward=True)
    newest = next(filter(has_message, earlier), None)
    answer = _answer(newest.decode() if newest else None)
    return answer is not None and answer.stop_reason == _FAILED


def _sent_entry(snapshot: Snapshot, session: str, seq: int) -> Event | None:
    """Return the nearest entry at or above `seq` that reaches the model or changes what does."""
    while (entry := _entry(snapshot, session, seq)) is not None:
        if has_message(entry) or entry.kind in _ENDS:
            return entry
        seq = entry.parent_seq
    return None


def _entry(snapshot: Snapshot, session: str, seq: int) -> Event | None:
    return event(snapshot, session, seq).decode() if seq else None


def _answer(entry: Event | None) -> Message | None:
    return node_of(entry).message if entry is not None and entry.role == "assistant" else None


TOOL: Final = "compact"
DONE: Final = "[Compacted. History summarized.]"
_CORRECTION: Final = "correction"


class CompactToolCalls(msgspec.Struct, frozen=True, kw_only=True):
    """Unanswered calls of the tool in one answer; `is_last`: all other calls have results."""

    calls: tuple[ToolCall, ...]
    is_last: bool

    @property
    def instructions(self) -> str:
        """The model's instructions for the summary."""
        return "\n".join(str(text) for call in self.calls if (text := call.argument("instructions")))


def find_compact_calls(parts: Sequence[Part]) -> CompactToolCalls | None:
    """Return the calls of the compact tool in a context's newest answer, None for none.

    Return None too if more than results followed, because then the person has continued.
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
    """Append the result of each call; return their ids.

    Return [] if others have appended the results, or left the branch.
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
    """Rewrite the calls' results to say why nothing was done; return the rewrite's id.

    The log keeps the original results. Return [] if the context no longer has them, or others keep appending.
    """
    corrections = [TextReplacement(target=result, text=f"[Not compacted: {problem}]") for result in results]
    try:
        return [retry_on_conflict(lambda: record_rewrite(writer, targets=corrections, reason=_CORRECTION))]
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
