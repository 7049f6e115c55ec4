"""Replay with models behind a server on this machine: estimates, budgets, and answers that are stored."""

from __future__ import annotations

import re
import signal
import subprocess
from collections import Counter
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
RUN = ("replay", "--all", "--at", "recorded", "--keep-recent", "1000", "--json")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("REFOLD_PRICES", "prices.toml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.toml").write_text(DEAR)


@pytest.fixture
def api(messages_api: Any) -> MessagesApi:
    server: MessagesApi = messages_api()
    return server


@pytest.fixture
def demo(refold: Refold) -> Refold:
    refold("--store", str(refold.store), "demo")
    return refold


def models(api: MessagesApi) -> list[str]:
    return [request.json["model"] for request in api.requests]


@pytest.mark.slow
def test_recorded_repeats_a_run_without_a_server(demo: Refold, messages_api: Any) -> None:
    def trials(summarizer: str, *options: str) -> Any:
        variants = ("--with", f"refold{summarizer}", "--with", f"pi{summarizer}", "--with", "drop")
        found = demo(*RUN, *variants, *options).json["trials"]
        return [{**trial, "variant": trial["variant"].partition("@")[0]} for trial in found]

    api = messages_api()
    first = trials("@claude-dear", "--yes")
    asked = len(api.requests)
    again = trials("@claude-dear")
    assert len(api.requests) == asked > 0
    assert all(trial["error"] is None for trial in first)
    assert first == again == trials("@recorded")
    assert len(api.requests) == asked
    assert trials("") != first


@pytest.mark.slow
def test_two_models_are_compared_with_none(demo: Refold, messages_api: Any) -> None:
    def by_model(request: Received) -> str:
        return complete(request) + ("\nsrc/limiter.py" * 9 if request.json["model"] == "claude-long" else "")

    variants = ("--with", "refold@claude-short", "--with", "refold@claude-long", "--with", "refold")
    api = messages_api(says(by_model))
    found = demo(*RUN, *variants, "--yes").json
    assert set(models(api)) == {"claude-short", "claude-long"}
    sizes = {trial["variant"]: trial["tokensAfter"] for trial in found["trials"] if trial["boundary"] == 0}
    assert len({*sizes.values()}) == 3
    assert sizes["refold@claude-long"] > sizes["refold@claude-short"]
    # Each has the answers of its own model.
    again = demo(*RUN, *variants[:4]).json
    own = [trial for trial in found["trials"] if trial["variant"] != "refold"]
    assert again["trials"] == own


@pytest.mark.slow
def test_several_processes_find_the_answers(
    demo: Refold, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo("fork", DEMO, "--as", "copy")
    run = (
        "replay",
        DEMO,
        "copy",
        *RUN[2:6],
        "--with",
        "refold@claude-dear",
        "--yes",
        "--json",
    )
    monkeypatch.setattr("eventstore.workers.cores", lambda: 2)
    found = demo(*run).json
    assert {each["session"] for each in found["boundaries"]} == {DEMO, "copy"}
    assert all(trial["error"] is None for trial in found["trials"])
    # The copy has the same prompts.
    asked = len(api.requests)
    monkeypatch.setattr("eventstore.workers.cores", lambda: 1)
    assert demo(*run).json == found
    assert len(api.requests) == asked


@pytest.mark.slow
def test_the_estimate_counts_requests_that_variants_share_once(demo: Refold, api: MessagesApi) -> None:
    variants = ("--with", "refold@claude-dear", "--with", "pi@claude-dear", "--with", "drop")
    outcome = demo(*RUN, *variants, "--yes")
    estimated = re.search(r"(\d+) requests", outcome.notes[0])
    assert estimated
    assert int(estimated[1]) == len(api.requests) > 0


@pytest.mark.slow
def test_without_consent_nothing_is_sent(demo: Refold, api: MessagesApi) -> None:
    outcome = demo(*RUN, "--with", "refold@claude-dear", code=2)
    assert "--yes" in outcome.errors
    assert "claude-dear" in outcome.notes[0]
    assert api.requests == []


@pytest.mark.slow
def test_on_a_terminal_the_user_is_asked_after_the_estimate(demo: Refold, api: MessagesApi) -> None:
    options = ("--with", "refold@claude-dear")
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


CLEAN = ("replay", "long-0", "long-1", "long-2", "--keep-recent", "3000", "--json")


def dearest(exchange: Exchange) -> None:
    """Charge the most that a provider could: every byte as a token, and every answer at full length."""
    size, longest = len(exchange.request.body), exchange.request.json["max_tokens"]
    says(complete, usage={"input_tokens": size, "output_tokens": longest})(exchange)


def charge(request: Received) -> float:
    return (10 * len(request.body) + 50 * request.json["max_tokens"]) / 1e6


@pytest.mark.slow
@pytest.mark.parametrize("dollars", [0.0, 6.0, 12.0])
def test_no_answers_cost_exceeds_a_budget(three: Refold, dollars: float, messages_api: Any) -> None:
    api = messages_api(dearest)
    limited = ("--budget", str(dollars))
    run = (*CLEAN, "--with", "refold@claude-dear", *limited)
    found = three(*run, code=0 if dollars else 1).json
    assert sum(map(charge, api.requests)) <= dollars
    assert found["leftOut"] > 0
    assert (dollars > 0) == bool(api.requests)
    # Where it does not reach, it is spread over the sessions.
    by_session = Counter(each["session"] for each in found["boundaries"])
    counts = [by_session[f"long-{session}"] for session in range(3)]
    assert max(counts) - min(counts) <= 1
    assert all(trial["error"] is None for trial in found["trials"])


@pytest.mark.slow
def test_without_any_boundary_only_a_note_says_why(demo: Refold, api: MessagesApi) -> None:
    outcome = demo(*RUN[:-1], "--with", "refold@claude-dear", "--budget", "0", code=1)
    assert (outcome.out, api.requests) == ("", [])
    assert "3 boundaries left out" in outcome.notes[-1]


@pytest.mark.slow
def test_what_answers_did_not_cost_is_spent_on_others(three: Refold, api: MessagesApi) -> None:
    limited = ("--budget", "12")
    found = three(*CLEAN, "--with", "refold@claude-dear", *limited).json
    assert found["leftOut"] == 0
    assert sum(map(charge, api.requests)) > 24


@pytest.mark.slow
def test_the_next_run_goes_on_where_the_budget_ended(three: Refold, api: MessagesApi) -> None:
    once = (*CLEAN, "--with", "refold@claude-dear")
    api.replies = [dearest]
    first = three(*once, "--budget", "8").json
    asked = len(api.requests)
    api.replies = [says(complete)]
    assert three(*once, "--budget", "0").json == first
    assert first["leftOut"] > 0 < len(first["boundaries"])
    rest = three(*once, "--yes").json
    before, after = ({each.body for each in part} for part in (api.requests[:asked], api.requests[asked:]))
    assert not before & after
    assert rest["leftOut"] == 0
    assert [each for each in rest["boundaries"] if each in first["boundaries"]] == first["boundaries"]


@pytest.mark.slow
def test_a_budget_needs_prices(demo: Refold, api: MessagesApi) -> None:
    for nobody in ("claude-of-nobody", "http"):
        demo.refused(BadInputError, *RUN, "--with", f"refold@{nobody}", "--budget", "5")
    assert api.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--with", "refold@claude-dear", "--yes"), ("--at", "triggered")])
def test_prices_that_cannot_be_read_are_refused_before_anything_is_done(
    demo: Refold, api: MessagesApi, options: tuple[str, ...]
) -> None:
    demo.refused(BadInputError, "--prices", "none.toml", "replay", "--all", *options)
    assert api.requests == []


@pytest.mark.slow
def test_a_model_that_fails_is_the_variants_failure(demo: Refold, messages_api: Any) -> None:
    messages_api(errs(400, "no such thing", "invalid_request_error"))
    variants = ("--with", "drop", "--with", "refold@claude-dear")
    found = demo(*RUN, *variants, "--yes", code=1).json
    assert {trial["error"] is None for trial in found["trials"] if trial["variant"] == "drop"} == {True}
    errors = [trial["error"] for trial in found["trials"] if trial["variant"] != "drop"]
    assert errors
    assert all("no such thing" in error for error in errors)


@pytest.mark.slow
def test_a_variant_whose_request_failed_has_the_summary_that_another_got(
    demo: Refold, tmp_path: Path, messages_api: Any
) -> None:
    (tmp_path / "same.toml").write_text('name = "same"\nextends = "refold"\n')
    messages_api(errs(400, "no such thing", "invalid_request_error"), says(complete))
    variants = ("--with", "refold@claude-dear", "--with", "same.toml@claude-dear")
    found = demo(*RUN, *variants, "--yes").json
    assert {trial["error"] for trial in found["trials"]} == {None}


@pytest.mark.slow
def test_a_missing_server_fails_every_boundary(demo: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", NO_SERVER)
    outcome = demo(*RUN[:-1], "--with", "refold@claude-dear", "--budget", "2", code=1)
    assert "Connection refused" in outcome.out
    assert "left out" not in outcome.errors


@pytest.mark.slow
def test_a_failure_of_unknown_cost_is_told(demo: Refold, messages_api: Any) -> None:
    messages_api(errs(500, "no such luck", "api_error", retry_after="0.01"))
    options = ("--with", "refold@claude-dear")
    outcome = demo(*RUN[:-1], *options, "--budget", "2", code=1)
    assert re.search(r"3 boundaries left out: not covered .* unknown cost: .*no such luck", outcome.notes[-1])


@pytest.mark.slow
def test_search_leaves_out_the_failures_of_replays(demo: Refold, messages_api: Any) -> None:
    messages_api(errs(400, "no such wombat", "invalid_request_error"))
    demo(*RUN, "--with", "refold@claude-dear", "--yes", code=1)
    assert demo("search", "wombat", "--json", code=1).json["hits"] == []
    assert demo("search", "wombat", "--session", "replay-answers-claude-dear", "--json").json["hits"]


@pytest.mark.slow
def test_answers_from_the_store_are_counted(demo: Refold, api: MessagesApi) -> None:
    run = (*RUN, "--with", "refold@claude-dear", "--yes")
    assert "from the store" not in demo(*run).errors
    assert f"{len(api.requests)} answers from the store" in demo(*run).notes[0]


@pytest.mark.slow
def test_without_any_stored_answer_no_boundary_is_counted(demo: Refold) -> None:
    outcome = demo(*RUN[:-1], "--with", "refold@recorded", code=1)
    assert outcome.out == ""
    assert "3 boundaries left out: no answers are stored for them" in outcome.notes[-1]


@pytest.mark.slow
def test_an_empty_answer_is_asked_for_again(demo: Refold, messages_api: Any) -> None:
    run = (*RUN, "--with", "refold@claude-dear", "--yes")
    api = messages_api(says(" "))
    errors = [trial["error"] for trial in demo(*run, code=1).json["trials"]]
    assert all("the answer is empty" in error for error in errors)
    api.replies = [says(complete)]
    assert all(trial["error"] is None for trial in demo(*run).json["trials"])


@pytest.mark.slow
def test_what_is_no_address_is_refused_at_once(demo: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://me:hush/hush@127.0.0.1")
    refused = demo.refused(BadInputError, *RUN, "--with", "refold@claude-dear", "--yes")
    assert (refused.source, "hush" in str(refused)) == ("ANTHROPIC_BASE_URL", False)


def stored(refold: Refold) -> list[Any]:
    """Return the events that store the model's answers."""
    return refold("log", "replay-answers-claude-dear", "--json", code=None).json_lines


@pytest.mark.slow
def test_answers_until_an_interrupt_are_stored(three: Refold, messages_api: Any) -> None:
    replies = [says(complete)] * 5
    api = messages_api(*replies, stalls("## Goal\n"))
    options = ("--with", "refold@claude-dear")
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


@pytest.mark.slow
def test_models_behind_two_addresses_share_no_answers(
    demo: Refold, messages_api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def summaries(summarizer: str, *options: str) -> list[int]:
        found = demo(*RUN, "--with", f"refold@{summarizer}", *options).json
        return [trial["tokensAfter"] for trial in found["trials"]]

    short = messages_api()
    first = summaries("claude-dear", "--yes")
    long = messages_api(says(lambda asked: complete(asked) + "\nmore" * 99))
    second = summaries("claude-dear", "--yes")
    assert len(short.requests) == len(long.requests) > 0
    assert all(more > less for less, more in zip(first, second, strict=True))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", short.url)
    assert summaries("claude-dear") == first
    # Of all addresses, the newest answers count.
    assert summaries("recorded") == second


@pytest.mark.slow
def test_retries_are_paid_for_from_the_budget_too(demo: Refold, messages_api: Any) -> None:
    busy = errs(529, "overloaded", "overloaded_error", retry_after="0.01")
    api = messages_api(busy)
    options = ("--with", "refold@claude-dear", "--with", "drop")
    found = demo(*RUN, *options, "--budget", "3", code=1).json
    assert api.requests
    assert sum(map(charge, api.requests)) <= 3
    assert found["leftOut"] > 0


@pytest.mark.slow
def test_answers_that_are_only_looked_up_need_neither_price_nor_consent(
    demo: Refold, api: MessagesApi
) -> None:
    run = (*RUN, "--with", "refold@claude-dear", "--with", "pi@recorded")
    demo(*run, "--budget", "100")
    sent = len(api.requests)
    demo(*run)
    assert len(api.requests) == sent > 0


@pytest.mark.slow
@pytest.mark.usefixtures("api")
def test_a_session_named_twice_counts_once(demo: Refold) -> None:
    run = (*RUN[2:], "--with", "refold@claude-dear", "--yes")
    found = demo("replay", DEMO, DEMO, *run).json
    assert found["leftOut"] == 0
    assert len(found["boundaries"]) == len({each["leaf"] for each in found["boundaries"]}) > 0


@pytest.mark.slow
def test_copies_are_asked_for_once(demo: Refold, api: MessagesApi) -> None:
    demo("fork", DEMO, "--as", "copy")
    options = ("--with", "refold@claude-dear", "--yes")
    found = demo("replay", DEMO, "copy", *RUN[2:], *options).json
    assert len(found["boundaries"]) > 3
    assert len({request.body for request in api.requests}) == len(api.requests)


@pytest.mark.slow
def test_a_store_in_postgresql_keeps_answers_too(demo: Refold, api: MessagesApi, postgres: Server) -> None:
    store = postgres.new_store()
    demo("push", store)
    run = ("--store", store, *RUN, "--with", "refold@claude-dear")
    found = demo(*run, "--yes").json
    asked = len(api.requests)
    assert demo(*run).json == found
    assert len(api.requests) == asked > 0


@pytest.mark.slow
def test_answers_are_not_the_last_session(demo: Refold, api: MessagesApi) -> None:
    options = ("--with", "refold@claude-dear", "--yes")
    first = demo("replay", "@last", *RUN[2:], *options).json
    assert api.requests
    assert demo("replay", "@last", *RUN[2:], *options).json == first


@pytest.mark.slow
def test_no_output_shows_the_password_of_an_address(
    demo: Refold, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url.replace("://", "://me:hush-hush@"))
    page = demo(*RUN, "--with", "refold@claude-dear", "--yes", "-o", "-").out
    assert api.requests
    assert "hush-hush" not in page + str(stored(demo))
