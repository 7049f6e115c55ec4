"""What a provider would count and charge for the requests of the demo's agent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

import msgspec

from eventstore.estimates import utf16_tokens
from eventstore.formats import view_of_message
from projections.context.parts import Part

PROVIDER: Final = "anthropic"
OVERHEAD: Final = 9_000
"""Tokens of the system prompt and the tools, which no log shows."""
UNCACHED: Final = 4
"""Tokens behind the last cache mark of a request."""
CACHE_LIFE: Final = 5 * 60 * 1000
"""Milliseconds for which a request is held."""


class Prices(NamedTuple):
    """Dollars for a million tokens, in the order of a usage's counts."""

    input: float
    output: float
    cache_read: float
    cache_write: float


PRICES: Final = {
    "claude-sonnet-4-5": Prices(3, 15, 0.3, 3.75),
    "claude-opus-4-5": Prices(5, 25, 0.5, 6.25),
}


class Provider:
    """Answers for what requests cost. It holds the newest one, for as long as providers do."""

    def __init__(self) -> None:
        self._model, self._time = "", 0
        self._held: list[bytes] = []

    def usage(
        self, model: str, parts: Sequence[Part], blocks: list[dict[str, Any]], *, now: int
    ) -> dict[str, Any]:
        """What is counted of a request at a time, in epoch milliseconds, and of the answer to it, in pi's shape."""
        counts = [_counted(part.utf16) for part in parts]
        messages = [part.raw for part in parts]
        same = self._same(model, now, messages)
        self._model, self._time, self._held = model, now, messages
        cached = 0 if same is None else OVERHEAD + sum(counts[:same])
        written = OVERHEAD + sum(counts) - cached - UNCACHED
        output = _counted(utf16_tokens(view_of_message(_encode({"role": "assistant", "content": blocks}))))
        tokens = (UNCACHED, output, cached, written)
        costs = [round(count * price / 1e6, 6) for count, price in zip(tokens, PRICES[model], strict=True)]
        names = ("input", "output", "cacheRead", "cacheWrite")
        return {
            **dict(zip(names, tokens, strict=True)),
            "totalTokens": sum(tokens),
            "cost": {**dict(zip(names, costs, strict=True)), "total": round(sum(costs), 6)},
        }

    def _same(self, model: str, now: int, messages: list[bytes]) -> int | None:
        """With how many messages a request begins that are held; None where nothing is, not even its prompt."""
        if model != self._model or now - self._time > CACHE_LIFE:
            return None
        pairs = zip(self._held, messages, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _counted(estimate: int) -> int:
    """Tokens that a provider counts where characters / 4 estimate so many: code has more than prose."""
    return estimate * 6 // 5


_encode: Final = msgspec.json.Encoder().encode
