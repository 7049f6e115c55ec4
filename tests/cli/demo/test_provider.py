from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cli.demo.provider import CACHE_LIFE, OVERHEAD, UNCACHED, Provider
from projections.context.parts import Fate, Part

OPUS, SONNET = "claude-opus-4-5", "claude-sonnet-4-5"


def part(text: str, tokens: int = 10) -> Part:
    raw = f'{{"role":"user","content":"{text}"}}'.encode()
    return Part(
        seq=1, id=text, kind="message", role="user", fate=Fate.KEPT, raw=raw, utf16=tokens, utf8=tokens
    )


def asked(provider: Provider, parts: Sequence[Part], *, model: str = OPUS, now: int = 0) -> dict[str, Any]:
    # Forty characters are ten tokens by estimate, twelve as a provider counts.
    return provider.usage(model, parts, [{"type": "text", "text": "x" * 40}], now=now)


def test_a_first_request_is_written_to_the_cache_with_what_no_log_shows() -> None:
    usage = asked(Provider(), [part("a"), part("b")])
    assert (usage["input"], usage["output"], usage["cacheRead"]) == (UNCACHED, 12, 0)
    assert usage["cacheWrite"] == OVERHEAD + 24 - UNCACHED
    assert usage["totalTokens"] == OVERHEAD + 24 + 12


def test_the_next_one_reads_as_far_as_it_begins_the_same() -> None:
    provider = Provider()
    asked(provider, [part("a"), part("b")])
    usage = asked(provider, [part("a"), part("c"), part("b")])
    assert usage["cacheRead"] == OVERHEAD + 12
    assert usage["cacheWrite"] == 24 - UNCACHED


def test_another_model_has_nothing_cached() -> None:
    provider = Provider()
    asked(provider, [part("a")])
    assert asked(provider, [part("a")], model=SONNET)["cacheRead"] == 0


@pytest.mark.parametrize(("later", "read"), [(CACHE_LIFE, OVERHEAD + 12), (CACHE_LIFE + 1, 0)])
def test_after_five_minutes_nothing_is_held(later: int, read: int) -> None:
    provider = Provider()
    asked(provider, [part("a")])
    assert asked(provider, [part("a")], now=later)["cacheRead"] == read


def test_it_costs_what_its_counts_cost() -> None:
    # Opus: 5, 25, 0.5 and 6.25 dollars a million; 4 input, 12 output, 9,008 written.
    cost = asked(Provider(), [part("a")])["cost"]
    assert cost == {
        "input": 0.00002,
        "output": 0.0003,
        "cacheRead": 0.0,
        "cacheWrite": 0.0563,
        "total": 0.05662,
    }
