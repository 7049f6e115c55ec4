"""Estimates, budgets and draws of a replay that asks models."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import pytest
from msgspec import structs

from compaction.part import Limits
from compaction.policy.load import load_preset
from compaction.prompts import Prompt, serialized_prompt
from compaction.replay import Measures
from compaction.replay.model_answers import (
    AnswerProgress,
    Budget,
    CachingSummarizer,
    ModelVariant,
    PlannedBoundary,
    fetch_answers,
    plan_boundaries,
    plan_request,
    sampling_order,
)
from compaction.replay.variants import Variant
from compaction.summarizers import Answer, Cancellation, SummarizerError
from compaction.summarizers.chain import SummarizerChain
from compaction.templates import find_template
from eventstore.log import EventLog
from eventstore.memory import MemoryLog
from eventstore.views import Usage
from projections.audit.prices import Price
from tests.support.talk import Story, assistant, reads_files, user

PRICE = Price(input=4, output=16, cache_read=1, cache_write_5m=5, cache_write_1h=8)


def planned(**sessions: int) -> list[PlannedBoundary]:
    return [
        PlannedBoundary(session=name, seq=seq, requests=(), lacking=())
        for name, count in sessions.items()
        for seq in range(count)
    ]


def test_every_beginning_of_a_draw_is_spread_evenly() -> None:
    drawn = sampling_order(planned(one=3, two=40, three=7))
    assert len(set(drawn)) == 50
    for length in range(1, 10):
        counts = Counter(boundary.session for boundary in drawn[:length])
        assert max(counts.values()) - min(counts[name] for name in ("one", "two", "three")) <= 1


def test_a_draw_is_the_same_again_and_not_the_order_of_the_log() -> None:
    drawn = [boundary.seq for boundary in sampling_order(planned(one=40))]
    assert drawn == [boundary.seq for boundary in sampling_order(planned(one=40))]
    assert any(later < earlier for earlier, later in pairwise(drawn))


def test_threads_cannot_take_more_than_the_budget() -> None:
    budget = Budget(100)
    with ThreadPoolExecutor(8) as threads:
        taken = sum(threads.map(lambda _: budget.reserve(1.0), range(400)))
    assert taken == 100
    budget.settle(1.0, 0.5)
    budget.settle(1.0, None)
    budget.settle(1.0, 0.0)
    assert [budget.reserve(1.5), budget.reserve(0.1), budget.reserve(None)] == [True, False, False]


def test_a_request_that_cost_more_than_its_worst_case_counts_in_full() -> None:
    budget = Budget(10)
    assert budget.reserve(1.0)
    budget.settle(1.0, 4.0)
    assert [budget.covers(6.5), budget.covers(5.5)] == [False, True]


def test_without_a_limit_a_request_of_unknown_price_is_covered() -> None:
    assert Budget().reserve(None)
    assert Budget().reserve(1e9)


def test_a_request_costs_at_most_a_token_for_each_byte() -> None:
    text = "Let us \u4e2d\u6587 count. " * 500
    prompt = serialized_prompt(find_template("compaction", ()), (), system=text, max_tokens=1_000)
    planned = plan_request(prompt, "anthropic", "m", lambda _model, _tokens: PRICE)
    assert planned.dollars == pytest.approx((planned.input * 4 + 1_000 * 16) / 1e6)
    assert planned.most is not None
    assert planned.most >= (len(text.encode()) * 5 + 1_000 * 16) / 1e6 > planned.dollars


PROMPT = serialized_prompt(find_template("compaction", ()), (), system="", max_tokens=1_000)


@dataclass
class Stub:
    """A summarizer with one reply, or one error, for every prompt."""

    reply: Answer | SummarizerError
    name: str = "anthropic"
    model: str = "m"
    requests: int = 0

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:  # noqa: ARG002
        self.requests += 1
        if isinstance(self.reply, SummarizerError):
            raise self.reply
        return self.reply


def caching_of(stub: Stub, budget: Budget | None = None, log: EventLog | None = None) -> CachingSummarizer:
    """A cache before a stub, whose every token has a price."""
    return CachingSummarizer(
        log or MemoryLog(clock=lambda: 0),
        stub,
        budget=budget or Budget(),
        price_of=lambda _model, _tokens: PRICE,
    )


def fetched(stub: Stub, *, times: float = 100, seq: int | None = None) -> tuple[AnswerProgress, int]:
    """Fetch a boundary's answers; its estimate, so many times, is the budget. Also return its number."""
    log = MemoryLog(clock=lambda: 0)
    story = Story(log)
    story.says(user("Repair the parser. Use src/parser.py."))
    reads_files(story, 20)
    story.says(
        assistant("Done."), user("Now repair src/part_3.py."), assistant("I look at it."), user("go on")
    )
    variant = Variant(
        name="refold", policy=load_preset("refold").keeping(2_000), chain=SummarizerChain(summarizers=[])
    )
    model_variant = ModelVariant(variant=variant, summarizer=stub.name, models=(stub.model,))
    price = lambda _model, _tokens: PRICE  # noqa: E731
    measures = Measures(limits=Limits(window=200_000))
    with log.snapshot() as snapshot:
        first = next(plan_boundaries(snapshot, log, "s", [model_variant], measures, price_of=price))
    place = first if seq is None else structs.replace(first, seq=seq)
    budget = Budget(times * sum(request.most or 0 for request in first.requests))
    caching = CachingSummarizer(log, stub, budget=budget, price_of=price)
    run = fetch_answers(log, [place], [(variant, [caching])], budget, measures, is_cancelled=lambda: False)
    return list(run)[-1], first.seq


COMPLETE = Answer(
    text="\n\n".join(f"## {each}\nall" for each in find_template("compaction", ()).sections), model="m"
)


def test_the_answers_of_a_boundary_are_fetched() -> None:
    progress, seq = fetched(stub := Stub(COMPLETE))
    assert progress.done == {("s", seq)}
    assert stub.requests > 0


def test_nothing_is_asked_at_a_lost_boundary() -> None:
    fetched(stub := Stub(COMPLETE), seq=9_999)
    assert stub.requests == 0


@pytest.mark.slow
def test_a_reminder_that_the_budget_refuses_leaves_the_boundary_out() -> None:
    draft = Answer(text="no sections", model="m", usage=Usage(input=1, output=1, total=2))
    whole, _ = fetched(Stub(draft))
    assert whole.done
    progress, _ = fetched(stub := Stub(draft), times=1)
    assert (progress.done, stub.requests) == (frozenset(), 1)


def test_a_failure_of_known_cost_costs_no_more() -> None:
    budget = Budget(1)
    refusal = SummarizerError("anthropic", "refused", usage=Usage(input=100, output=0, total=100))
    caching = caching_of(Stub(refusal), budget)
    with pytest.raises(SummarizerError):
        caching.summarize(PROMPT, is_cancelled=lambda: False)
    assert budget.covers(1 - 101 * 4 / 1e6)
    assert not budget.covers(1 - 99 * 4 / 1e6)


@pytest.mark.parametrize(("is_sent", "is_covered"), [(False, True), (True, False)])
def test_only_a_failure_that_was_never_sent_costs_nothing(*, is_sent: bool, is_covered: bool) -> None:
    budget = Budget(1)
    log = MemoryLog(clock=lambda: 0)
    caching = caching_of(
        Stub(SummarizerError("anthropic", "Connection refused", is_sent=is_sent)), budget, log
    )
    with pytest.raises(SummarizerError):
        caching.summarize(PROMPT, is_cancelled=lambda: False)
    assert budget.covers(1) == is_covered
    with log.snapshot() as snapshot:
        assert bool(list(snapshot.heads())) == is_sent


def test_a_server_that_no_retry_has_reached_is_not_waited_for_again() -> None:
    refused = [SummarizerError("anthropic", "refused", is_sent=False, is_transient=True) for _ in range(4)]
    stub = Stub(refused[0])
    caching = caching_of(stub)
    for stub.reply in refused:
        with pytest.raises(SummarizerError):
            caching.summarize(PROMPT, is_cancelled=lambda: False)
    assert [each.is_transient for each in refused] == [True, True, False, False]


def test_requests_that_fail_at_once_are_each_tried_again() -> None:
    prompts = [msgspec.structs.replace(PROMPT, text=f"prompt {number}") for number in range(4)]
    refused = [SummarizerError("anthropic", "refused", is_sent=False, is_transient=True) for _ in prompts]
    stub = Stub(refused[0])
    caching = caching_of(stub)
    for stub.reply, prompt in zip(refused, prompts, strict=True):
        with pytest.raises(SummarizerError):
            caching.summarize(prompt, is_cancelled=lambda: False)
    assert all(each.is_transient for each in refused)


def test_an_empty_answer_is_a_failure_of_known_cost_and_is_asked_for_again() -> None:
    budget = Budget(1)
    usage = Usage(input=100, output=0, total=100)
    stub = Stub(Answer(text=" \n", model="m", usage=usage))
    caching = caching_of(stub, budget)
    with pytest.raises(SummarizerError) as failed:
        caching.summarize(PROMPT, is_cancelled=lambda: False)
    assert failed.value.usage == usage
    assert budget.covers(1 - 101 * 4 / 1e6)
    stub.reply = COMPLETE
    assert caching.summarize(PROMPT, is_cancelled=lambda: False) == COMPLETE


@pytest.mark.slow
def test_boundaries_are_asked_for_one_by_one_if_repetitions_could_exceed_the_budget() -> None:
    """Else it would depend on time which of them is left out."""
    assert together(times=5) == 1


@pytest.mark.slow
def test_boundaries_are_asked_for_together_if_the_budget_covers_all_repetitions() -> None:
    assert together(times=1_000) > 1


def together(*, times: float) -> int:
    """Count the boundaries asked for at once; the budget covers `times` the dearest one."""
    log = MemoryLog(clock=lambda: 0)
    story = Story(log)
    for number in range(3):
        story.says(user(f"Repair part {number}."))
        reads_files(story, 20)
        story.says(assistant("Done."))
    story.says(*(each for _ in range(4) for each in (user("go on"), assistant("I look at it."))))
    variant = Variant(
        name="refold", policy=load_preset("refold").keeping(2_000), chain=SummarizerChain(summarizers=[])
    )
    model_variant = ModelVariant(variant=variant, summarizer="anthropic", models=("m",))
    price = lambda _model, _tokens: PRICE  # noqa: E731
    measures = Measures(limits=Limits(window=200_000))
    with log.snapshot() as snapshot:
        found = list(plan_boundaries(snapshot, log, "s", [model_variant], measures, price_of=price))
    assert len(found) > 1
    budget = Budget(times * max(sum(request.most or 0 for request in each.requests) for each in found))
    caching = CachingSummarizer(log, Stub(COMPLETE), budget=budget, price_of=price)
    run = fetch_answers(log, found, [(variant, [caching])], budget, measures, is_cancelled=lambda: False)
    return len(next(run).done)


def test_a_request_without_a_price_has_no_cost() -> None:
    planned = plan_request(PROMPT, "http", "", lambda _model, _tokens: PRICE)
    assert (planned.dollars, planned.most, planned.output) == (None, None, 1_000)
