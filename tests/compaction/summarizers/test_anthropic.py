"""Summaries by the real client, from a server on this machine that speaks the Messages API and misbehaves."""

from __future__ import annotations

import threading

import pytest

from compaction.summarizers import Answer, CancelledError, SummarizerError
from eventstore.views import Usage
from tests.compaction.summarizers.prompts import claude, live, never, prompt
from tests.support.local_http import NO_SERVER, answers, hangs, refuses
from tests.support.messages_api import (
    MODEL,
    breaks_off,
    calls_tool,
    errs,
    fails_within,
    says,
    stalls,
    stops_short,
    thinks,
)
from tests.support.patience import PATIENCE, comes
from tests.support.talk import assistant, user

TOOLS = b'[{"name":"read","input_schema":{"type":"object"}}]'
USAGE = Usage(input=90, output=5, cache_read=7, cache_write=2, total=104)
"""The usage that the server reports for an answer."""


def summarized(api, **options):
    return claude(api, **options).summarize(prompt(), is_cancelled=never)


def failure(api, **options):
    with pytest.raises(SummarizerError) as raised:
        summarized(api, **options)
    return raised.value


def threads():
    return [each for each in threading.enumerate() if each.name == "refold summarizer"]


def test_an_answer_is_the_streamed_text_with_the_model_and_what_it_used(messages_api):
    api = messages_api(says("It is half done, and the tests pass."))
    expected = Answer(text="It is half done, and the tests pass.", model=MODEL, usage=USAGE)
    assert summarized(api) == expected


def test_thoughts_are_no_part_of_an_answer(messages_api):
    assert summarized(messages_api(thinks("hm", "It is done."))).text == "It is done."


def test_an_answer_that_got_as_long_as_it_may_says_so(messages_api):
    answer = summarized(messages_api(says("It is ha", stop="max_tokens")))
    assert (answer.text, answer.is_cut) == ("It is ha", True)


def test_an_answer_that_filled_the_models_window_says_so(messages_api):
    assert summarized(messages_api(says("It", stop="model_context_window_exceeded"))).is_cut


def test_the_key_and_the_address_come_from_the_environment(messages_api, monkeypatch):
    api = messages_api()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-the-environment")
    claude(api, base_url=None, api_key=None).summarize(prompt(), is_cancelled=never)
    assert "from-the-environment" in str(api.requests[0].headers)


def test_without_a_key_nothing_is_sent(messages_api):
    problem = failure(messages_api(), base_url=None, api_key=None)
    assert (problem.summarizer, problem.is_transient) == ("anthropic", False)
    assert "ANTHROPIC_API_KEY" in problem.problem


@pytest.mark.parametrize("named", ["argument", "environment"])
def test_a_server_of_ones_own_needs_no_key(messages_api, monkeypatch, named):
    api = messages_api()
    if named == "environment":
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    address = None if named == "environment" else api.url
    claude(api, base_url=address, api_key=None).summarize(prompt(), is_cancelled=never)
    assert len(api.requests) == 1


def test_a_wrong_key_is_reported_in_one_line_and_not_tried_again(messages_api):
    api = messages_api(errs(401, "invalid x-api-key", "authentication_error"))
    problem = failure(api)
    assert problem.problem.startswith("401: invalid x-api-key")
    assert ("ANTHROPIC_API_KEY" in problem.problem, "\n" in str(problem)) == (True, False)
    assert (problem.summarizer, problem.is_transient, len(api.requests)) == ("anthropic", False, 1)


def test_a_key_with_a_line_end_is_not_told_to_anybody(messages_api):
    problem = failure(messages_api(), api_key="secret\nkey")
    assert "ANTHROPIC_API_KEY" in str(problem)
    assert "secret" not in str(problem)
    assert not problem.is_transient


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_status_that_passes_is_transient_and_the_client_does_not_try_again_by_itself(messages_api, status):
    api = messages_api(errs(status, "Later."))
    problem = failure(api)
    assert (problem.problem, problem.is_transient, len(api.requests)) == (f"{status}: Later.", True, 1)


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_a_status_that_stays_is_not_transient(messages_api, status):
    assert not failure(messages_api(errs(status, "No.", "invalid_request_error"))).is_transient


def test_a_server_may_say_that_trying_again_is_of_no_use(messages_api):
    assert not failure(messages_api(errs(429, "Spent.", x_should_retry="false"))).is_transient


def test_the_wait_that_a_server_asks_for_is_reported(messages_api):
    assert failure(messages_api(errs(429, "Slow down.", retry_after="37"))).retry_after == 37.0


def test_a_server_that_asks_for_no_wait_leaves_it_open(messages_api):
    assert failure(messages_api(errs(429, "Slow down."))).retry_after is None


@pytest.mark.parametrize(
    "reply",
    [
        errs(400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
        errs(400, "input length and `max_tokens` exceed context limit", "invalid_request_error"),
        errs(413, "Request exceeds the maximum size", "request_too_large"),
    ],
)
def test_a_prompt_that_is_too_long_is_reported_as_that_and_not_tried_again(messages_api, reply):
    api = messages_api(reply)
    problem = failure(api)
    assert (problem.is_too_long, problem.is_transient, len(api.requests)) == (True, False, 1)


def test_a_stream_whose_connection_ends_is_transient(messages_api):
    assert failure(messages_api(breaks_off("It is ha"))).is_transient


def test_a_stream_without_an_end_is_transient(messages_api):
    assert failure(messages_api(stops_short("It is ha"))).is_transient


def test_an_error_in_the_middle_of_a_stream_is_reported_by_its_name(messages_api):
    problem = failure(messages_api(fails_within("It is", "overloaded_error", "Overloaded")))
    assert (problem.problem, problem.is_transient) == ("overloaded_error: Overloaded", True)


def test_an_error_in_the_middle_of_a_stream_may_stay(messages_api):
    assert not failure(messages_api(fails_within("It", "invalid_request_error", "No"))).is_transient


def test_a_call_of_a_tool_is_no_answer_and_its_cost_is_reported(messages_api):
    problem = failure(messages_api(calls_tool))
    assert (problem.is_transient, problem.usage) == (True, USAGE)


def test_a_model_that_refuses_is_not_asked_again(messages_api):
    problem = failure(messages_api(says("", stop="refusal")))
    assert (problem.is_transient, problem.usage) == (False, USAGE)


def test_a_server_that_speaks_something_else_is_told_apart(messages_api):
    assert not failure(messages_api(answers({"choices": []}))).is_transient


def test_a_page_in_place_of_an_error_becomes_one_short_line(messages_api):
    problem = failure(messages_api(refuses(502, "<html>\n\n" + "Bad gateway<br>" * 100)))
    assert problem.problem == "502: Bad gateway"


@pytest.mark.parametrize(
    ("said", "is_the_model"),
    [(errs(404, "model: x", "not_found_error"), True), (refuses(404, "no such page"), False)],
    ids=["model", "server"],
)
def test_what_is_not_there_is_the_model_or_the_server(messages_api, said, is_the_model):
    assert ("name another model" in failure(messages_api(said)).problem) == is_the_model


def test_a_prompt_that_is_too_long_is_known_by_all_that_is_said(messages_api):
    said = "x" * 200 + " prompt is too long"
    assert failure(messages_api(errs(400, said, "invalid_request_error"))).is_too_long


def test_a_refused_connection_names_the_address_and_is_transient():
    problem = failure(NO_SERVER)
    assert NO_SERVER in problem.problem
    assert "refused" in problem.problem.lower()
    assert problem.is_transient
    assert not problem.is_sent


def test_an_answer_that_broke_off_may_have_cost_something(messages_api):
    assert failure(messages_api(breaks_off("## Goal"))).is_sent


def test_what_is_secret_in_an_address_is_not_told():
    assert "secret" not in str(failure(NO_SERVER.replace("http://", "http://me:secret@")))


@pytest.mark.parametrize("address", ["ftp://nowhere", "nowhere", "http://[::1"])
def test_an_address_that_is_none_is_not_tried_again(address):
    assert not failure(address).is_transient


@pytest.mark.parametrize("reply", [hangs, stalls("It is")])
def test_a_server_that_falls_silent_is_given_up_after_the_time_set(messages_api, reply):
    problem = failure(messages_api(reply), timeout=0.1)
    assert "timed out" in problem.problem
    assert problem.is_transient


@pytest.mark.slow
@pytest.mark.parametrize("reply", [hangs, stalls("It is half")])
def test_what_is_called_off_ends_at_once_its_connection_closed_and_its_thread_gone(messages_api, reply):
    api = messages_api(reply)
    with pytest.raises(CancelledError):
        claude(api).summarize(prompt(), is_cancelled=lambda: bool(api.requests))
    assert api.requests[0].is_left.wait(PATIENCE)
    assert comes(lambda: threads() == [])


@pytest.mark.slow
def test_a_failure_of_who_is_asked_whether_to_stop_ends_the_request_too(messages_api):
    def interrupted():
        if api.requests:
            raise KeyboardInterrupt
        return False

    api = messages_api(stalls("It is"))
    with pytest.raises(KeyboardInterrupt):
        claude(api).summarize(prompt(), is_cancelled=interrupted)
    assert api.requests[0].is_left.wait(PATIENCE)


def test_two_may_ask_at_the_same_time(messages_api):
    api = messages_api(says("Both."))
    summarizer = claude(api)
    found = []
    both = [
        threading.Thread(target=lambda: found.append(summarizer.summarize(prompt(), is_cancelled=never)))
        for _ in range(2)
    ]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert [answer.text for answer in found] == ["Both.", "Both."]


def test_a_live_prefix_that_was_just_sent_is_read_from_the_cache(messages_api):
    api = messages_api(says("Done."))
    sent = [user("build it"), assistant("I look.", model=MODEL, timestamp=1_000)]
    claude(api, model=MODEL, now=lambda: 2_000).summarize(live(*sent, tools=TOOLS), is_cancelled=never)
    assert api.requests[0].json["cache_control"] == {"type": "ephemeral"}


def test_a_serialized_prompt_is_never_cached(messages_api):
    api = messages_api(says("Done."))
    claude(api).summarize(prompt(), is_cancelled=never)
    assert "cache_control" not in api.requests[0].json
