"""Summaries by Chat Completions, from a server on this machine, over real connections."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.judge.claims import Look, schema_of
from compaction.summarizers import Answer, CancelledError, SummarizerError
from compaction.summarizers.registry import SummarizerContext, make_summarizer, summarizer_named
from eventstore.memory import MemoryLog
from eventstore.views import Usage
from projections.requests.openai import render_chat
from projections.settings import Model
from tests.compaction.summarizers.prompts import MODEL, chain, chat, live, never, prompt
from tests.support.contexts import context_of
from tests.support.local_http import NO_SERVER, answers, hangs, refuses
from tests.support.openai_api import problems_of_chat
from tests.support.patience import PATIENCE
from tests.support.talk import assistant, call, result, thinking, user
from tests.support.wild_talk import any_talk, good_talk

USAGE = {"prompt_tokens": 90, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 7}}
COUNTED = Usage(input=83, output=5, cache_read=7, total=95)
TOOLS = b'[{"name":"read","input_schema":{"type":"object"}}]'
TALK = [
    user("build it"),
    assistant(thinking("hm"), "I look.", call("read", "c1", path="a.py")),
    result("the text", tool="read", call_id="c1"),
    assistant("There it is."),
]


def says(content, finish="stop", **message):
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish,
    }
    return answers({"model": "served-1", "choices": [choice], "usage": USAGE})


def errs(status, message, kind="invalid_request_error", **headers):
    body = json.dumps({"error": {"message": message, "type": kind, "code": None}}).encode()
    return lambda exchange: exchange.answer(status, body, **headers)


def summarized(api, **options):
    return chat(api, **options).summarize(prompt(), is_cancelled=never)


def failure(api, **options):
    with pytest.raises(SummarizerError) as raised:
        summarized(api, **options)
    return raised.value


@pytest.mark.parametrize("content", ["It is done.", [{"type": "text", "text": "It is "}, {"text": "done."}]])
def test_an_answer_has_text_model_and_usage(server, content):
    expected = Answer(text="It is done.", model="served-1", usage=COUNTED)
    assert summarized(server(says(content))) == expected


def test_counts_that_a_server_leaves_out_are_none(server):
    assert summarized(server(answers({"choices": [{"message": {"content": "Done."}}]}))).usage is None


def test_an_answer_at_the_limit_is_cut(server):
    assert summarized(server(says("It is ha", "length"))).is_cut


def test_key_and_address_come_from_the_environment(server, monkeypatch):
    api = server(says("Done."))
    monkeypatch.setenv("OPENAI_BASE_URL", f"{api.url}/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    name, model = summarizer_named("openai:qwen3:8b")
    asked = make_summarizer(name, SummarizerContext(log=MemoryLog(), model=model))
    asked.summarize(prompt(), is_cancelled=never)
    (request,) = api.requests
    assert (request.path, request.json["model"]) == ("/v1/chat/completions", "qwen3:8b")
    assert request.headers["authorization"] == "Bearer from-the-environment"


def test_a_server_of_ones_own_needs_no_key(server):
    api = server(says("Done."))
    summarized(api, api_key="")
    assert "authorization" not in api.requests[0].headers


def test_a_query_stays_behind_the_address(server):
    api = server(says("Done."))
    summarized(f"{api.url}/v1?api-version=1")
    assert api.requests[0].path == "/v1/chat/completions?api-version=1"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"base_url": None, "api_key": None}, "OPENAI_API_KEY"),
        ({"api_key": "secret\nkey"}, "OPENAI_API_KEY"),
        ({"api_key": "secret\xe9"}, "OPENAI_API_KEY"),
        ({"model": " "}, "openai:gpt"),
    ],
)
def test_without_key_or_model_nothing_is_sent(server, options, told):
    api = server(says("Done."))
    problem = failure(api, **options)
    assert (told in problem.problem, "secret" in str(problem), problem.is_sent) == (True, False, False)
    assert api.requests == []


def test_a_serialized_prompt_is_one_message(server):
    api, sent = server(says("Done.")), prompt()
    chat(api).summarize(sent, is_cancelled=never)
    assert api.requests[0].json == {
        "model": MODEL,
        "messages": [{"role": "system", "content": "You sum up."}, {"role": "user", "content": sent.text}],
        "max_completion_tokens": 99,
    }


@pytest.mark.parametrize("until", range(1, len(TALK) + 1))
def test_a_live_prefix_is_the_contexts_rendering(server, until):
    api = server(says("Done."))
    chat(api).summarize(live(*TALK[:until], tools=TOOLS, forbids_tools=True), is_cancelled=never)
    body = api.requests[0].json
    own = render_chat(context_of(*TALK[:until], model=Model(provider="openai", model_id=MODEL)), tools=TOOLS)
    whole = json.loads(own.body)
    assert body["messages"][1:-1] == whole["messages"]
    assert (body["tools"], body["tool_choice"]) == (whole["tools"], "none")
    assert problems_of_chat(api.requests[0].body) == []


def test_an_answer_with_a_schema_is_its_json(server):
    api = server(says('{"verdict":"lost"}'))
    sent = msgspec.structs.replace(prompt(), schema=schema_of(Look))
    told = chat(api).summarize(sent, is_cancelled=never)
    asked = api.requests[0].json["response_format"]["json_schema"]
    assert (told.text, asked["strict"]) == ('{"verdict":"lost"}', True)
    assert asked["schema"] == json.loads(schema_of(Look))


@given(said=st.one_of(good_talk(), any_talk), data=st.data())
def test_any_prefix_is_a_valid_request(said, data):
    sent = []
    asked = chat(NO_SERVER)
    asked._service.post = lambda body, **_: sent.append(body)
    asked.summarize(live(*said[: data.draw(st.integers(0, len(said)))]), is_cancelled=never)
    assert problems_of_chat(sent[0]) == []


def test_invalid_tools_fail_before_a_request(server):
    api = server(says("Done."))
    with pytest.raises(SummarizerError, match="nothing was sent: tools"):
        chat(api).summarize(live(*TALK, tools=b"{"), is_cancelled=never)
    assert api.requests == []


def test_a_wrong_key_is_told_in_one_line(server):
    api = server(errs(401, "Incorrect."))
    problem = failure(api)
    told = f"{api.url}/chat/completions: answered 401: Incorrect.; check OPENAI_API_KEY"
    assert (problem.problem, problem.is_transient) == (told, False)


@pytest.mark.parametrize(
    ("status", "passes"), [(400, False), (404, False), (408, True), (429, True), (503, True)]
)
def test_a_status_tells_if_it_passes(server, status, passes):
    assert failure(server(errs(status, "No."))).is_transient == passes


def test_a_servers_wait_is_reported(server):
    assert failure(server(errs(429, "Slow down.", retry_after="37"))).retry_after == 37.0


@pytest.mark.parametrize(
    "reply",
    [
        errs(400, "This model's maximum context length is 8192 tokens."),
        refuses(400, '{"error":{"message":"too much","code":"context_length_exceeded"}}'),
        refuses(400, '{"error":{"code":400,"message":"the request exceeds the available context size"}}'),
        refuses(413),
    ],
)
def test_a_prompt_that_is_too_long_is_reported(server, reply):
    problem = failure(server(reply))
    assert (problem.is_too_long, problem.is_transient) == (True, False)


@pytest.mark.parametrize(
    ("reply", "told", "passes"),
    [
        (answers({"error": {"code": 502, "message": "Provider down"}}), "Provider down", True),
        (answers({"error": "model not found"}), "model not found", False),
        (
            answers({"choices": [{"message": {"content": "It"}, "error": {"code": 429, "message": "Busy"}}]}),
            "Busy",
            True,
        ),
        (says("", refusal="I cannot."), "refused", False),
        (says("No", "content_filter"), "refused", False),
        (says(None, "tool_calls", tool_calls=[{}]), "called a tool", True),
        (says("", "length"), "until the limit", False),
        (answers({"choices": []}), "Chat Completions", False),
        (answers({"choices": [{"message": None}]}), "Chat Completions", False),
        (answers([]), "Chat Completions", False),
        (refuses(200, "hello"), "Chat Completions", False),
        (refuses(200, "[" * 100_000), "Chat Completions", False),
        (refuses(502, "<html><h1>Bad gateway</h1></html>"), "answered 502: Bad gateway", True),
    ],
)
def test_an_answer_without_a_summary_says_why(server, reply, told, passes):
    problem = failure(server(reply))
    assert (told in problem.problem, problem.is_transient) == (True, passes)


def test_a_failure_that_passes_is_tried_again(server):
    api = server(errs(500, "Later."), says("Done."))
    asked = chain(chat(api)).summarize(prompt())
    assert (asked.text, [each["model"] for each in asked.requests]) == ("Done.", [MODEL, "served-1"])


def test_a_server_that_falls_silent_is_given_up(server):
    problem = failure(server(hangs), timeout=0.1)
    assert ("timed out" in problem.problem, problem.is_transient) == (True, True)


def test_a_server_that_is_not_there_is_named():
    problem = failure(NO_SERVER)
    assert (NO_SERVER in problem.problem, problem.is_transient, problem.is_sent) == (True, True, False)


def test_a_cancelled_request_ends_at_once(server):
    api = server(hangs)
    with pytest.raises(CancelledError):
        chat(api).summarize(prompt(), is_cancelled=lambda: bool(api.requests))
    assert api.requests[0].is_left.wait(PATIENCE)
