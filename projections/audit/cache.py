"""Measure the effect of a replacement on a provider's prompt cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eventstore.views import Usage
from projections.audit.calls import ModelCall, SessionCall, records_cache, shared_prefix_length
from projections.audit.measure import MetricStruct
from projections.replacement import Replacement, entries_in_effect
from projections.tokens import Counter
from projections.usage import CACHE_LIFETIME


class CacheEffect(MetricStruct, frozen=True):
    """The messages that C′ shares with the beginning of C, and the tokens after them.

    Those tokens must be sent and cached again. For the next completed call (`call`): `predicted_read` tokens
    from the cache, and `recorded_read` and `recorded_write` as the provider counted them. None if there is no
    such call, or if no call on the path recorded cache use.
    """

    shared_messages: int
    shared_tokens: int
    rewritten_tokens: int
    call: str | None
    predicted_read: int | None
    recorded_read: int | None
    recorded_write: int | None


class CacheRead(MetricStruct, frozen=True):
    """The tokens that one call read from the cache: predicted, and as the provider counted them."""

    id: str
    seq: int
    predicted: int
    recorded: int


class CacheHistory(MetricStruct, frozen=True):
    """Predicted and recorded cache reads of the calls on a path: totals, and each call.

    `close` counts the calls whose two figures differ by at most a tenth of the larger; `share` is close /
    calls, None if no call recorded cache use. The first call is left out, because nothing comes before it.
    `written` are the tokens that all calls of the session wrote to the cache, and `unread` those of them that the
    next call of the same model did not read; the writes of a model's last call are in neither.
    """

    calls: int
    close: int
    share: float | None
    predicted: int
    recorded: int
    written: int
    unread: int
    reads: list[CacheRead]


def cache_effect(
    replacement: Replacement,
    tokens: Counter,
    calls: Sequence[ModelCall],
) -> CacheEffect:
    """Return the effect of a replacement on the cached prefix.

    `calls` are the model calls on the replacement's path. The next call is searched up to the next compaction
    or undo.
    """
    shared, counts = shared_prefix(replacement, tokens)
    behind = {entry.seq for entry in entries_in_effect(replacement)}
    following = next((call for call in calls if call.seq in behind), None)
    counted = following if records_cache(calls) else None
    return CacheEffect(
        shared_messages=shared,
        shared_tokens=sum(counts[:shared]),
        rewritten_tokens=sum(counts[shared:]),
        call=following.id if following else None,
        predicted_read=predicted_read(counted) if counted else None,
        recorded_read=counted.usage.cache_read if counted else None,
        recorded_write=counted.usage.cache_write if counted else None,
    )


def shared_prefix(replacement: Replacement, tokens: Counter) -> tuple[int, list[int]]:
    """Return how many leading messages C′ shares with C, and the tokens of each message of C′."""
    after = replacement.after.parts
    return shared_prefix_length(replacement.before.parts, after), tokens.count(after)


def predicted_read(call: ModelCall) -> int | None:
    """Return the tokens that a call should read from the cache; None for a path's first call.

    Zero if the cache was idle for longer than five minutes.
    """
    if call.cached_tokens is None or call.idle_ms is None or call.idle_ms <= CACHE_LIFETIME:
        return call.cached_tokens
    return 0


def cache_history(calls: Sequence[ModelCall], made: Iterable[SessionCall]) -> CacheHistory:
    """Compare predicted with recorded cache reads, to show how reliable the prediction is.

    `calls` are those of the path, `made` all of the session.
    """
    reads = [
        CacheRead(id=call.id, seq=call.seq, predicted=predicted, recorded=call.usage.cache_read)
        for call in (calls if records_cache(calls) else ())
        if (predicted := predicted_read(call)) is not None
    ]
    written, unread = _writes(made)
    close = sum(_is_close(read.predicted, read.recorded) for read in reads)
    return CacheHistory(
        calls=len(reads),
        close=close,
        share=close / len(reads) if reads else None,
        predicted=sum(read.predicted for read in reads),
        recorded=sum(read.recorded for read in reads),
        written=written,
        unread=unread,
        reads=reads,
    )


def _is_close(one: int, other: int) -> bool:
    return 10 * abs(one - other) <= max(one, other)


def _writes(made: Iterable[SessionCall]) -> tuple[int, int]:
    """Return the tokens written to the cache, and those that the next call did not read."""
    written = unread = 0
    last: dict[tuple[str, str], Usage] = {}
    for call in made:
        usage = call.usage
        if (before := last.get(call.model)) is not None:
            written += before.cache_write
            held = before.cache_read + before.cache_write
            unread += min(before.cache_write, max(0, held - usage.cache_read))
        last[call.model] = usage
    return written, unread
