"""Measure the effect of a replacement on a provider's prompt cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eventstore.views import Usage
from projections.audit.calls import ModelCall, SessionCall, records_cache, shared_prefix_length
from projections.audit.measure import MetricStruct
from projections.replacement import Replacement, entries_in_effect
from projections.tokens import Counter


class CacheEffect(MetricStruct, frozen=True):
    """The messages that C′ shares with the beginning of C, and the tokens after them.

    Those tokens must be sent and cached again. `recorded_read` and `recorded_write` are what the provider counted for
    the next completed call (`call`): None if there is no such call, or if no call on the path recorded cache use.
    """

    shared_messages: int
    shared_tokens: int
    rewritten_tokens: int
    call: str | None
    recorded_read: int | None
    recorded_write: int | None


class CacheHistory(MetricStruct, frozen=True):
    """The tokens that all calls of a session wrote to the cache.

    `unread` are those of them that the next call of the same model did not read; the writes of a model's last call are
    in neither.
    """

    written: int
    unread: int


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
    counted = following.usage if following and records_cache(calls) else None
    return CacheEffect(
        shared_messages=shared,
        shared_tokens=sum(counts[:shared]),
        rewritten_tokens=sum(counts[shared:]),
        call=following.id if following else None,
        recorded_read=counted.cache_read if counted else None,
        recorded_write=counted.cache_write if counted else None,
    )


def shared_prefix(replacement: Replacement, tokens: Counter) -> tuple[int, list[int]]:
    """Return how many leading messages C′ shares with C, and the tokens of each message of C′."""
    after = replacement.after.parts
    return shared_prefix_length(replacement.before.parts, after), tokens.count(after)


def cache_history(made: Iterable[SessionCall]) -> CacheHistory:
    """Compare what a session's calls wrote to the cache with what the next ones read."""
    written = unread = 0
    last: dict[tuple[str, str], Usage] = {}
    for call in made:
        usage = call.usage
        if (before := last.get(call.model)) is not None:
            written += before.cache_write
            held = before.cache_read + before.cache_write
            unread += min(before.cache_write, max(0, held - usage.cache_read))
        last[call.model] = usage
    return CacheHistory(written=written, unread=unread)
