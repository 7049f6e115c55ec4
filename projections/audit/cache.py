"""Measure the effect of a replacement on a provider's prompt cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from projections.audit.calls import ModelCall, entries_in_effect, records_cache, shared_prefix_length
from projections.audit.measure import MetricStruct
from projections.replacement import Replacement
from projections.tokens import Counter

CACHE_LIFETIME: Final = 5 * 60 * 1000
"""Milliseconds for which a provider's cache holds what was not read again: Anthropic's default, five minutes."""


class CacheEffect(MetricStruct, frozen=True):
    """The messages that C′ begins with as C did, and the tokens behind them, to be sent and cached anew.

    At the next call that went through (`call`): `predicted_read` tokens from the cache, `recorded_read` and
    `recorded_write` as the provider counted them. None where there is no such call, or no call of the path
    recorded any.
    """

    shared_messages: int
    shared_tokens: int
    rewritten_tokens: int
    call: str | None
    predicted_read: int | None
    recorded_read: int | None
    recorded_write: int | None


class CacheRead(MetricStruct, frozen=True):
    """The tokens that one call read from the cache: as predicted, and as the provider counted them."""

    id: str
    seq: int
    predicted: int
    recorded: int


class CacheHistory(MetricStruct, frozen=True):
    """Predicted and recorded reads of the calls of a path: all in all, and of each.

    `close` are the calls whose two figures are within a tenth of the larger; `share` is close / calls, None
    where no call recorded any. The first call has none before it, and is left out.
    """

    calls: int
    close: int
    share: float | None
    predicted: int
    recorded: int
    reads: list[CacheRead]


def cache_effect(
    replacement: Replacement,
    tokens: Counter,
    calls: Sequence[ModelCall],
    *,
    lifetime: int = CACHE_LIFETIME,
) -> CacheEffect:
    """Return the effect of a replacement on the prefix. `calls` are the requests of the path that it lies on.

    The next call is looked for up to the next compaction or undo. `lifetime` is in milliseconds.
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
        predicted_read=predicted_read(counted, lifetime) if counted else None,
        recorded_read=counted.usage.cache_read if counted else None,
        recorded_write=counted.usage.cache_write if counted else None,
    )


def shared_prefix(replacement: Replacement, tokens: Counter) -> tuple[int, list[int]]:
    """Return the number of messages with which C′ begins as C did, and the tokens of each message of C′."""
    after = replacement.after.parts
    return shared_prefix_length(replacement.before.parts, after), tokens.count(after)


def predicted_read(call: ModelCall, lifetime: int = CACHE_LIFETIME) -> int | None:
    """The tokens that a call should read from the cache; none once it lay idle for longer than `lifetime` milliseconds.

    None for the first call of a path.
    """
    if call.cached_tokens is None or call.idle_ms is None or call.idle_ms <= lifetime:
        return call.cached_tokens
    return 0


def cache_history(calls: Sequence[ModelCall], *, lifetime: int = CACHE_LIFETIME) -> CacheHistory:
    """Predicted beside recorded reads, of the requests of a path: how far the prediction can be trusted."""
    reads = [
        CacheRead(id=call.id, seq=call.seq, predicted=predicted, recorded=call.usage.cache_read)
        for call in (calls if records_cache(calls) else ())
        if (predicted := predicted_read(call, lifetime)) is not None
    ]
    close = sum(_is_close(read.predicted, read.recorded) for read in reads)
    return CacheHistory(
        calls=len(reads),
        close=close,
        share=close / len(reads) if reads else None,
        predicted=sum(read.predicted for read in reads),
        recorded=sum(read.recorded for read in reads),
        reads=reads,
    )


def _is_close(one: int, other: int) -> bool:
    return 10 * abs(one - other) <= max(one, other)
