"""Make up calls with usage, and prices for them."""

from __future__ import annotations

from typing import Any

from projections.audit.prices import FilePrices, Price
from tests.support.talk import Json, assistant

A_TOKEN = Price(input=4e6, output=16e6, cache_read=1e6, cache_write_5m=5e6, cache_write_1h=8e6)
"""A token of input costs 4 dollars, one of output 16, one from the cache 1, one into it 5, for an hour 8."""
PRICES = FilePrices(name="a table", date="2026-11-01", models={"m": A_TOKEN})
"""Knows the model that made-up assistants are."""


def long(tokens: int) -> str:
    """A text of so many tokens, by pi's estimate."""
    return "x" * 4 * tokens


def used(
    input: int = 0, output: int = 0, *, read: int = 0, write: int = 0, cost: float | None = None
) -> Json:
    """A usage in pi's shape."""
    tokens = {"input": input, "output": output, "cacheRead": read, "cacheWrite": write}
    return {**tokens, **({} if cost is None else {"cost": {"total": cost}})}


def answer(tokens: int, *, sent: int, read: int = 0, **fields: Any) -> Json:
    """An answer of so many tokens to a prompt of `sent`: `read` came from the cache, and the rest went there."""
    return assistant(long(tokens), usage=used(0, tokens, read=read, write=sent - read), **fields)
