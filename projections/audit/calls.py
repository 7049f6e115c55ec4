"""List a path's completed model calls: what each was sent, and how much was cached."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, pairwise, takewhile
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from eventstore.event import Event
from eventstore.log import Snapshot
from eventstore.views import Usage
from projections.context.build import context_at
from projections.context.cursor import Cursor
from projections.context.incremental import IncrementalSizes, path_of_contexts
from projections.context.parts import Part
from projections.tokens import Counter
from projections.usage import RecordedAnswer, answers, measured_usage


class Previous(msgspec.Struct, frozen=True, kw_only=True):
    """The call before another one in the session, on whatever branch.

    It was sent `messages` messages of `tokens` tokens by our count; the first `shared` of them also begin the
    other call's context. `compaction` is the number of the one in effect, 0 for none.
    """

    id: str
    usage: Usage
    messages: int
    tokens: int
    compaction: int
    shared: int
    is_same_model: bool


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A completed call, identified by its assistant message.

    It was sent messages of `tokens` tokens by our count, with the compaction of number `compaction` in effect (0:
    none). `previous` is None for the first call of a session.
    """

    seq: int
    id: str
    usage: Usage
    tokens: int
    compaction: int = 0
    previous: Previous | None = None


def calls_on_path(
    snapshot: Snapshot,
    cursor: Cursor,
    tokens: Counter,
    calls: Sequence[SessionCall],
    entries: Sequence[Event],
) -> list[ModelCall]:
    """Return those of a session's calls that are on the path to a leaf, oldest first.

    `entries` are those of the path.
    """
    previous = {call.seq: before for before, call in pairwise(calls)}
    found: list[ModelCall] = []
    last: _Sent | None = None
    for call, parts, sizes, unchanged in _contexts(snapshot, cursor, tokens, calls, entries):
        sent_call = _model_call(call, sizes[-1])
        before = previous.get(call.seq)
        if before:
            known = unchanged
            if last is None or before.seq != last.seq:
                elsewhere = list(context_at(snapshot, cursor.at_leaf(before.sent_at)).parts)
                last = _Sent(before.seq, elsewhere, len(elsewhere), sum(tokens.count(elsewhere)))
                known = 0
            sent_call = msgspec.structs.replace(
                sent_call,
                previous=Previous(
                    id=before.id,
                    usage=before.usage,
                    messages=last.messages,
                    tokens=last.tokens,
                    compaction=before.compaction,
                    shared=last.shared_with(parts, known),
                    is_same_model=before.model == call.model,
                ),
            )
        found.append(sent_call)
        last = _Sent(call.seq, parts, len(parts), sizes[-1])
    return found


def sized_calls(snapshot: Snapshot, cursor: Cursor, tokens: Counter, *, first: int = 1) -> list[ModelCall]:
    """Return the completed calls on a path from entry `first` on, without `previous`.

    The contexts before that entry are not built.
    """
    entries = path_of_contexts(snapshot, cursor, first)
    read = {entry.seq: entry for entry in entries}
    calls = session_calls(answers(snapshot, cursor, first=first, read=read))
    return [
        _model_call(call, sizes[-1])
        for call, _, sizes, _ in _contexts(snapshot, cursor, tokens, calls, entries, first=first)
    ]


def first_call(snapshot: Snapshot, cursor: Cursor, tokens: Counter) -> ModelCall | None:
    """Return the session's first completed call on any branch; None if there is none."""
    last = min(_FIRST_EVENTS, cursor.as_of)
    while not (calls := session_calls(answers(snapshot, msgspec.structs.replace(cursor, as_of=last)))):
        if last == cursor.as_of:
            return None
        last = min(8 * last, cursor.as_of)
    parts = context_at(snapshot, cursor.at_leaf(calls[0].sent_at)).parts
    return _model_call(calls[0], sum(tokens.count(parts)))


_FIRST_EVENTS: Final = 64
"""Events that usually include a session's first call."""


def _model_call(call: SessionCall, tokens: int) -> ModelCall:
    return ModelCall(seq=call.seq, id=call.id, usage=call.usage, tokens=tokens, compaction=call.compaction)


def tokens_per_estimate(calls: Iterable[ModelCall]) -> float:
    """Return a session's provider tokens per estimated token; see `growth_ratio`."""
    return growth_ratio(
        (call.usage.prompt - before.usage.prompt, call.tokens - before.tokens)
        for call in calls
        if (before := call.previous) is not None
        and before.is_same_model
        and before.compaction == call.compaction
    )


def ratio_along(calls: Iterable[ModelCall]) -> float:
    """Return the provider tokens per estimated token of the calls of a path; see `growth_ratio`."""
    return growth_ratio(
        (call.usage.prompt - before.usage.prompt, call.tokens - before.tokens)
        for before, call in pairwise(calls)
        if before.compaction == call.compaction
    )


def growth_ratio(growths: Iterable[tuple[int, int]]) -> float:
    """Return the number of provider tokens per estimated token; 1.0 if unknown.

    `growths` are, call by call, the growth in measured tokens and in estimated ones. The result is the median of
    their ratios, weighted by the estimate. A median is robust against content that the log does not have; where a
    few calls leave no more than such content, the bounds hold.
    """
    ratios = sorted((measured / tokens, abs(tokens)) for measured, tokens in growths if tokens)
    half = sum(weight for _, weight in ratios) / 2
    sums = accumulate(weight for _, weight in ratios)
    found = next((ratio for (ratio, _), below in zip(ratios, sums, strict=True) if below >= half), 1.0)
    return min(max(found, _LEAST_RATIO), _LARGEST_RATIO)


_LEAST_RATIO: Final = 0.5
_LARGEST_RATIO: Final = 3.0
"""No text has fewer tokens, or more, per four characters."""


def fixed_tokens(calls: Sequence[ModelCall], first: ModelCall | None, *, ratio: float) -> int:
    """Return the tokens before each request's messages: the least surplus of a stretch of calls.

    A stretch begins with the session's `first` call and with the first call after each compaction. Its surplus is
    what that call measured beyond its messages, scaled by the `growth_ratio`. Content that no record holds, such as
    files restored after a compaction, makes a surplus larger, so the least is nearest. 0 without calls.
    """
    begins = [call for before, call in pairwise(calls) if before.compaction != call.compaction]
    begins += [first] if first else []
    return max(0, min((round(call.usage.prompt - ratio * call.tokens) for call in begins), default=0))


def expected_prompt(before: ModelCall | Previous, call: ModelCall, *, ratio: float, fixed: int) -> int:
    """Predict a request's size from the previous one, or after a compaction from its messages.

    `ratio` is the `growth_ratio`, `fixed` the `fixed_tokens`.
    """
    if before.compaction == call.compaction:
        return before.usage.prompt + round(ratio * (call.tokens - before.tokens))
    return fixed + round(ratio * call.tokens)


def is_jump(before: ModelCall | Previous, call: ModelCall, unexplained: int) -> bool:
    """Return True if unexpected tokens in a request exceed the estimate's error."""
    prompt = call.usage.prompt
    if before.compaction == call.compaction:
        return abs(unexplained) > max(_JUMP_TOKENS, _JUMP_SHARE * max(prompt, before.usage.prompt))
    return abs(unexplained) > max(_JUMP_TOKENS, _JUMP_SHARE * prompt, _CONTEXT_ERROR * call.tokens)


_JUMP_TOKENS: Final = 2_500
_JUMP_SHARE: Final = 0.04
_CONTEXT_ERROR: Final = 0.25
"""The share by which the estimate of a whole context may be wrong."""


def records_cache(calls: Sequence[ModelCall]) -> bool:
    """Return True if any call read from or wrote to a prompt cache."""
    return any(call.usage.cache_read or call.usage.cache_write for call in calls)


def shared_prefix_length(one: Iterable[Part], other: Iterable[Part]) -> int:
    """Return the number of identical leading messages of two contexts."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].raw == pair[1].raw, pairs))


class SessionCall(msgspec.Struct, frozen=True, kw_only=True):
    """A completed call on any branch; `records` are the numbers of the events of its message."""

    seq: int
    id: str
    sent_at: int
    compaction: int
    records: tuple[int, ...]
    model: tuple[str, str]
    usage: Usage


def session_calls(answered: Iterable[RecordedAnswer]) -> list[SessionCall]:
    """Return the completed ones of a session's calls, in message order."""
    calls = {
        event.seq: SessionCall(
            seq=event.seq,
            id=event.id,
            sent_at=sent_at,
            compaction=event.compaction_seq,
            records=records,
            model=(view.provider, view.model),
            usage=usage,
        )
        for event, view, sent_at, records in answered
        if (usage := measured_usage(view)) is not None
    }
    return list(calls.values())


class _Sent(NamedTuple):
    """The messages that a call was sent, and their tokens.

    They are the first `messages` of a list that may have grown since.
    """

    seq: int
    parts: list[Part]
    messages: int
    tokens: int

    def shared_with(self, parts: list[Part], known: int) -> int:
        """Count the leading messages that another context shares; the first `known` are the same."""
        known = min(known, self.messages)
        if parts is self.parts or known == self.messages:
            return self.messages
        before = islice(self.parts, known, self.messages)
        return known + shared_prefix_length(before, islice(parts, known, None))


def _contexts(
    snapshot: Snapshot,
    cursor: Cursor,
    tokens: Counter,
    calls: Sequence[SessionCall],
    entries: Sequence[Event],
    *,
    first: int = 1,
) -> Iterator[tuple[SessionCall, list[Part], list[int], int]]:
    """Yield each call of the path with its context and the context's cumulative token counts.

    The number is that of its first messages which the context of the call before begins with. Calls that were sent
    before entry `first` are left out; `entries` are those of `path_of_contexts`.
    """
    on_path = {entry.seq for entry in entries}
    by_place: dict[int, list[SessionCall]] = {}
    for call in calls:
        if not on_path.isdisjoint(call.records):
            by_place.setdefault(call.sent_at, []).append(call)
    sent = IncrementalSizes(snapshot, cursor, entries, tokens, first=first)
    for call in by_place.get(0, ()):
        yield call, sent.parts, sent.sizes, sent.unchanged()
    for entry in entries[bisect_left(entries, first, key=attrgetter("seq")) :]:
        sent.add(entry)
        for call in by_place.get(entry.seq, ()):
            yield call, sent.parts, sent.sizes, sent.unchanged()
