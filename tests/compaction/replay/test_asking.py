"""Estimates, budgets and draws of a replay that asks models."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from compaction.prompts import serialized_prompt
from compaction.replay.asking import Budget, Place, draw, plan_request
from compaction.templates import find_template
from projections.audit.prices import Price

PRICE = Price(input=4, output=16, cache_read=1, cache_write_5m=5, cache_write_1h=8)


def places(**sessions: int) -> list[Place]:
    return [
        Place(session=name, seq=seq, requests=(), lacking=())
        for name, count in sessions.items()
        for seq in range(count)
    ]


def test_every_beginning_of_a_draw_is_spread_evenly() -> None:
    drawn = draw(places(one=3, two=40, three=7))
    assert len(set(drawn)) == 50
    for length in range(1, 10):
        counts = Counter(place.session for place in drawn[:length])
        assert max(counts.values()) - min(counts[name] for name in ("one", "two", "three")) <= 1


def test_a_draw_is_the_same_again_and_not_the_order_of_the_log() -> None:
    drawn = [place.seq for place in draw(places(one=40))]
    assert drawn == [place.seq for place in draw(places(one=40))]
    assert any(later < earlier for earlier, later in pairwise(drawn))


def test_threads_cannot_take_more_than_the_budget() -> None:
    budget = Budget(100)
    with ThreadPoolExecutor(8) as threads:
        taken = sum(threads.map(lambda _: budget.take(1.0), range(400)))
    assert taken == 100
    budget.give_back(2)
    assert [budget.take(1.5), budget.take(1.5), budget.take(None)] == [True, False, False]


def test_without_a_limit_a_request_of_unknown_price_is_covered() -> None:
    assert Budget().take(None)
    assert Budget().take(1e9)


def test_a_request_costs_at_most_a_token_for_each_byte() -> None:
    text = "Let us \u4e2d\u6587 count. " * 500
    prompt = serialized_prompt(find_template("compaction", ()), (), system=text, max_tokens=1_000)
    planned = plan_request(prompt, "anthropic", "m", lambda _model, _tokens: PRICE)
    assert planned.dollars == pytest.approx((planned.input * 4 + 1_000 * 16) / 1e6)
    assert planned.most is not None
    assert planned.most >= (len(text.encode()) * 5 + 1_000 * 16) / 1e6 > planned.dollars


def test_a_request_without_a_price_has_no_cost() -> None:
    prompt = serialized_prompt(find_template("compaction", ()), (), system="", max_tokens=1_000)
    planned = plan_request(prompt, "http", "", lambda _model, _tokens: PRICE)
    assert (planned.dollars, planned.most, planned.output) == (None, None, 1_000)
