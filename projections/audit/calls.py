"""The model calls of a path that went through: what each was sent, and what a prompt cache held of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise, takewhile
from typing import NamedTuple

import msgspec

from eventstore.event import Event
from eventstore.log import Snapshot
from eventstore.views import Usage
from projections.context.build import context_at
from projections.context.cursor import Cursor, path
from projections.context.incremental import IncrementalSizes
from projections.context.parts import Part
from projections.replacement import Replacement
from projections.tokens import Counter
from projections.usage import assistant_messages, measured_usage

_ENDS_EFFECT = frozenset({"compaction", "undone"})


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that went through, by its assistant message.

    `idle` are the milliseconds since the call before it in the session, on whatever branch; None where a
    time is not known. `readable` are the tokens of its prompt that a cache held, were it still alive; None
    for the first call of the session.
    """

    seq: int
    id: str
    usage: Usage
    idle_ms: int | None
    cached_tokens: int | None


def model_calls(snapshot: Snapshot, cursor: Cursor, tokens: Counter) -> list[ModelCall]:
    """The calls on the path to a leaf that went through, oldest first.

    What lies before the messages, system prompt and tools, is what the path's first call measured less the
    tokens of its messages. A cache holds that; and of what the session's call before measured beyond it, the
    share that the messages have that begin this call, too, byte for byte. So it holds the whole call before where
    the context only grew, and none of its messages where a summary comes first. Another model has another cache.
    """
    calls = _calls(snapshot, cursor)
    previous = {seq: before for before, seq in pairwise(calls)}
    found: list[ModelCall] = []
    last: _Sent | None = None
    overhead = 0
    for event, parts, sizes in _contexts(snapshot, cursor, tokens):
        if event.seq not in calls:
            continue
        call, before = calls[event.seq], previous.get(event.seq, 0)
        if last is None:
            overhead = max(0, call.usage.prompt - sizes[-1])
        readable = idle = None
        if before:
            if last is None or before != last.seq:
                elsewhere = list(context_at(snapshot, cursor.at_leaf(calls[before].parent)).parts)
                last = _Sent(before, elsewhere, len(elsewhere), sum(tokens.count(elsewhere)))
            share = Fraction(sizes[last.shared_with(parts)], last.tokens or 1)
            readable = _readable(calls[before], call, overhead, share)
            idle = _between(calls[before], call)
        found.append(
            ModelCall(seq=event.seq, id=event.id, usage=call.usage, idle_ms=idle, cached_tokens=readable)
        )
        last = _Sent(event.seq, parts, len(parts), sizes[-1])
    return found


def records_cache(calls: Sequence[ModelCall]) -> bool:
    """Return True if any of some calls read from a prompt cache or wrote to it."""
    return any(call.usage.cache_read or call.usage.cache_write for call in calls)


def entries_in_effect(replacement: Replacement) -> Iterator[Event]:
    """The entries behind a replacement whose contexts grow from its C′: up to the next compaction or undo."""
    return takewhile(lambda entry: entry.kind not in _ENDS_EFFECT, replacement.later)


def shared_prefix_length(one: Iterable[Part], other: Iterable[Part]) -> int:
    """With how many messages two contexts begin alike, byte for byte."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].raw == pair[1].raw, pairs))


class _Call(msgspec.Struct, frozen=True):
    parent: int
    time: int | None
    model: tuple[str, str]
    usage: Usage


def _calls(snapshot: Snapshot, cursor: Cursor) -> dict[int, _Call]:
    """The calls of every branch that went through, in order, by the number of their message."""
    calls: dict[int, _Call] = {}
    for event, view in assistant_messages(snapshot, cursor):
        usage = measured_usage(view)
        if usage is not None:
            calls[event.seq] = _Call(event.parent_seq, event.time, (view.provider, view.model), usage)
    return calls


def _between(before: _Call, call: _Call) -> int | None:
    return None if before.time is None or call.time is None else call.time - before.time


def _readable(before: _Call, call: _Call, overhead: int, share: Fraction) -> int:
    if before.model != call.model:
        return 0
    fixed = min(overhead, before.usage.prompt)
    return min(fixed + int((before.usage.prompt - fixed) * share), call.usage.prompt)


class _Sent(NamedTuple):
    """The messages that a call was sent, and their tokens: the first `messages` of a list that may have grown since."""

    seq: int
    parts: list[Part]
    messages: int
    tokens: int

    def shared_with(self, parts: list[Part]) -> int:
        """With how many of its messages another context begins."""
        if parts is self.parts:
            return self.messages
        return shared_prefix_length(islice(self.parts, self.messages), parts)


def _contexts(
    snapshot: Snapshot, cursor: Cursor, tokens: Counter
) -> Iterator[tuple[Event, list[Part], list[int]]]:
    """Each entry of the path with the context above it, and the tokens of its first n messages for each n."""
    entries = path(snapshot, cursor)
    above = IncrementalSizes(snapshot, cursor, entries, tokens)
    for event in entries:
        yield event, above.parts, above.sizes
        above.add(event)
