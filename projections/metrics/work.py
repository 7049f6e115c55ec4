"""The tool calls of messages in the order in which they were made, with what became of them."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

import msgspec

from eventstore.event import Event
from eventstore.formats import view_of_event, view_of_message
from eventstore.views import ToolCall
from projections.context import Part
from projections.files import called_files
from projections.naming.holdings import Holding, Holdings

Message = tuple[Holding, str]
"""What a message holds, and the id of the call that it is the result of, "" for none."""


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


def messages_in_parts(parts: Iterable[Part], holdings: Holdings) -> Iterator[Message]:
    """The messages of a context, as it shows them."""
    for part in parts:
        view = view_of_message(part.raw) if part.role == "toolResult" else None
        yield holdings.of_part(part), view.tool_call_id if view else ""


def messages_in_events(events: Iterable[Event], holdings: Holdings) -> Iterator[Message]:
    """The messages that events hold, as they were recorded."""
    for event in events:
        view = view_of_event(event) if event.role == "toolResult" else None
        if (holding := holdings.of_event(event)) is not None:
            yield holding, view.tool_call_id if view else ""


def work_in(messages: Iterable[Message]) -> Work:
    """The calls that messages make, and which of the messages are their results."""
    made: list[Made] = []
    places: dict[str, int] = {}
    results: dict[int, int] = {}
    failed: set[int] = set()
    for holding, answered in messages:
        if answered in places:
            # Providers may use an id again: a result is that of the newest call.
            place = results[holding.seq] = places[answered]
            if holding.is_error:
                failed.add(place)
        for call in holding.calls:
            places[call.id] = len(made)
            read, modified = called_files(call)
            made.append(
                Made(by=holding, call=call, key=_key(call), read=tuple(read), modified=tuple(modified))
            )
    return Work(made=made, results=results, failed=frozenset(failed), writes=_writes(made, failed))


def _writes(made: list[Made], failed: set[int]) -> dict[str | None, list[int]]:
    writes: dict[str | None, list[int]] = {}
    for place, each in enumerate(made):
        if each.modified and place not in failed:
            for path in (None, *each.modified):
                writes.setdefault(path, []).append(place)
    return writes


def _key(call: ToolCall) -> tuple[str, str]:
    try:
        return call.name, json.dumps(call.decoded, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return call.name, call.arguments.decode("utf-8", "replace")
