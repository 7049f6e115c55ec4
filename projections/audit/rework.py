"""Find work that was repeated after a compaction: calls, file reads and errors."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from eventstore.event import Event
from eventstore.views import ToolCall
from projections.audit.measure import MetricStruct
from projections.context.parts import Fate, Part
from projections.files import files_of_call
from projections.mentions import MentionKind
from projections.mentions.message_facts import MessageFacts, SessionFacts
from projections.replacement import Replacement


class CallFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call, the message that made it, and the paths that it reads and modifies.

    `key` is equal for calls of one tool with equal arguments, however their JSON is formatted.
    """

    message: MessageFacts
    call: ToolCall
    key: tuple[str, str]
    read: tuple[str, ...]
    modified: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that a call is about; none if it could touch any, such as a shell command."""
        return self.read + self.modified


class CallHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Tool calls in order, referred to by their index in `calls`.

    `results` maps the event number of a result to its call; `failed` are the calls whose result is an error.
    `writes` lists, per path, the calls that wrote it, and all of them under None. A failed call wrote
    nothing.
    """

    calls: list[CallFacts]
    results: dict[int, int]
    failed: frozenset[int]
    writes: dict[str | None, list[int]]

    def is_written(self, paths: tuple[str, ...], first: int, again: int) -> bool:
        """Return True if any of the paths (any file if none) was written between two calls."""
        between = (self.writes.get(path, []) for path in paths or (None,))
        return any(bisect_right(places, first) < bisect_left(places, again) for places in between)


def messages_in_parts(parts: Sequence[Part], facts: SessionFacts) -> Sequence[MessageFacts]:
    """Return the facts of a context's messages, as the context shows them."""
    return facts.of_parts(parts)


def messages_in_events(events: Sequence[Event], facts: SessionFacts) -> Sequence[MessageFacts]:
    """Return the facts of events' messages, as they were recorded."""
    return facts.of_events(events)


def call_history(messages: Iterable[MessageFacts], facts: SessionFacts | None = None) -> CallHistory:
    """Return the calls that messages make, and which messages are their results.

    Pass the session's `facts` to examine each call only once per session.
    """
    calls_of = _calls_of if facts is None else partial(facts.derive, _calls_of)
    made: list[CallFacts] = []
    places: dict[str, int] = {}
    results: dict[int, int] = {}
    failed: set[int] = set()
    for message in messages:
        if message.result_of in places:
            # Providers may reuse an id, so a result belongs to the newest call.
            place = results[message.seq] = places[message.result_of]
            if message.is_error:
                failed.add(place)
        for each in calls_of(message) if message.calls else ():
            places[each.call.id] = len(made)
            made.append(each)
    return CallHistory(calls=made, results=results, failed=frozenset(failed), writes=_writes(made, failed))


def _writes(made: list[CallFacts], failed: set[int]) -> dict[str | None, list[int]]:
    writes: dict[str | None, list[int]] = {}
    for place, each in enumerate(made):
        if each.modified and place not in failed:
            for path in (None, *each.modified):
                writes.setdefault(path, []).append(place)
    return writes


def _calls_of(message: MessageFacts) -> list[CallFacts]:
    return [_call_facts(message, call) for call in message.calls]


def _call_facts(message: MessageFacts, call: ToolCall) -> CallFacts:
    read, modified = files_of_call(call, message.tools)
    return CallFacts(message=message, call=call, key=_key(call), read=tuple(read), modified=tuple(modified))


def _key(call: ToolCall) -> tuple[str, str]:
    try:
        return call.name, json.dumps(call.decoded, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return call.name, call.arguments.decode("utf-8", "replace")


_OF_ANY_FAILURE: Final = re.compile(
    r"(?i)(?:command (?:exited|failed)\b|(?:process )?exit(?:ed)?\b.*\bcode\b|npm (?:err!|error)|elifecycle"
    r"|(?:\[\w+\] )?error task failed|fail\s+\S+(?:\s+\[build failed\]|\s+[\d.]+\s?s|\s+\(cached\))?\s*$|make: \*\*\*)"
)
"""Lines that report a failure without saying which."""
_RESULTS: Final = frozenset({"toolResult", "bashExecution", "pythonExecution"})


class RepeatedCall(MetricStruct, frozen=True):
    """A call made again with the same arguments, although its target was not written in between.

    `first` is the last message in C that made it, `again` the later one. `after_calls` is its position among
    the calls after the replacement, from 1.
    """

    tool: str
    target: str
    first: str
    first_seq: int
    again: str
    again_seq: int
    after_calls: int


class RepeatedError(MetricStruct, frozen=True):
    """An error in H that occurred again later."""

    error: str
    first: str
    first_seq: int
    again: str
    again_seq: int


class Rereads(MetricStruct, frozen=True):
    """Files read in H, not written since, and read again by the next 3, 10, or any later calls."""

    next3: int
    next10: int
    all: int


class Rework(MetricStruct, frozen=True):
    """The work after a replacement that was already done before it.

    Of the later `calls`, `repeated` counts those that repeat a call whose result was removed.
    `rounds_to_new_action` counts the model's messages with calls before the first call that C does not have,
    None if there was none.
    """

    calls: int
    repeated: int
    rereads: Rereads
    rounds_to_new_action: int | None
    repeats: list[RepeatedCall]
    errors: list[RepeatedError]


def rework(replacement: Replacement, facts: SessionFacts) -> Rework:
    """Return the work that the rest of the branch repeated although C had it.

    Everything counts once, the first time that it is repeated: from then on the context has it again, and a
    later loss belongs to a later replacement. The result of a failed call is a result like any other, but a
    failed call wrote nothing and read no file.
    """
    before, after = replacement.before.parts, replacement.after.parts
    work = call_history(
        chain(messages_in_parts(before, facts), messages_in_events(replacement.later, facts)),
        facts,
    )
    still = call_history(messages_in_parts(after, facts), facts)
    first_later = sum(made.message.seq < replacement.event.seq for made in work.calls)
    shown = _with_result_in(after, still)
    lost_calls = _LostCalls(
        first_later=first_later,
        lost=_with_result_in(replacement.removed, work),
        shown={still.calls[place].key for place in shown},
        shown_files={
            path for place in shown if place not in still.failed for path in still.calls[place].read
        },
    )
    repeats = list(_repeats(work, lost_calls))
    reread = list(_rereads(work, lost_calls))
    return Rework(
        calls=len(work.calls) - first_later,
        repeated=len(repeats),
        rereads=Rereads(
            next3=sum(calls <= 3 for calls in reread),  # noqa: PLR2004  the window
            next10=sum(calls <= 10 for calls in reread),  # noqa: PLR2004  the window
            all=len(reread),
        ),
        rounds_to_new_action=_rounds_to_new_action(work.calls[:first_later], work.calls[first_later:]),
        repeats=repeats,
        errors=list(_same_errors(replacement, facts)),
    )


class _LostCalls(NamedTuple):
    """The calls of C whose results C′ lost, and the keys of those whose results it shows.

    The calls after the replacement start at index `first_later`.
    """

    first_later: int
    lost: list[int]
    shown: set[tuple[str, str]]
    shown_files: set[str]


def _with_result_in(parts: Iterable[Part], work: CallHistory) -> list[int]:
    """Return the calls whose results these parts show as recorded.

    Rewritten results were lost before.
    """
    return [work.results[part.seq] for part in parts if part.fate is Fate.KEPT and part.seq in work.results]


def _repeats(work: CallHistory, lost_calls: _LostCalls) -> Iterator[RepeatedCall]:
    originals = {work.calls[place].key: place for place in lost_calls.lost}
    for place in range(lost_calls.first_later, len(work.calls)):
        made = work.calls[place]
        original = originals.pop(made.key, None)
        if original is None or made.key in lost_calls.shown:
            continue
        if not work.is_written(made.paths, original, place):
            first = work.calls[original].message
            yield RepeatedCall(
                tool=made.call.name,
                target=_target(made),
                first=first.id,
                first_seq=first.seq,
                again=made.message.id,
                again_seq=made.message.seq,
                after_calls=place - lost_calls.first_later + 1,
            )


def _target(made: CallFacts) -> str:
    """Return what a call is about: its files, its command, or else its arguments."""
    command = made.call.argument("command")
    return ", ".join(made.paths) or (command if isinstance(command, str) else made.key[1])


def _rereads(work: CallHistory, lost_calls: _LostCalls) -> Iterator[int]:
    """Yield, for each file read again, the position of that call among the later ones, from 1."""
    had = {
        path: place
        for place in lost_calls.lost
        if place not in work.failed
        for path in work.calls[place].read
        if path not in lost_calls.shown_files
    }
    for place in range(lost_calls.first_later, len(work.calls)):
        for path in work.calls[place].read:
            last = had.pop(path, None)
            if last is not None and not work.is_written((path,), last, place):
                yield place - lost_calls.first_later + 1


def _rounds_to_new_action(before: Sequence[CallFacts], later: Sequence[CallFacts]) -> int | None:
    known = {made.key for made in before}
    new = next((made.message.seq for made in later if made.key not in known), None)
    return None if new is None else len({made.message.seq for made in later if made.message.seq < new})


def _same_errors(replacement: Replacement, facts: SessionFacts) -> Iterator[RepeatedError]:
    met: dict[str, MessageFacts] = {}
    for part in replacement.removed:
        message = facts.of_part(part)
        for error in _errors(message):
            met.setdefault(error, message)
    if not met:
        return
    for part in replacement.after.parts:
        for error in _errors(facts.of_part(part)):
            met.pop(error, None)
    for again in facts.of_events(replacement.later):
        for error in _errors(again):
            first = met.pop(error, None)
            if first is not None:
                yield RepeatedError(
                    error=error, first=first.id, first_seq=first.seq, again=again.id, again_seq=again.seq
                )


def _errors(message: MessageFacts) -> list[str]:
    """Return the errors in a result; other messages only talk about errors."""
    named = message.mentions.get(MentionKind.ERROR, ()) if message.role in _RESULTS else ()
    return [error for error in named if not _OF_ANY_FAILURE.match(error)]
