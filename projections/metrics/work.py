"""The tool calls of messages in the order in which they were made, with what became of them."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import msgspec

from eventstore.event import Event
from eventstore.views import ToolCall
from projections.context.parts import Part
from projections.files import called_files
from projections.mentions.message_facts import Holding, Holdings


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A call, the message that made it, and the paths that it reads and modifies.

    `key` is the same for calls of one tool with the same arguments, however their JSON is written.
    """

    by: Holding
    call: ToolCall
    key: tuple[str, str]
    read: tuple[str, ...]
    modified: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that the call is about; none for one that may be about anything, such as a shell command."""
        return self.read + self.modified


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """Calls in order; their places in `made` stand for them.

    `results` gives the place of the call that a result, by its event's number, belongs to; `failed` are the
    calls whose result is an error. `writes` are the places of the calls that wrote a path, in order, those
    of all paths under None. A call that failed wrote nothing.
    """

    made: list[Made]
    results: dict[int, int]
    failed: frozenset[int]
    writes: dict[str | None, list[int]]

    def is_written(self, paths: tuple[str, ...], first: int, again: int) -> bool:
        """Whether one of some paths was written between two calls; of no paths, whether anything was."""
        between = (self.writes.get(path, []) for path in paths or (None,))
        return any(bisect_right(places, first) < bisect_left(places, again) for places in between)


def messages_in_parts(parts: Sequence[Part], holdings: Holdings) -> Sequence[Holding]:
    """What the messages of a context hold, as it shows them."""
    return holdings.of_parts(parts)


def messages_in_events(events: Iterable[Event], holdings: Holdings) -> Iterator[Holding]:
    """What the messages of events hold, as they were recorded."""
    return filter(None, map(holdings.of_event, events))


def work_in(messages: Iterable[Holding], holdings: Holdings | None = None) -> Work:
    """The calls that messages make, and which of the messages are their results.

    With `holdings`, those that the messages are of, each call is looked at once a session.
    """
    calls_of = _calls_of if holdings is None else partial(holdings.once, _calls_of)
    made: list[Made] = []
    places: dict[str, int] = {}
    results: dict[int, int] = {}
    failed: set[int] = set()
    for holding in messages:
        if holding.answers in places:
            # Providers may use an id again: a result is that of the newest call.
            place = results[holding.seq] = places[holding.answers]
            if holding.is_error:
                failed.add(place)
        for each in calls_of(holding) if holding.calls else ():
            places[each.call.id] = len(made)
            made.append(each)
    return Work(made=made, results=results, failed=frozenset(failed), writes=_writes(made, failed))


def _writes(made: list[Made], failed: set[int]) -> dict[str | None, list[int]]:
    writes: dict[str | None, list[int]] = {}
    for place, each in enumerate(made):
        if each.modified and place not in failed:
            for path in (None, *each.modified):
                writes.setdefault(path, []).append(place)
    return writes


def _calls_of(holding: Holding) -> list[Made]:
    return [_made(holding, call) for call in holding.calls]


def _made(holding: Holding, call: ToolCall) -> Made:
    read, modified = called_files(call)
    return Made(by=holding, call=call, key=_key(call), read=tuple(read), modified=tuple(modified))


def _key(call: ToolCall) -> tuple[str, str]:
    try:
        return call.name, json.dumps(call.decoded, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return call.name, call.arguments.decode("utf-8", "replace")
