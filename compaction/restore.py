"""Showing recently read files again behind a summary, from the log alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from compaction.policies import Restoring
from compaction.rewrites.supersede import whole_read
from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.formats.pi_entry import tolerant_json
from eventstore.records import CustomMessage
from eventstore.views import Message, ToolCall
from projections.context import Fate, Part
from projections.tokens import Counter

RESTORED: Final = "restored_file"
"""The type of the messages that show a file again."""
_RESTORED_PLAN: Final = "restored_plan"
_SOURCE: Final = "source"
"""The field of such a message's details that names the entry which it shows again."""
PLANS: Final = frozenset({"todo", "todowrite", "todo_write", "update_plan", "TodoWrite"})
"""Tools whose newest call holds the current plan."""


_TALK: Final = frozenset({"assistant", "toolResult"})


class _Said(NamedTuple):
    """A message as it is stored, and the entry that it is."""

    entry: str
    message: Message


class _Read(NamedTuple):
    """A result that holds all of a file, and the entry that it is."""

    entry: str
    path: str
    result: Message


def restored(
    entries: Sequence[Event], restoring: Restoring, shown: Sequence[Part], tokens: Counter
) -> list[CustomMessage]:
    """Messages with the newest whole read of each recently read file, newest first, then the current plan.

    They are taken from the path as it is stored, whatever rewrites and compactions show of it. At most so many
    files, and so many tokens, as the policy says; a longer file is cut. `shown` are the messages that the
    context keeps: what one of them has whole, or shows again already, needs no restoring. A file whose newest
    read failed is not shown as it was before that.
    """
    said = [_Said(each.id, view) for each in entries if each.role in _TALK and (view := view_of_event(each))]
    there = _shown_whole(shown)
    found: list[CustomMessage] = []
    room = restoring.tokens
    for read in _newest_reads(said):
        if len(found) == restoring.files or room <= 0:
            break
        if read.entry in there or read.result.is_error:
            continue
        text = _cut(read.result.text, min(restoring.tokens_a_file, room), tokens)
        room -= tokens.of_text(text)
        found.append(_again(RESTORED, f"{read.path}, as it was read last:\n{text}", read.entry))
    return found + _plan(said, there)


def fewer(shown: Sequence[CustomMessage]) -> list[CustomMessage]:
    """What is shown again, less the file that was read longest ago; without files, less the plan."""
    files = [each for each in shown if each.custom_type == RESTORED]
    others = [each for each in shown if each.custom_type != RESTORED]
    return [*files[:-1], *others] if files else others[:-1]


def _again(kind: str, content: str, source: str) -> CustomMessage:
    return CustomMessage(custom_type=kind, content=content, details={_SOURCE: source})


def _shown_whole(shown: Sequence[Part]) -> set[str]:
    """The entries that messages show as they are stored, and those that they show again."""
    whole = {part.id for part in shown if part.fate is not Fate.REWRITTEN}
    again = (tolerant_json(part.raw) for part in shown if part.id in whole and part.kind == "custom_message")
    sources = (each.get("details") for each in again if each.get("customType") in (RESTORED, _RESTORED_PLAN))
    return whole | {str(source.get(_SOURCE)) for source in sources if isinstance(source, dict)}


def _newest_reads(said: Iterable[_Said]) -> list[_Read]:
    """The newest whole read of each file, newest first; a call's id may be used again by a later call."""
    calls: dict[str, ToolCall] = {}
    reads: dict[str, _Read] = {}
    for entry, message in said:
        calls.update((call.id, call) for call in message.tool_calls)
        if message.role == "toolResult":
            path = whole_read(message, calls.get(message.tool_call_id))
            if path is not None:
                reads.pop(path, None)
                reads[path] = _Read(entry, path, message)
    return list(reversed(reads.values()))


def _cut(text: str, room: int, tokens: Counter) -> str:
    size = tokens.of_text(text)
    if size <= room:
        return text
    shorter = text[: len(text) * room // size]
    while tokens.of_text(shorter) > room:
        shorter = shorter[: len(shorter) * 9 // 10]
    return f"{shorter}\n[... {len(text) - len(shorter)} more characters]"


def _plan(said: Sequence[_Said], there: Collection[str]) -> list[CustomMessage]:
    for entry, message in reversed(said):
        for call in reversed(message.tool_calls):
            if call.name in PLANS:
                text = f"The current plan:\n{call.arguments.decode('utf-8', 'replace')}"
                return [] if entry in there else [_again(_RESTORED_PLAN, text, entry)]
    return []
