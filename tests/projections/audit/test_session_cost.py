"""Price sessions: every call once, on any branch, however it ended."""

from __future__ import annotations

import json
import math

import pytest

from eventstore.errors import NotFoundError
from eventstore.files.importing import import_file
from eventstore.records import BranchSummary, Compaction
from projections.audit.cost import SessionCost, Spending, session_cost
from projections.audit.prices import library_prices
from tests.support.spending import PRICES, used
from tests.support.talk import assistant, user


def spent(log):
    return session_cost(log, "s", prices=PRICES).spent


def test_a_call_costs_what_its_harness_recorded_and_what_the_table_says(story):
    story.says(user("hello"), assistant("hi", usage=used(10, 2, read=5, write=1, cost=0.25)))
    spent = Spending(
        calls=1,
        recorded=0.25,
        unrecorded=0,
        priced=40 + 32 + 5 + 5,
        unpriced=0,
        cost=0.25,
        without_cost=0,
    )
    assert session_cost(story.log, "s", prices=PRICES) == SessionCost(
        prices="a table",
        prices_date="2026-11-01",
        spent=spent,
    )


def test_a_session_without_calls_cost_nothing_that_is_known(story):
    story.says(user("hello"), assistant("no usage"), assistant("none used", usage=used(cost=0)))
    assert spent(story.log) == Spending(
        calls=0, recorded=None, unrecorded=0, priced=None, unpriced=0, cost=None, without_cost=0
    )


@pytest.mark.parametrize(("length", "cost", "understated"), [(80, None, 0), (81, None, 1), (81, 1, 0)])
def test_a_price_of_half_an_answer_is_understated(story, length, cost, understated):
    story.says(assistant("x" * length, usage=used(10, 10, cost=cost)))
    assert spent(story.log).understated == understated


@pytest.mark.parametrize("stop", ["aborted", "error", "length"])
def test_a_call_was_paid_for_however_it_ended(story, stop):
    story.says(assistant("hi", usage=used(10, cost=0.25), stop=stop))
    assert spent(story.log) == Spending(
        calls=1, recorded=0.25, unrecorded=0, priced=40, unpriced=0, cost=0.25, without_cost=0
    )


def test_a_message_that_branches_share_was_paid_for_once(story):
    story.says(user("hello"), assistant("shared", usage=used(10, cost=1)))
    story.says(assistant("one branch", usage=used(1, cost=2)))
    story.add(BranchSummary(from_id="e2", summary="s", left="e3"), parent="e2")
    story.says(assistant("another", usage=used(2, cost=4)))
    assert (spent(story.log).calls, spent(story.log).recorded, spent(story.log).priced) == (3, 7, 4 * 13)


def test_what_a_compaction_kept_was_paid_for_once(story):
    story.says(assistant("kept", usage=used(10, cost=1)))
    for _ in range(3):
        story.add(Compaction(summary="s", first_kept_entry_id="e1", tokens_before=9))
    assert (spent(story.log).calls, spent(story.log).recorded) == (1, 1)


def test_calls_of_a_model_that_the_table_does_not_know_have_no_price(story):
    story.says(
        assistant("hi", usage=used(10, cost=1)), assistant("hi", usage=used(10, cost=2), model="unknown")
    )
    found = session_cost(story.log, "s", prices=PRICES)
    assert (found.spent.priced, found.spent.unpriced, found.spent.recorded) == (40, 1, 3)


def test_calls_that_recorded_no_cost_are_counted(story):
    story.says(assistant("hi", usage=used(10, cost=1)), assistant("hi", usage=used(10)))
    assert (spent(story.log).recorded, spent(story.log).unrecorded) == (1, 1)


def test_a_call_without_a_recorded_cost_is_added_at_the_price_of_the_table(story):
    story.says(
        assistant("hi", usage=used(10, cost=1)),
        assistant("hi", usage=used(10)),
        assistant("hi", usage=used(10), model="unknown"),
    )
    assert (spent(story.log).cost, spent(story.log).without_cost) == (1 + 40, 1)


def test_a_total_that_is_not_told_apart_has_no_price(story):
    story.says(assistant("hi", usage={"totalTokens": 50}))
    assert spent(story.log) == Spending(
        calls=1, recorded=None, unrecorded=1, priced=None, unpriced=1, cost=None, without_cost=1
    )


def test_tokens_cached_for_an_hour_cost_more(story):
    story.says(assistant("hi", usage={"cacheWrite": 5, "cacheWrite1h": 2}))
    assert spent(story.log).priced == 3 * 5 + 2 * 8


def test_a_long_prompt_costs_what_its_tier_costs(story):
    usage = used(0, 0, read=200_001)
    story.says(assistant("hi", usage=usage, provider="anthropic", model="claude-sonnet-4-5"))
    found = session_cost(story.log, "s", prices=library_prices())
    assert found.spent.priced == pytest.approx(200_001 * 0.6 / 1e6)


def test_an_unknown_session_has_no_cost(log):
    with pytest.raises(NotFoundError) as refused:
        session_cost(log, "s", prices=PRICES)
    assert (refused.value.what, refused.value.name) == ("session", "s")


REAL = ["pi-mono-before-compaction.v1", "pi-mono-before-compaction.v3", "pi-mono-large-session.v1"]


@pytest.mark.parametrize("name", REAL)
def test_a_real_session_cost_the_sum_of_its_lines(store, corpus, name):
    path = corpus / "pi" / f"{name}.jsonl"
    session = import_file(store, path).id
    messages = (json.loads(line).get("message") or {} for line in path.read_bytes().splitlines())
    costs = [each["usage"]["cost"]["total"] for each in messages if each.get("role") == "assistant"]
    found = session_cost(store, session, prices=library_prices()).spent
    assert (found.recorded, found.unrecorded) == (math.fsum(costs), 0)


@pytest.mark.parametrize("name", REAL)
def test_a_real_session_cost_by_the_library_what_its_harness_recorded(store, corpus, name):
    session = import_file(store, corpus / "pi" / f"{name}.jsonl").id
    found = session_cost(store, session, prices=library_prices()).spent
    assert (found.priced, found.unpriced) == (pytest.approx(found.recorded, abs=1e-9), 0)
