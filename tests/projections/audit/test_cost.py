"""Price replacements and their savings, worked out by hand with the prices of `A_TOKEN`."""

from __future__ import annotations

import pytest
from hypothesis import given

from eventstore.memory import MemoryLog
from eventstore.records import BranchSummary, Compaction, ModelChange, Rewrite, TextReplacement, Undone
from projections.audit.cost import Cost, cost
from projections.audit.prices import FilePrices, Price, library_prices
from projections.context.cursor import resolve_cursor
from projections.tokens import counter
from tests.projections.test_replacement import replacements
from tests.support.calls import model_calls
from tests.support.events import NOW
from tests.support.native import native_events
from tests.support.spending import A_TOKEN, PRICES, answer, long, used
from tests.support.talk import assistant, user

TOKENS = counter("utf16/4")


def costs(log, session="s", prices=PRICES):
    with log.snapshot() as snapshot:
        calls = model_calls(snapshot, resolve_cursor(snapshot, session), TOKENS)
    return [cost(each, TOKENS, prices, calls) for each in replacements(log, session)]


def compaction(first_kept="e3", **fields):
    return Compaction(summary=long(8), first_kept_entry_id=first_kept, tokens_before=1, **fields)


@pytest.fixture
def cached(story):
    """60 tokens of a request, 20 of an answer and 20 of another request, e3; the provider cached."""
    story.says(user(long(60)), answer(20, sent=60), user(long(20)))
    return story


def test_a_compaction_pays_for_its_summary_and_the_cache_and_saves_on_later_calls(cached):
    cached.add(compaction())
    cached.says(answer(1, sent=28), answer(1, sent=29))
    assert costs(cached.log) == [
        Cost(
            model="p/m",
            calls=2,
            # 80 tokens were removed and sent to the model, 8 came back.
            summary=80 * 4 + 8 * 16,
            is_estimate=True,
            # 28 tokens stand behind what is shared, and a write costs 4 more than a read.
            rewrite=28 * 4,
            # Two calls read 72 tokens less.
            saved=2 * 72 * 1,
            net=2 * 72 - (80 * 4 + 8 * 16) - 28 * 4,
            window=None,
            too_long=0,
        )
    ]


def test_where_no_cache_is_recorded_all_is_input(story):
    story.says(user(long(60)), assistant(long(20), tokens=70), user(long(20)))
    story.add(compaction())
    story.says(assistant(long(1), tokens=40))
    (only,) = costs(story.log)
    assert (only.saved, only.rewrite) == (72 * 4, 0)


def test_without_a_later_call_nothing_is_saved_or_cached_anew(cached):
    cached.add(compaction())
    (only,) = costs(cached.log)
    assert (only.calls, only.saved, only.rewrite, only.net) == (0, 0, 0, -(80 * 4 + 8 * 16))


@pytest.mark.parametrize("end", [compaction(first_kept="e5"), Undone(target_id="e4")])
def test_savings_end_at_the_next_compaction_or_undo(cached, end):
    cached.add(compaction())
    cached.says(answer(1, sent=28))
    cached.add(end)
    cached.says(answer(1, sent=28))
    assert costs(cached.log)[0].calls == 1


def test_savings_go_on_behind_a_rewrite(cached):
    cached.add(compaction())
    cached.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text="x")]))
    cached.says(answer(1, sent=28))
    assert [each.calls for each in costs(cached.log)] == [1, 1]


def test_a_call_that_was_cut_off_would_have_paid_more_too(cached):
    cached.add(compaction())
    cached.says(
        answer(1, sent=28, stop="aborted"), assistant("none used", usage=used()), assistant("no usage")
    )
    assert costs(cached.log)[0].calls == 1


def test_a_recorded_request_is_what_the_summary_cost(cached):
    cached.add(compaction(request={"usage": used(10, 2, read=5, write=1)}))
    (only,) = costs(cached.log)
    assert (only.summary, only.is_estimate) == (40 + 32 + 5 + 5, False)


def test_a_request_to_another_model_costs_what_that_one_does(cached):
    cached.add(compaction(request={"usage": used(10), "model": "small", "provider": "q"}))
    small = Price(input=1e6, output=1, cache_read=1, cache_write_5m=1, cache_write_1h=1)
    prices = FilePrices(name="", date="", models={"m": A_TOKEN, "small": small})
    assert costs(cached.log, prices=prices)[0].summary == 10


def test_a_request_to_a_model_without_a_price_leaves_the_net_open(cached):
    cached.add(compaction(request={"usage": used(10), "model": "unknown"}))
    (only,) = costs(cached.log)
    assert (only.summary, only.is_estimate, only.saved, only.net) == (None, False, 0, None)


def test_all_requests_for_a_summary_are_paid_for_each_by_its_own_model(cached):
    requests_ = [
        {"summarizer": "anthropic", "error": "overloaded"},
        {"summarizer": "anthropic", "model": "m", "usage": used(10)},
        {"summarizer": "anthropic", "model": "small", "usage": used(7)},
    ]
    cached.add(compaction(request={"requests": requests_, "model": "small", "usage": used(17)}))
    small = Price(input=1e6, output=1, cache_read=1, cache_write_5m=1, cache_write_1h=1)
    prices = FilePrices(name="", date="", models={"m": A_TOKEN, "small": small})
    (only,) = costs(cached.log, prices=prices)
    assert (only.summary, only.is_estimate) == (40 + 7, False)


@pytest.mark.parametrize("summarizer", ["extractive", "recorded"])
def test_a_summary_that_no_model_wrote_cost_nothing(cached, summarizer):
    cached.add(compaction(request={"requests": [{"summarizer": summarizer, "model": "m"}]}))
    (only,) = costs(cached.log)
    assert (only.summary, only.is_estimate) == (0, False)


def test_a_request_without_usage_is_estimated_by_the_model_that_was_asked(cached):
    cached.add(compaction(request={"requests": [{"summarizer": "http", "model": "unknown"}]}))
    (only,) = costs(cached.log)
    assert (only.summary, only.is_estimate) == (None, True)


@pytest.mark.parametrize(
    "request_", [{}, {"usage": None}, {"usage": {}}, {"usage": [1]}, {"usage": used(0)}, {"requests": [1]}]
)
def test_a_request_that_says_nothing_of_tokens_is_estimated(cached, request_):
    cached.add(compaction(request=request_))
    (only,) = costs(cached.log)
    assert (only.summary, only.is_estimate) == (80 * 4 + 8 * 16, True)


def test_a_request_of_a_foreign_record_that_is_no_object_is_estimated(store, tmp_path, pi):
    pi.says("a1", user(long(60)))
    pi.says("a2", answer(20, sent=60))
    pi.compacts("a3", "a2", summary=long(8), request="yes")
    (only,) = costs(store, pi.store_in(store, tmp_path))
    assert (only.summary, only.is_estimate) == (60 * 4 + 8 * 16, True)


def test_a_request_that_failed_was_paid_for_if_the_record_says_what_it_used(store, tmp_path, pi):
    pi.says("a1", user(long(60)))
    pi.says("a2", answer(20, sent=60))
    failed = {"error": "broke off", "model": "m", "provider": "p", "usage": {"input": 100, "output": 1}}
    answered = {"model": "m", "provider": "p", "usage": {"input": 10, "output": 2}}
    refused = {"error": "overloaded"}
    pi.compacts("a3", "a2", summary=long(8), request={"requests": [refused, failed, answered]})
    (only,) = costs(store, pi.store_in(store, tmp_path))
    assert (only.summary, only.is_estimate) == (110 * 4 + 3 * 16, False)


def test_a_rewrite_asks_no_model(cached):
    cached.add(Rewrite(reason="prune", targets=[TextReplacement(target="e2", text=long(5))]))
    cached.says(answer(1, sent=85))
    (only,) = costs(cached.log)
    assert (only.summary, only.is_estimate) == (0, False)
    # e2 shows 15 tokens less; it and e3 are cached anew.
    assert (only.saved, only.rewrite, only.net) == (15, (5 + 20) * 4, 15 - 100)


def test_a_branch_summary_costs_its_request_and_saves_nothing(cached):
    cached.says(answer(10, sent=100))
    cached.add(BranchSummary(from_id="e2", summary=long(4), left="e4"), parent="e2")
    cached.says(answer(1, sent=84))
    assert costs(cached.log) == [
        Cost(
            model="p/m",
            calls=1,
            summary=(20 + 10) * 4 + 4 * 16,
            is_estimate=True,
            rewrite=None,
            saved=None,
            net=-184,
            window=None,
            too_long=0,
        )
    ]


def test_a_context_that_grew_saves_less_than_nothing(story):
    story.says(user(long(2)), answer(1, sent=2))
    story.add(compaction(first_kept="e2"))
    story.says(answer(1, sent=9))
    assert costs(story.log)[0].saved == (3 - 9) * 1


def test_a_model_without_a_price_leaves_all_open(cached):
    cached.add(ModelChange(provider="p", model_id="unknown"))
    cached.add(compaction())
    (only,) = costs(cached.log)
    assert (only.model, only.summary, only.rewrite, only.saved, only.net) == ("p/unknown", *[None] * 4)


def test_no_model_has_no_price(story):
    story.says(user(long(60)))
    story.add(compaction(first_kept=""))
    (only,) = costs(story.log)
    assert (only.model, only.summary, only.net) == (None, None, None)


def test_each_part_costs_what_the_tier_of_its_prompt_costs(story):
    model = {"provider": "anthropic", "model": "claude-sonnet-4-5"}
    story.says(user(long(250_000)), answer(10, sent=250_000, **model))
    story.add(compaction(first_kept="e2"))
    story.says(answer(1, sent=18, **model))
    (only,) = costs(story.log, prices=library_prices())
    assert only.summary == pytest.approx((250_000 * 6 + 8 * 22.5) / 1e6)
    assert only.saved == pytest.approx((250_010 - 18) * 0.6 / 1e6)
    assert only.rewrite == pytest.approx(18 * (3.75 - 0.3) / 1e6)


def continued(story, *asked, model="claude-sonnet-4-5", more=0):
    """A compaction leaves 18 of 190,010 tokens; then come questions of so many, each with an answer of one.

    The provider counts `more` tokens in each request.
    """
    of_model = {"provider": "anthropic", "model": model}
    story.says(user(long(190_000)), answer(10, sent=190_000 + more, **of_model))
    story.add(compaction(first_kept="e2"))
    sent = 18
    for tokens in asked:
        sent += tokens
        story.says(user(long(tokens)), answer(1, sent=sent + more, **of_model))
        sent += 1
    (only,) = costs(story.log, prices=library_prices())
    return only


def test_nothing_is_saved_if_a_later_call_would_not_have_fitted_the_window(story):
    found = continued(story, 1, 9_987, 1, 1000)
    assert (found.window, found.calls, found.too_long, found.saved, found.net) == (200_000, 4, 2, None, None)
    assert found.summary > 0


def test_where_every_later_call_would_have_fitted_there_is_a_saving(story):
    found = continued(story, 1, 9_987)
    assert (found.window, found.too_long) == (200_000, 0)
    assert found.saved == pytest.approx(2 * (190_010 - 18) * 0.3 / 1e6)


@pytest.mark.parametrize(("model", "more"), [("claude-of-nobody", 0), ("claude-sonnet-4-5", 10_000)])
def test_a_window_is_unknown_of_an_unknown_model_and_where_a_call_exceeds_it(story, model, more):
    found = continued(story, 30_000, model=model, more=more)
    assert (found.window, found.too_long) == (None, 0)


@pytest.mark.slow
@given(appended=native_events())
def test_the_net_is_what_was_saved_less_what_was_paid(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    for each, found in zip(replacements(log), costs(log), strict=True):
        if found.net is not None:
            assert found.net == (found.saved or 0) - found.summary - (found.rewrite or 0)
        assert found.calls <= sum(entry.role == "assistant" for entry in each.later)
        assert found.is_estimate == (each.event.kind != "rewrite")
