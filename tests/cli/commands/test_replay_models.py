"""Replay with models behind a server on this machine: estimates, budgets, and answers that are stored."""

from __future__ import annotations

import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eventstore import SessionWriter, open_store
from eventstore.errors import BadInputError
from tests.cli.running import Refold, command
from tests.support.local_http import NO_SERVER, Exchange, Received
from tests.support.messages_api import MessagesApi, complete, errs, says, stalls
from tests.support.patience import PATIENCE, comes
from tests.support.postgres import Server

DEMO = "demo-rate-limiter"
DEAR = """
date = 2026-11-01
[models."claude-dear"]
input = 10
output = 50
cache_read = 1
cache_write_5m = 10
cache_write_1h = 20
"""
"""At most 1.6 dollars for an answer of 16,384 tokens, and as little as a thousandth for what the server answers."""
RUN = ("replay", "--all", "--at", "recorded", "--keep-recent", "1000", "--jobs", "1", "--json")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("REFOLD_PRICES", "prices.toml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.toml").write_text(DEAR)


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi() as server:
        yield server


@pytest.fixture
def demo(refold: Refold) -> Refold:
    refold("--store", str(refold.store), "demo")
    return refold


def models(api: MessagesApi) -> list[str]:
    return [request.json["model"] for request in api.requests]


def test_nothing_is_asked_twice_and_recorded_repeats_the_run_without_a_server(demo: Refold) -> None:
    options = ("--with", "refold", "--with", "pi", "--with", "drop")
    asking = ("--model", "claude-dear", "--yes")
    with MessagesApi() as api:
        first = demo(*RUN, *options, *asking, "--endpoint", api.url, "--summarizer", "anthropic").json
        asked = len(api.requests)
        again = demo(*RUN, *options, *asking, "--endpoint", api.url, "--summarizer", "anthropic").json
        assert len(api.requests) == asked > 0
    recorded = demo(*RUN, *options, "--summarizer", "recorded").json
    assert all(trial["error"] is None for trial in first["trials"])
    assert first == again == recorded
    assert demo(*RUN, *options).json != first


def test_two_models_are_compared_with_each_other_and_with_none(demo: Refold) -> None:
    def by_model(request: Received) -> str:
        return complete(request) + ("\nsrc/limiter.py" * 9 if request.json["model"] == "claude-long" else "")

    variants = ("--with", "refold@claude-short", "--with", "refold@claude-long", "--with", "refold")
    with MessagesApi(says(by_model)) as api:
        found = demo(*RUN, *variants, "--yes", "--endpoint", api.url).json
        assert set(models(api)) == {"claude-short", "claude-long"}
    sizes = {trial["variant"]: trial["tokensAfter"] for trial in found["trials"] if trial["boundary"] == 0}
    assert len({*sizes.values()}) == 3
    assert sizes["refold@claude-long"] > sizes["refold@claude-short"]
    # Each has the answers of its own model.
    recorded = demo(*RUN, *variants[:4], "--summarizer", "recorded").json
    own = [trial for trial in found["trials"] if trial["variant"] != "refold"]
    assert recorded["trials"] == own


def test_several_processes_find_the_answers(demo: Refold, api: MessagesApi) -> None:
    demo("fork", DEMO, "--as", "copy")
    run = (
        "replay",
        DEMO,
        "copy",
        *RUN[2:6],
        "--with",
        "refold@claude-dear",
        "--endpoint",
        api.url,
        "--yes",
        "--json",
    )
    found = demo(*run, "--jobs", "2").json
    assert {each["session"] for each in found["boundaries"]} == {DEMO, "copy"}
    assert all(trial["error"] is None for trial in found["trials"])
    # The copy has the same prompts.
    asked = len(api.requests)
    assert demo(*run, "--jobs", "1").json == found
    assert len(api.requests) == asked


def test_the_estimate_counts_requests_that_variants_share_once(demo: Refold, api: MessagesApi) -> None:
    variants = ("--with", "refold@claude-dear", "--with", "pi@claude-dear", "--with", "drop")
    outcome = demo(*RUN, *variants, "--endpoint", api.url, "--yes")
    estimated = re.search(r"(\d+) requests", outcome.notes[0])
    assert estimated
    assert int(estimated[1]) == len(api.requests) > 0


def test_without_consent_nothing_is_sent(demo: Refold, api: MessagesApi) -> None:
    outcome = demo(*RUN, "--with", "refold@claude-dear", "--endpoint", api.url, code=2)
    assert "--yes" in outcome.errors
    assert "claude-dear" in outcome.notes[0]
    assert api.requests == []


def test_on_a_terminal_the_user_is_asked_after_the_estimate(demo: Refold, api: MessagesApi) -> None:
    options = ("--with", "refold@claude-dear", "--endpoint", api.url)
    printed = demo.on_terminal(*RUN, *options, columns=160, typed=b"n\n", code=1)
    assert "$" in printed
    assert "Send these requests?" in printed
    assert api.requests == []
    assert '"trials"' in demo.on_terminal(*RUN, *options, columns=160, typed=b"y\n")
    assert api.requests
    # Nothing is left to ask.
    assert "Send these requests?" not in demo.on_terminal(*RUN, *options, columns=160)


@pytest.fixture
def three(refold: Refold) -> Refold:
    """A store with three sessions of about five clean boundaries each."""
    with open_store(refold.store) as log:
        for session in range(3):
            writer = SessionWriter(log, f"long-{session}")
            for number in range(16):
                file = f"src/part_{session}_{number}.py"
                writer.message({"role": "user", "content": f"Look at {file}. " + f"Mind {file}. " * 700})
                block = {"type": "text", "text": f"I looked at {file}. " * 700}
                writer.message({"role": "assistant", "content": [block]})
    return refold


CLEAN = ("replay", "long-0", "long-1", "long-2", "--keep-recent", "3000", "--jobs", "1", "--json")


def dearest(exchange: Exchange) -> None:
    """Charge the most that a provider could: every byte as a token, and every answer at full length."""
    size, longest = len(exchange.request.body), exchange.request.json["max_tokens"]
    says(complete, usage={"input_tokens": size, "output_tokens": longest})(exchange)


def charge(request: Received) -> float:
    return (10 * len(request.body) + 50 * request.json["max_tokens"]) / 1e6


@pytest.mark.parametrize("dollars", [0.0, 6.0, 12.0])
def test_a_budget_is_not_exceeded_whatever_the_answers_cost(three: Refold, dollars: float) -> None:
    with MessagesApi(dearest) as api:
        limited = ("--budget", str(dollars))
        run = (*CLEAN, "--with", "refold@claude-dear", "--endpoint", api.url, *limited)
        found = three(*run, code=0 if dollars else 1).json
    assert sum(map(charge, api.requests)) <= dollars
    assert found["leftOut"] > 0
    assert (dollars > 0) == bool(api.requests)
    # Where it does not reach, it is spread over the sessions.
    by_session = Counter(each["session"] for each in found["boundaries"])
    counts = [by_session[f"long-{session}"] for session in range(3)]
    assert max(counts) - min(counts) <= 1
    assert all(trial["error"] is None for trial in found["trials"])


def test_without_any_boundary_only_a_note_says_why(demo: Refold, api: MessagesApi) -> None:
    limited = ("--endpoint", api.url, "--budget", "0")
    outcome = demo(*RUN[:-1], "--with", "refold@claude-dear", *limited, code=1)
    assert outcome.out == ""
    assert "3 boundaries left out" in outcome.notes[-1]


def test_what_answers_did_not_cost_is_spent_on_others(three: Refold, api: MessagesApi) -> None:
    limited = ("--budget", "12")
    found = three(*CLEAN, "--with", "refold@claude-dear", "--endpoint", api.url, *limited).json
    assert found["leftOut"] == 0
    assert sum(map(charge, api.requests)) > 24


def test_the_next_run_goes_on_where_the_budget_ended(three: Refold, api: MessagesApi) -> None:
    once = (*CLEAN, "--with", "refold@claude-dear", "--endpoint", api.url)
    api.replies = [dearest]
    first = three(*once, "--budget", "8").json
    asked = len(api.requests)
    api.replies = [says(complete)]
    recorded = three(*CLEAN, "--with", "refold@claude-dear", "--summarizer", "recorded").json
    assert recorded == first
    assert first["leftOut"] > 0 < len(first["boundaries"])
    rest = three(*once, "--yes").json
    before, after = ({each.body for each in part} for part in (api.requests[:asked], api.requests[asked:]))
    assert not before & after
    assert rest["leftOut"] == 0
    assert [each for each in rest["boundaries"] if each in first["boundaries"]] == first["boundaries"]


def test_a_budget_needs_prices(demo: Refold, api: MessagesApi) -> None:
    limited = ("--endpoint", api.url, "--budget", "5")
    demo.refused(BadInputError, *RUN, "--with", "refold@claude-of-nobody", *limited)
    service = ("--with", "refold", "--summarizer", "http", *limited)
    demo.refused(BadInputError, *RUN, *service)
    assert api.requests == []


@pytest.mark.parametrize("options", [("--with", "refold@claude-dear", "--yes"), ("--at", "triggered")])
def test_prices_that_cannot_be_read_are_refused_before_anything_is_done(
    demo: Refold, api: MessagesApi, options: tuple[str, ...]
) -> None:
    for_models = ("--endpoint", api.url) if "--yes" in options else ()
    demo.refused(BadInputError, "--prices", "none.toml", "replay", "--all", *options, *for_models)
    assert api.requests == []


def test_a_model_that_fails_is_the_variants_failure(demo: Refold) -> None:
    with MessagesApi(errs(400, "no such thing", "invalid_request_error")) as api:
        variants = ("--with", "drop", "--with", "refold@claude-dear")
        found = demo(*RUN, *variants, "--yes", "--endpoint", api.url, code=1).json
    assert {trial["error"] is None for trial in found["trials"] if trial["variant"] == "drop"} == {True}
    errors = [trial["error"] for trial in found["trials"] if trial["variant"] != "drop"]
    assert errors
    assert all("no such thing" in error for error in errors)


def test_a_variant_whose_request_failed_has_the_summary_that_another_got(
    demo: Refold, tmp_path: Path
) -> None:
    (tmp_path / "same.toml").write_text('name = "same"\nextends = "refold"\n')
    with MessagesApi(errs(400, "no such thing", "invalid_request_error"), says(complete)) as api:
        variants = ("--with", "refold@claude-dear", "--with", "same.toml@claude-dear")
        found = demo(*RUN, *variants, "--yes", "--endpoint", api.url).json
    assert {trial["error"] for trial in found["trials"]} == {None}


def test_a_server_that_is_not_there_fails_every_boundary_and_leaves_none_out(demo: Refold) -> None:
    options = ("--with", "refold@claude-dear", "--endpoint", NO_SERVER)
    outcome = demo(*RUN[:-1], *options, "--budget", "2", code=1)
    assert "Connection refused" in outcome.out
    assert "left out" not in outcome.errors


def test_what_a_failure_of_unknown_cost_leaves_out_is_said_with_the_failure(demo: Refold) -> None:
    with MessagesApi(errs(500, "no such luck", "api_error", retry_after="0.01")) as api:
        options = ("--with", "refold@claude-dear", "--endpoint", api.url)
        outcome = demo(*RUN[:-1], *options, "--budget", "2", code=1)
    assert re.search(r"3 boundaries left out: not covered .* unknown cost: .*no such luck", outcome.notes[-1])


def test_search_leaves_out_the_failures_of_replays(demo: Refold) -> None:
    with MessagesApi(errs(400, "no such wombat", "invalid_request_error")) as api:
        demo(*RUN, "--with", "refold@claude-dear", "--yes", "--endpoint", api.url, code=1)
    assert demo("search", "wombat", "--json", code=1).json["hits"] == []
    assert demo("search", "wombat", "--session", "replay-answers-claude-dear", "--json").json["hits"]


def test_answers_from_the_store_are_counted(demo: Refold, api: MessagesApi) -> None:
    run = (*RUN, "--with", "refold@claude-dear", "--yes", "--endpoint", api.url)
    assert "from the store" not in demo(*run).errors
    assert f"{len(api.requests)} answers from the store" in demo(*run).notes[0]


def test_without_any_stored_answer_no_boundary_is_counted(demo: Refold) -> None:
    outcome = demo(*RUN[:-1], "--summarizer", "recorded", code=1)
    assert outcome.out == ""
    assert "3 boundaries left out: no answers are stored for them" in outcome.notes[-1]


def test_an_empty_answer_is_asked_for_again_by_the_next_run(demo: Refold) -> None:
    run = (*RUN, "--with", "refold@claude-dear", "--yes")
    with MessagesApi(says(" ")) as api:
        errors = [trial["error"] for trial in demo(*run, "--endpoint", api.url, code=1).json["trials"]]
        assert all("the answer is empty" in error for error in errors)
        api.replies = [says(complete)]
        assert all(trial["error"] is None for trial in demo(*run, "--endpoint", api.url).json["trials"])


@pytest.mark.parametrize("address", ["notaurl", "127.0.0.1:9", "http://", "ftp://127.0.0.1"])
def test_an_endpoint_that_is_no_address_is_refused_at_once(demo: Refold, address: str) -> None:
    errors = demo(*RUN, "--with", "refold@claude-dear", "--yes", "--endpoint", address, code=2).errors
    assert "http://" in errors


def stored(refold: Refold) -> list[Any]:
    """Return the events that store the model's answers."""
    return refold("log", "replay-answers-claude-dear", "--json", code=None).json_lines


def test_answers_until_an_interrupt_are_stored(three: Refold) -> None:
    replies = [says(complete)] * 5
    with MessagesApi(*replies, stalls("## Goal\n")) as api:
        options = ("--with", "refold@claude-dear", "--endpoint", api.url)
        process = subprocess.Popen(
            command(*CLEAN, *options, "--yes"),
            env=three.environment(NO_PROXY="127.0.0.1"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        # It cannot end before: nobody answers the sixth request.
        assert comes(lambda: len(api.requests) > 5 and len(stored(three)) == 5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, errors
        assert len(stored(three)) == 5
        api.replies = [says(complete)]
        three(*CLEAN, *options, "--yes")
        bodies = [request.body for request in api.requests]
        # A request of the interrupted run may reach the server late, so no count tells the two runs apart.
        assert not {*bodies[:5]} & {*bodies[5:]}
        assert len(stored(three)) == len({*bodies}) > 5


def test_models_of_one_name_behind_two_addresses_share_no_answers(demo: Refold) -> None:
    def summaries(*options: str) -> list[int]:
        found = demo(*RUN, "--with", "refold@claude-dear", *options).json
        return [trial["tokensAfter"] for trial in found["trials"]]

    with MessagesApi() as short, MessagesApi(says(lambda asked: complete(asked) + "\nmore" * 99)) as long:
        first = summaries("--endpoint", short.url, "--yes")
        second = summaries("--endpoint", long.url, "--yes")
        assert len(short.requests) == len(long.requests) > 0
    assert all(more > less for less, more in zip(first, second, strict=True))
    assert summaries("--endpoint", short.url) == first
    # The newest answers count, unless an address chooses others.
    assert summaries("--summarizer", "recorded") == second
    assert summaries("--summarizer", "recorded", "--endpoint", short.url) == first


def test_an_address_in_the_environment_is_another_one(
    demo: Refold, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = (*RUN, "--with", "refold@claude-dear", "--yes")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    demo(*run)
    with MessagesApi() as other:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", other.url)
        demo(*run)
        assert len(other.requests) == len(api.requests) > 0


def test_retries_are_paid_for_from_the_budget_too(demo: Refold) -> None:
    busy = errs(529, "overloaded", "overloaded_error", retry_after="0.01")
    with MessagesApi(busy) as api:
        options = ("--with", "refold@claude-dear", "--with", "drop", "--endpoint", api.url)
        found = demo(*RUN, *options, "--budget", "3", code=1).json
    assert api.requests
    assert sum(map(charge, api.requests)) <= 3
    assert found["leftOut"] > 0


def test_answers_that_are_only_looked_up_need_neither_price_nor_consent(
    demo: Refold, api: MessagesApi
) -> None:
    run = (*RUN, "--with", "refold@claude-dear", "--with", "pi@recorded", "--endpoint", api.url)
    demo(*run, "--budget", "100")
    sent = len(api.requests)
    demo(*run)
    assert len(api.requests) == sent > 0


def test_a_session_named_twice_counts_once(demo: Refold, api: MessagesApi) -> None:
    run = (*RUN[2:], "--with", "refold@claude-dear", "--endpoint", api.url, "--yes")
    found = demo("replay", DEMO, DEMO, *run).json
    assert found["leftOut"] == 0
    assert len(found["boundaries"]) == len({each["leaf"] for each in found["boundaries"]}) > 0


def test_copies_are_asked_for_once(demo: Refold, api: MessagesApi) -> None:
    demo("fork", DEMO, "--as", "copy")
    options = ("--with", "refold@claude-dear", "--endpoint", api.url, "--yes")
    found = demo("replay", DEMO, "copy", *RUN[2:], *options).json
    assert len(found["boundaries"]) > 3
    assert len({request.body for request in api.requests}) == len(api.requests)


def test_a_store_in_postgresql_keeps_answers_too(demo: Refold, api: MessagesApi, postgres: Server) -> None:
    store = postgres.new_store()
    demo("push", store)
    run = ("--store", store, *RUN, "--with", "refold", "--endpoint", api.url, "--summarizer", "anthropic")
    found = demo(*run, "--yes").json
    asked = len(api.requests)
    assert demo(*run).json == found
    assert len(api.requests) == asked > 0


def test_answers_are_not_the_last_session(demo: Refold, api: MessagesApi) -> None:
    options = ("--with", "refold@claude-dear", "--endpoint", api.url, "--yes")
    first = demo("replay", "@last", *RUN[2:], *options).json
    assert api.requests
    assert demo("replay", "@last", *RUN[2:], *options).json == first


def test_an_endpoint_that_nobody_uses_is_a_mistake(demo: Refold) -> None:
    demo(*RUN, "--with", "refold", "--endpoint", "http://127.0.0.1:9", code=2)
    demo(*RUN, "--with", "refold", "--summarizer", "extractive", "--model", "m", code=2)


def test_a_page_does_not_show_the_password_of_an_endpoint(demo: Refold, api: MessagesApi) -> None:
    address = api.url.replace("://", "://me:hush-hush@")
    page = demo(*RUN, "--with", "refold@claude-dear", "--endpoint", address, "--yes", "-o", "-").out
    assert "--endpoint" in page
    assert "hush-hush" not in page
