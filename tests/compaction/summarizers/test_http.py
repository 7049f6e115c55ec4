"""Summaries from a service of one's own, over a real connection."""

from __future__ import annotations

import json

import pytest

from compaction.prompts import serialize
from compaction.summarizers import Answer, CancelledError, SummarizerError
from compaction.summarizers.http import HttpSummarizer
from tests.compaction.summarizers.prompts import chain, live, never, prompt
from tests.support.local_http import NO_SERVER, answers, hangs, refuses
from tests.support.patience import PATIENCE
from tests.support.talk import assistant, call, result, user


def failure(address, **options):
    with pytest.raises(SummarizerError) as raised:
        HttpSummarizer(address, **options).summarize(prompt(), is_cancelled=never)
    return raised.value


def test_system_prompt_and_prompt_are_posted_as_json(server):
    service = server(answers({"summary": "Done."}))
    sent = prompt()
    HttpSummarizer(f"{service.url}/summarize").summarize(sent, is_cancelled=never)
    (request,) = service.requests
    assert (request.path, request.headers["content-type"]) == ("/summarize", "application/json")
    assert request.json == {"systemPrompt": "You sum up.", "prompt": sent.text}


def test_the_summary_is_what_the_service_gives(server):
    service = server(answers({"summary": "Done.", "more": 1}))
    answer = HttpSummarizer(service.url).summarize(prompt(), is_cancelled=never)
    assert answer == Answer(text="Done.", model="http")


def test_a_live_prefix_is_sent_as_text(server):
    service = server(answers({"summary": "Done."}))
    talk = [user("build it"), assistant(call("bash", command="ls")), result("a.py")]
    sent = live(*talk)
    HttpSummarizer(service.url).summarize(sent, is_cancelled=never)
    conversation = serialize(sent.prefix)
    expected = f"<conversation>\n{conversation}\n</conversation>\n\n{sent.text}"
    assert service.requests[0].json["prompt"] == expected


def test_halves_of_surrogate_pairs_do_not_break_a_request(server):
    service = server(answers({"summary": "Done."}))
    HttpSummarizer(service.url).summarize(prompt("short", user("\ud83d!")), is_cancelled=never)
    assert "\ud83d!" in json.loads(service.requests[0].body)["prompt"]


@pytest.mark.parametrize("value", [{}, {"summary": 3}, {"summary": None}, [], "text", {"Summary": "x"}])
def test_an_answer_without_a_summary_is_reported_and_not_tried_again(server, value):
    problem = failure(server(answers(value)).url)
    assert 'did not return JSON with a text "summary"' in problem.problem
    assert not problem.is_transient


def test_an_answer_that_is_no_utf_8_is_no_summary(server):
    service = server(lambda exchange: exchange.answer(200, b'{"summary":"\xff\xfe"}'))
    problem = failure(service.url)
    assert problem.problem.endswith('did not return JSON with a text "summary": it is not UTF-8')
    assert not problem.is_transient


def test_a_service_that_has_moved_is_reported_with_where_to(server):
    problem = failure(server(refuses(302, location="https://me:secret@elsewhere.test/x?key=secret")).url)
    assert problem.problem.endswith(" redirects to https://elsewhere.test/x; use that address")
    assert not problem.is_transient


@pytest.mark.parametrize("body", ["<html>", "", '{"summary": "cut', "\udcff"])
def test_an_answer_that_is_no_json_is_reported(server, body):
    service = server(lambda exchange: exchange.answer(200, body.encode("utf-8", "surrogatepass")))
    assert "did not return JSON" in failure(service.url).problem


def test_a_failure_tells_status_and_what_was_said_in_one_line(server):
    problem = failure(server(refuses(500, "out of\nmemory")).url)
    assert problem.problem.endswith("answered 500: out of memory")
    assert problem.is_transient


def test_the_wait_that_a_service_asks_for_is_reported(server):
    assert failure(server(refuses(503, retry_after="9")).url).retry_after == 9.0


def test_a_prompt_that_is_too_large_is_reported_as_that(server):
    problem = failure(server(refuses(413)).url)
    assert (problem.is_too_long, problem.is_transient) == (True, False)


def test_a_prompt_that_is_too_long_is_reported_as_that_by_what_the_service_says(server):
    problem = failure(server(refuses(400, "this model's maximum context length is 8192 tokens")).url)
    assert (problem.is_too_long, problem.is_transient) == (True, False)


def test_halves_of_surrogate_pairs_in_an_answer_are_replaced_and_halves_that_belong_together_joined(server):
    service = server(answers({"summary": "a \ud800 b \ud83d\ude00"}))
    asked = chain(HttpSummarizer(service.url)).summarize(prompt("short"))
    assert asked.text == "a \ufffd b 😀"
    assert asked.requests[0]["answer"] == "a \ufffd b 😀"


def test_a_failure_that_passes_is_followed_by_a_second_try(server):
    service = server(refuses(500), answers({"summary": "Done."}))
    asked = chain(HttpSummarizer(service.url)).summarize(prompt())
    assert asked.text == "Done."
    assert [request.get("error") for request in asked.requests] == [f"{service.url}: answered 500", None]


def test_a_service_that_does_not_answer_is_given_up_after_the_time_set(server):
    problem = failure(server(hangs).url, timeout=0.1)
    assert "timed out" in problem.problem
    assert problem.is_transient


def test_a_service_that_is_not_there_is_named():
    problem = failure(NO_SERVER)
    assert NO_SERVER in problem.problem
    assert problem.is_transient


@pytest.mark.parametrize("address", ["nowhere", "ftp://nowhere", "http://[::1"])
def test_an_address_that_is_none_is_not_tried_again(address):
    problem = failure(address)
    assert "http://" in problem.problem
    assert not problem.is_transient


def test_what_is_secret_in_an_address_is_not_told():
    address = NO_SERVER.replace("http://", "http://me:secret@") + "/?token=secret"
    assert "secret" not in str(failure(address))


def test_what_is_called_off_ends_at_once_and_its_connection_is_closed(server):
    service = server(hangs)
    with pytest.raises(CancelledError):
        HttpSummarizer(service.url).summarize(prompt(), is_cancelled=lambda: bool(service.requests))
    assert service.requests[0].is_left.wait(PATIENCE)
