from __future__ import annotations

import pytest

from cli.views.page.material import Call, call_of, spent, spent_at
from eventstore import EventLog
from eventstore.formats import view_of_event
from eventstore.views import Usage
from projections.audit.prices import FilePrices, Price
from tests.support.talk import Json, Story, assistant, user

PRICES = FilePrices(
    name="a table",
    date="2026-01-01",
    models={"m": Price(input=1, output=10, cache_read=0, cache_write_5m=0, cache_write_1h=0)},
)


def made(store: EventLog, message: Json) -> Call | None:
    story = Story(store)
    (said,) = story.says(message)
    view = view_of_event(story[said])
    assert view is not None
    return call_of(story[said], view, PRICES)


def call(seq: int, dollars: float | None) -> Call:
    return Call(seq=seq, usage=Usage(total=1), dollars=dollars, is_recorded=True)


def test_a_recorded_cost_counts(store: EventLog) -> None:
    usage = {"input": 10, "output": 5, "totalTokens": 15, "cost": {"total": 0.5}}
    found = made(store, assistant("x", usage=usage))
    assert found is not None
    assert (found.dollars, found.is_recorded) == (0.5, True)


def test_without_one_a_call_costs_what_the_table_says(store: EventLog) -> None:
    found = made(store, assistant("x", usage={"input": 1_000_000, "output": 100_000}))
    assert found is not None
    assert (found.dollars, found.is_recorded) == (2, False)


def test_a_model_that_the_table_does_not_know_has_no_cost(store: EventLog) -> None:
    found = made(store, assistant("x", tokens=100, model="other"))
    assert found is not None
    assert found.dollars is None


@pytest.mark.parametrize("message", [user("x"), assistant("x")])
def test_a_message_without_usage_is_no_call(store: EventLog, message: Json) -> None:
    assert made(store, message) is None


def test_what_was_spent_is_the_sum_of_what_is_known() -> None:
    assert spent([call(1, 0.1), call(2, None), call(3, 0.2)]) == pytest.approx(0.3)


def test_where_no_cost_is_known_nothing_is_known_of_the_sum() -> None:
    assert spent([call(1, None)]) is None


def test_calls_of_other_branches_count_from_the_next_entry_on() -> None:
    calls = [call(2, 1.0), call(3, 2.0), call(9, 4.0)]
    assert list(spent_at(calls, [1, 2, 5])) == [(1, 0), (2, 1), (5, 3)]
