"""Find work done again: content that is read again, and calls that fail again."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from eventstore.event import Event
from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.base import Tools
from eventstore.views import Message, Text, ToolCall
from projections.audit.measure import EventRef, MetricStruct
from projections.context.parts import Fate, Part, view_of_part
from projections.files import files_of_call
from projections.person_text import outside_tags
from projections.replacement import Replacement, entries_in_effect
from projections.tokens import Counter

FETCHED_SHARE: Final = 0.5
"""The share of a result's lines that C must have had."""


class FetchedAgain(MetricStruct, frozen=True):
    """A file whose content left with H and that a later call read again.

    `again` is the later result, `first` the result of H with most of its lines, the newest of several. `tokens` are
    those of the lines that the later result has in common with results of H.
    """

    file: str
    first: EventRef
    again: EventRef
    tokens: int


class FailedAgain(MetricStruct, frozen=True):
    """A call that failed in H and failed again later; `first` and `again` are the results."""

    tool: str
    target: str
    first: EventRef
    again: EventRef


class Rework(MetricStruct, frozen=True):
    """The work that is done again behind a replacement; `calls` counts all later calls."""

    calls: int
    fetched: list[FetchedAgain]
    failed: list[FailedAgain]

    @property
    def tokens(self) -> int:
        """The tokens of all content that was fetched again."""
        return sum(each.tokens for each in self.fetched)

    @property
    def pairs(self) -> list[tuple[EventRef, EventRef]]:
        """The result before and the one again, of all that was done again."""
        fetched = [(each.first, each.again) for each in self.fetched]
        return fetched + [(each.first, each.again) for each in self.failed]


class _Call(NamedTuple):
    """A call with its result; `shows` and `writes` are the files that it shows and modifies.

    `key` is equal for calls of one tool with equal arguments, however their JSON is formatted.
    """

    event: EventRef
    key: tuple[str, str]
    target: str
    shows: tuple[str, ...]
    writes: tuple[str, ...]
    result: Message


def rework(replacement: Replacement, tokens: Counter) -> Rework:
    """Return the work that was done again up to the next compaction, undo or the leaf.

    A later result counts as content fetched again if it shows a file that H showed, if H had at least half of its
    lines and C′ has none of them, and if no later call wrote the file before. What was fetched once is in the context
    again, so that only the first time counts. A later call counts as failed again if an equal call failed in H, and
    no call of which the log knows that it writes a file came in between. Calls that a person refused did not fail.
    """
    calls = _Calls()
    removed = [_read_part(part) for part in replacement.removed if part.fate is Fate.KEPT]
    before = [call for each in map(_read_part, replacement.before.parts) for call in calls.answered(*each)]
    gone = {ref.seq for ref, _, _ in removed}
    lost = [call for call in before if call.event.seq in gone]
    later = [
        call
        for entry in entries_in_effect(replacement)
        if (message := node_of(entry).message) is not None
        for call in calls.answered(_ref(entry), message, format_of(entry.format).tools)
    ]
    return Rework(
        calls=len(later),
        fetched=list(_fetched(lost, later, replacement.after.parts, tokens)),
        failed=list(_failed(before, lost, later)),
    )


def _ref(source: Event | Part) -> EventRef:
    return EventRef(event=source.id, seq=source.seq)


def _read_part(part: Part) -> tuple[EventRef, Message, Tools]:
    return _ref(part), view_of_part(part), format_of(part.format).tools


class _Calls:
    """Match results with their calls, message by message."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[ToolCall, Tools]] = {}

    def answered(self, event: EventRef, message: Message, tools: Tools) -> Iterator[_Call]:
        """Yield the call that a message is the result of; note the calls that it makes."""
        for call in message.tool_calls:
            # Providers may reuse an id, so a result belongs to the newest call.
            self._open[call.id] = call, tools
        if message.role == "toolResult" and message.tool_call_id in self._open:
            yield _call(event, message, *self._open[message.tool_call_id])


def _call(event: EventRef, result: Message, call: ToolCall, tools: Tools) -> _Call:
    read, modified = files_of_call(call, tools)
    command = call.argument("command")
    key = _key(call)
    target = ", ".join((*read, *modified)) or (command if isinstance(command, str) else key[1])
    is_sound = not result.is_error
    return _Call(
        event=event,
        key=key,
        target=target,
        shows=tuple(read) if is_sound else (),
        writes=tuple(modified) if is_sound else (),
        result=result,
    )


def _key(call: ToolCall) -> tuple[str, str]:
    try:
        return call.name, json.dumps(call.decoded, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return call.name, call.arguments.decode("utf-8", "replace")


_NUMBER: Final = re.compile(r"^\s*\d+\s*[→:|\t]")
"""A line's number before it, as tools print it."""


def _lines(message: Message) -> list[str]:
    """Return the lines of a message's text, without line numbers, outer white space, blanks.

    Reminders that a harness adds to results do not count.
    """
    texts = (outside_tags(block.text) for block in message.blocks if isinstance(block, Text))
    lines = (_NUMBER.sub("", line).strip() for text in texts for line in text.splitlines())
    return [line for line in lines if line]


def _fetched(
    lost: Iterable[_Call], later: Iterable[_Call], after: Iterable[Part], tokens: Counter
) -> Iterator[FetchedAgain]:
    had = defaultdict[str, set[str]](set)
    shown_by = defaultdict[str, list[tuple[EventRef, set[str]]]](list)
    for call in lost:
        for file in call.shows:
            lines = set(_lines(call.result))
            had[file] |= lines
            shown_by[file].append((call.event, lines))
    if not had:
        return
    shown = {line for part in after for line in _lines(view_of_part(part))}
    for file in had:
        had[file] -= shown
    for call in later:
        for file in call.writes:
            had.pop(file, None)
        for file in filter(had.get, call.shows):
            found = _lines(call.result)
            again = [line for line in found if line in had[file]]
            if again and len(again) >= FETCHED_SHARE * len(found):
                common = set(again)
                first, _ = max(reversed(shown_by[file]), key=lambda each: len(common & each[1]))
                yield FetchedAgain(
                    file=file, first=first, again=call.event, tokens=tokens.of_text("\n".join(again))
                )
            had[file].difference_update(found)


def _failed(before: Sequence[_Call], lost: Iterable[_Call], later: Iterable[_Call]) -> Iterator[FailedAgain]:
    failures: dict[tuple[str, str], EventRef] = {
        call.key: call.event for call in lost if _is_failure(call.result)
    }
    last_write = max((call.event.seq for call in before if call.writes), default=0)
    failures = {key: event for key, event in failures.items() if event.seq > last_write}
    for call in later:
        if call.writes:
            return
        first = failures.pop(call.key, None)
        if first is not None and _is_failure(call.result):
            yield FailedAgain(tool=call.key[0], target=call.target, first=first, again=call.event)


def _is_failure(result: Message) -> bool:
    return result.is_error and not result.is_refused
