"""The model calls of a path that went through: what each was sent, and what a prompt cache held of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, islice, pairwise, takewhile
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
from projections.usage import answers, measured_usage

_ENDS_EFFECT = frozenset({"compaction", "undone"})


class Previous(msgspec.Struct, frozen=True, kw_only=True):
    """The call before another one in the session, on whatever branch.

    It was sent `messages`, `tokens` large by our count; the first `shared` of them begin the other's context, too.
    """

    id: str
    usage: Usage
    messages: int
    tokens: int
    shared: int
    is_same_model: bool


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that went through, by its assistant message.

    It was sent the context at the entry number `sent_at`: `messages`, `tokens` large by our count. `idle_ms` are the
    milliseconds since the `previous` call (None where a time is not known), `cached_tokens` those of its prompt that a
    cache held, were it still alive. The first call of a session has none of the three.
    """

    seq: int
    id: str
    sent_at: int
    usage: Usage
    messages: int
    tokens: int
    previous: Previous | None = None
    idle_ms: int | None = None
    cached_tokens: int | None = None


def model_calls(snapshot: Snapshot, cursor: Cursor, tokens: Counter) -> list[ModelCall]:
    """The calls on the path to a leaf that went through, oldest first.

    What lies before the messages, system prompt and tools, is what the path's first call measured less the
    tokens of its messages. A cache holds that; and of what the session's call before measured beyond it, the
    share that the messages have that begin this call, too, byte for byte. So it holds the whole call before where
    the context only grew, and none of its messages where a summary comes first. Another model has another cache.
    """
    return calls_on_path(snapshot, cursor, tokens, session_calls(snapshot, cursor))


def calls_on_path(
    snapshot: Snapshot, cursor: Cursor, tokens: Counter, calls: Sequence[SessionCall]
) -> list[ModelCall]:
    """Return those of a session's calls that are on the path to a leaf, with what each was sent."""
    previous = {call.seq: before for before, call in pairwise(calls)}
    found: list[ModelCall] = []
    last: _Sent | None = None
    overhead = 0
    for call, parts, sizes in _contexts(snapshot, cursor, tokens, calls):
        if last is None:
            overhead = max(0, call.usage.prompt - sizes[-1])
        sent_call = ModelCall(
            seq=call.seq,
            id=call.id,
            sent_at=call.sent_at,
            usage=call.usage,
            messages=len(parts),
            tokens=sizes[-1],
        )
        before = previous.get(call.seq)
        if before:
            if last is None or before.seq != last.seq:
                elsewhere = list(context_at(snapshot, cursor.at_leaf(before.sent_at)).parts)
                last = _Sent(before.seq, elsewhere, len(elsewhere), sum(tokens.count(elsewhere)))
            shared = last.shared_with(parts)
            sent_call = msgspec.structs.replace(
                sent_call,
                previous=Previous(
                    id=before.id,
                    usage=before.usage,
                    messages=last.messages,
                    tokens=last.tokens,
                    shared=shared,
                    is_same_model=before.model == call.model,
                ),
                idle_ms=_between(before, call),
                cached_tokens=_readable(before, call, overhead, Fraction(sizes[shared], last.tokens or 1)),
            )
        found.append(sent_call)
        last = _Sent(call.seq, parts, len(parts), sizes[-1])
    return found


def tokens_per_estimate(calls: Iterable[ModelCall]) -> float:
    """Return how many tokens a provider counts for one of our estimate; 1.0 where nothing tells.

    It is the median of what the calls measured beyond their previous ones, by the tokens that the context changed by:
    half of them lie in calls with a smaller ratio. A median leaves out what the log does not have.
    """
    growths = (
        (call.usage.prompt - before.usage.prompt, call.tokens - before.tokens)
        for call in calls
        if (before := call.previous) is not None and before.is_same_model
    )
    ratios = sorted((measured / tokens, abs(tokens)) for measured, tokens in growths if tokens)
    half = sum(weight for _, weight in ratios) / 2
    sums = accumulate(weight for _, weight in ratios)
    return next((ratio for (ratio, _), below in zip(ratios, sums, strict=True) if below >= half), 1.0)


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


class SessionCall(msgspec.Struct, frozen=True):
    """A call that went through on any branch; `records` are the numbers of the events of its message."""

    seq: int
    id: str
    sent_at: int
    records: tuple[int, ...]
    time: int | None
    model: tuple[str, str]
    usage: Usage


def session_calls(snapshot: Snapshot, cursor: Cursor) -> list[SessionCall]:
    """Return the calls of every branch that went through, in order of their messages, one for each event."""
    calls = {
        event.seq: SessionCall(
            event.seq, event.id, sent_at, records, event.time, (view.provider, view.model), usage
        )
        for event, view, sent_at, records in answers(snapshot, cursor)
        if (usage := measured_usage(view)) is not None
    }
    return list(calls.values())


def _between(before: SessionCall, call: SessionCall) -> int | None:
    return None if before.time is None or call.time is None else call.time - before.time


def _readable(before: SessionCall, call: SessionCall, overhead: int, share: Fraction) -> int:
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
    snapshot: Snapshot, cursor: Cursor, tokens: Counter, calls: Sequence[SessionCall]
) -> Iterator[tuple[SessionCall, list[Part], list[int]]]:
    """Each call of the path with the context that it was sent, and the tokens of its first n messages for each n."""
    entries = path(snapshot, cursor)
    on_path = {entry.seq for entry in entries}
    by_place: dict[int, list[SessionCall]] = {}
    for call in calls:
        if not on_path.isdisjoint(call.records):
            by_place.setdefault(call.sent_at, []).append(call)
    sent = IncrementalSizes(snapshot, cursor, entries, tokens)
    for call in by_place.get(0, ()):
        yield call, sent.parts, sent.sizes
    for entry in entries:
        sent.add(entry)
        for call in by_place.get(entry.seq, ()):
            yield call, sent.parts, sent.sizes
