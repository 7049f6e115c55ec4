"""Show recently read files and the current plan again after a compaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from compaction.policy.model import Restoring
from compaction.rewrites import read_of
from eventstore.event import Event
from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.base import Tools
from eventstore.records import RESTORED_FILE, RESTORED_PLAN, CustomMessage, own_record
from eventstore.views import Message, ToolCall
from projections.context.parts import Fate, Part
from projections.tokens import Counter

_SOURCE: Final = "source"
"""The field of such a message's details that names the entry which it repeats."""
_TALK: Final = frozenset({"assistant", "toolResult"})


class _MessageAt(NamedTuple):
    """A stored message and its entry."""

    entry: str
    message: Message
    tools: Tools


class _Read(NamedTuple):
    """A result that holds a whole file, and its entry."""

    entry: str
    path: str
    result: Message


def restore_files(
    entries: Callable[[], Iterable[Event]], restoring: Restoring, shown: Sequence[Part], tokens: Counter
) -> list[CustomMessage]:
    """Return messages that repeat recently read files, newest first, then the current plan.

    Take the newest whole read of each file, within the policy's limits of files and tokens; cut a longer
    file. `entries` yields those of the path, newest first, as stored; only as many are read as needed.
    `shown` are the kept messages: a file that one of them shows whole is not restored. A file whose newest
    read failed is not shown in an older state.
    """
    there = _shown_whole(shown, entries)
    found: list[CustomMessage] = []
    room = restoring.tokens
    for read in _newest_reads(_talk(entries())):
        if len(found) == restoring.files or room <= 0:
            break
        if read.entry in there or read.result.is_error:
            continue
        text = _cut(read.result.text, min(restoring.tokens_a_file, room), tokens)
        room -= tokens.of_text(text)
        found.append(_again(RESTORED_FILE, f"{read.path}, as it was read last:\n{text}", read.entry))
    return found + _plan(filter(_may_plan, entries()), there)


def drop_least_recent(shown: Sequence[CustomMessage]) -> list[CustomMessage]:
    """Drop the file that was read longest ago; without files, drop the plan."""
    files = [each for each in shown if each.custom_type == RESTORED_FILE]
    others = [each for each in shown if each.custom_type != RESTORED_FILE]
    return [*files[:-1], *others] if files else others[:-1]


def _again(kind: str, content: str, source: str) -> CustomMessage:
    return CustomMessage(custom_type=kind, content=content, details={_SOURCE: source})


def _shown_whole(shown: Sequence[Part], entries: Callable[[], Iterable[Event]]) -> set[str]:
    """Return the entries that messages show as stored, and those that own messages repeat."""
    whole = {part.id for part in shown if part.fate is not Fate.REWRITTEN}
    custom = {part.id for part in shown if part.id in whole and part.kind == "custom_message"}
    found = islice((each for each in entries() if each.id in custom), len(custom))
    records = (record for each in found if isinstance(record := own_record(each), CustomMessage))
    sources = (each.details for each in records if each.custom_type in (RESTORED_FILE, RESTORED_PLAN))
    return whole | {str(source.get(_SOURCE)) for source in sources if isinstance(source, dict)}


def _talk(newest_first: Iterable[Event]) -> Iterator[_MessageAt]:
    for each in newest_first:
        view = node_of(each).message if each.role in _TALK else None
        if view is not None:
            yield _MessageAt(each.id, view, format_of(each.format).tools)


def _newest_reads(newest_first: Iterable[_MessageAt]) -> Iterator[_Read]:
    """Yield the newest whole read of each file, newest first.

    A result belongs to the nearest call of its id before it.
    """
    results: dict[str, list[_MessageAt]] = {}
    seen: set[str] = set()
    for each in newest_first:
        if each.message.role == "toolResult":
            results.setdefault(each.message.tool_call_id, []).append(each)
            continue
        for call in reversed(each.message.tool_calls):
            for entry, result, _ in results.pop(call.id, ()):
                path = _whole_read(result, call, each.tools)
                if path is not None and path not in seen:
                    seen.add(path)
                    yield _Read(entry, path, result)


def _whole_read(result: Message, call: ToolCall, tools: Tools) -> str | None:
    """Return the path of a file that a result holds as a whole, None for any other result."""
    read = read_of(result, call, tools)
    return read[0] if read and not read[1] else None


def _cut(text: str, room: int, tokens: Counter) -> str:
    size = tokens.of_text(text)
    if size <= room:
        return text
    shorter = text[: len(text) * room // size]
    while tokens.of_text(shorter) > room:
        shorter = shorter[: len(shorter) * 9 // 10]
    return f"{shorter}\n[... {len(text) - len(shorter)} more characters]"


def _may_plan(entry: Event) -> bool:
    """Return True if an entry contains the name of a planning tool."""
    return entry.role == "assistant" and any(
        name.encode() in entry.body for name in format_of(entry.format).tools.plans
    )


def _plan(newest_first: Iterable[Event], there: Collection[str]) -> list[CustomMessage]:
    for entry, message, tools in _talk(newest_first):
        for call in reversed(message.tool_calls):
            if call.name in tools.plans:
                text = f"The current plan:\n{call.arguments.decode('utf-8', 'replace')}"
                return [] if entry in there else [_again(RESTORED_PLAN, text, entry)]
    return []
