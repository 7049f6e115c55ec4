"""What a replacement does to a provider's prompt cache."""

from __future__ import annotations

from projections.metrics.shapes import Shape


class Cache(Shape, frozen=True):
    """The prefix that C′ shares with the request before, and the tokens behind it, to be sent and cached anew.

    At the next call that went through (`call`): `predicted_read` tokens from the cache, `recorded_read` and
    `recorded_write` as the provider counted them. None where there is no such call or it recorded none.
    """

    shared_messages: int
    shared_tokens: int
    rewritten_tokens: int
    call: str | None
    predicted_read: int | None
    recorded_read: int | None
    recorded_write: int | None
