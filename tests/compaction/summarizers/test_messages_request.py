"""Check requests of the real client as they arrive at a server of the Messages API."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.judge.claims import Look, schema_of
from compaction.summarizers import SummarizerError
from compaction.summarizers.anthropic import messages_request
from compaction.summarizers.bodies import body_to_send
from compaction.summarizers.chain import SummarizersFailedError
from projections.requests.anthropic import render
from projections.settings import Model
from tests.compaction.summarizers.prompts import MODEL, Saying, chain, claude, live, never, prompt
from tests.support.contexts import context_of
from tests.support.messages_api import answers_by_tool, says
from tests.support.talk import assistant, call, image, result, shell, thinking, user
from tests.support.validator import validate
from tests.support.wild_talk import any_talk, compacted_talk, good_talk

OWN = {"provider": "anthropic", "model": MODEL}
TALK = [
    user("build it"),
    assistant(thinking("hm", thinkingSignature="seal"), "I look.", call("read", "c1", path="a.py"), **OWN),
    result("the text", tool="read", call_id="c1"),
    assistant(call("bash", "c2", command="ls"), call("bash", "c3", command="pwd", timeout=1.50), **OWN),
    result("a.py", call_id="c2"),
    result("no", call_id="c3", is_error=True),
    assistant("There it is. ", **OWN),
    shell("ls", "a.py"),
    user("go on"),
]
TOOLS = b'[{"name":"read","input_schema":{"type":"object"}},{"name":"bash","input_schema":{"type":"object"}}]'


@pytest.fixture
def arrived(messages_api):
    """From a prompt to the body that a server was sent for it."""

    def arrived(prompt, **options):
        api = messages_api(says("Done."))
        claude(api, **options).summarize(prompt, is_cancelled=never)
        return api.requests[0].body

    return arrived


def test_an_answer_with_a_schema_is_a_call(messages_api):
    """Strict: each property is required, and no other allowed."""
    api = messages_api(answers_by_tool({"verdict": "lost"}))
    sent = msgspec.structs.replace(prompt(), schema=schema_of(Look))
    told = claude(api).summarize(sent, is_cancelled=never)
    body = json.loads(api.requests[0].body)
    (tool,) = body["tools"]
    objects = [tool["input_schema"], *tool["input_schema"]["$defs"].values()]
    assert json.loads(told.text) == {"verdict": "lost"}
    assert (tool["strict"], body["tool_choice"]) == (True, {"type": "tool", "name": tool["name"]})
    assert all(
        each["required"] == [*each["properties"]] and each["additionalProperties"] is False
        for each in objects
    )
    assert not problems(api.requests[0].body)


def messages_of(body):
    return body.split(b'"messages":[', 1)[1]


def problems(body):
    return validate(body)


def test_a_serialized_prompt_is_one_message_of_the_users_behind_the_system_prompt(arrived):
    sent = prompt()
    body = json.loads(arrived(sent))
    assert body == {
        "model": MODEL,
        "max_tokens": 99,
        "system": "You sum up.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": sent.text}]}],
        "stream": True,
    }


def test_a_live_prefix_stands_before_the_prompt_in_the_apis_roles(arrived):
    body = json.loads(arrived(live(user("build it"), assistant("I look."), name="short")))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


def test_a_live_prefix_that_ends_with_the_user_holds_the_prompt_in_the_same_message(arrived):
    sent = live(user("build it"))
    (only,) = json.loads(arrived(sent))["messages"]
    assert [block["text"] for block in only["content"]] == ["build it", sent.text]


def test_thinking_is_not_switched_on(arrived):
    assert "thinking" not in json.loads(arrived(live(*TALK)))


@pytest.mark.parametrize("until", range(1, len(TALK) + 1))
def test_a_live_prefix_cut_anywhere_is_a_valid_request(arrived, until):
    assert problems(arrived(live(*TALK[:until]))) == []


@pytest.mark.parametrize("until", [1, 3, 6, 7, 9])
def test_a_live_prefix_is_byte_for_byte_what_the_contexts_own_rendering_begins_with(arrived, until):
    own_model = Model(provider="anthropic", model_id=MODEL)
    whole = messages_of(render(context_of(*TALK, user("and then?"), model=own_model)).body)
    head = messages_of(render(context_of(*TALK[:until], user("!"), model=own_model)).body)
    shared = head[: head.index(b'{"type":"text","text":"!"}')].rstrip(b",")
    assert len(shared) > 40
    assert whole.startswith(shared)
    assert messages_of(arrived(live(*TALK[:until]))).startswith(shared)


def test_the_harnesss_own_tools_stand_before_a_live_prefix(arrived):
    body = arrived(live(*TALK, tools=TOOLS))
    assert b'"tools":' + TOOLS in body
    assert "tool_choice" not in json.loads(body)
    assert problems(body) == []


def test_tools_may_be_forbidden(arrived):
    body = arrived(live(*TALK, tools=TOOLS, forbids_tools=True))
    assert json.loads(body)["tool_choice"] == {"type": "none"}
    assert problems(body) == []


def test_what_is_sent_is_byte_for_byte_what_was_checked(arrived):
    sent = live(*TALK, tools=TOOLS, forbids_tools=True)
    assert arrived(sent) == messages_request(sent, MODEL).body


def test_without_tools_nothing_is_said_of_them(arrived):
    body = json.loads(arrived(live(*TALK, forbids_tools=True)))
    assert not {"tools", "tool_choice"} & set(body)


def test_images_go_along_as_the_renderer_has_them(arrived):
    assert problems(arrived(live(user([image("QUJD")])))) == []


def test_halves_of_surrogate_pairs_do_not_break_a_request(arrived):
    body = arrived(prompt("short", user("broken \ud83d here")))
    assert "broken \ufffd here" in json.loads(body)["messages"][0]["content"][0]["text"]


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None), min_size=1))
def test_any_text_makes_a_valid_request(said, system):
    assert problems(messages_request(prompt("short", user(said), system=system), MODEL).body) == []


@pytest.mark.slow
@given(said=st.one_of(good_talk(), any_talk, compacted_talk), data=st.data())
def test_a_live_prefix_of_any_talk_cut_anywhere_is_a_valid_request(said, data):
    until = data.draw(st.integers(0, len(said)))
    tools, forbids = data.draw(st.sampled_from([(b"", False), (TOOLS, False), (TOOLS, True)]))
    sent = live(*said[:until], tools=tools, forbids_tools=forbids)
    assert problems(messages_request(sent, MODEL).body) == []


@given(said=st.one_of(good_talk(), any_talk), data=st.data())
def test_a_turn_that_is_parted_anywhere_is_a_valid_request_behind_its_summary(said, data):
    first = data.draw(st.integers(0, len(said)))
    until = data.draw(st.integers(first, len(said)))
    summary = {"role": "compactionSummary", "summary": "all of it", "tokensBefore": 9}
    assert problems(messages_request(live(summary, *said[first:until], tools=TOOLS), MODEL).body) == []


@pytest.mark.parametrize("tools", [b"{", b'[{"name":"a b","input_schema":{"type":"object"}}]'])
def test_invalid_tools_fail_before_a_request(messages_api, tools):
    api = messages_api(says("Done."))
    with pytest.raises(SummarizerError) as raised:
        claude(api).summarize(live(*TALK, tools=tools), is_cancelled=never)
    assert ": tools" in raised.value.problem
    assert (raised.value.is_transient, raised.value.is_too_long) == (False, False)
    assert api.requests == []


def test_a_request_of_more_than_32_mb_is_too_long_before_it_is_sent():
    large = prompt("short", system="x" * 33 * 2**20)
    with pytest.raises(SummarizerError) as raised:
        body_to_send("anthropic", lambda: messages_request(large, MODEL))
    assert raised.value.is_too_long
    assert ("32 MB" in raised.value.problem, "(request-size)" in raised.value.problem) == (True, True)


def test_a_request_without_a_model_says_why(messages_api):
    api = messages_api(says("Done."))
    with pytest.raises(SummarizerError) as raised:
        claude(api, model=" ").summarize(prompt(), is_cancelled=never)
    assert ": model: " in raised.value.problem
    assert (raised.value.is_too_long, api.requests) == (False, [])


@pytest.mark.slow
def test_a_request_that_is_too_large_and_wrong_besides_is_not_too_long_for_a_shorter_one_is_wrong_too():
    large = prompt("short", system="x" * 33 * 2**20)
    with pytest.raises(SummarizerError) as raised:
        body_to_send("anthropic", lambda: messages_request(large, ""))
    assert not raised.value.is_too_long
    assert raised.value.problem.endswith("; and 1 more")


def test_a_request_that_was_not_sent_is_an_attempt_that_failed_and_is_recorded(messages_api):
    asked = chain(claude(messages_api(says("Done.")), model=" "))
    with pytest.raises(SummarizersFailedError) as raised:
        asked.summarize(live(*TALK))
    (record,) = raised.value.requests
    assert (record["summarizer"], record["model"], record["attempt"]) == ("anthropic", " ", 1)
    assert ": model: " in record["error"]


def test_after_a_request_that_its_api_would_refuse_the_next_summarizer_is_asked(messages_api):
    said = chain(claude(messages_api(), model=" "), Saying("Done.")).summarize(live(*TALK))
    assert said.text == "Done."
    assert [request["summarizer"] for request in said.requests] == ["anthropic", "saying"]


@pytest.mark.parametrize("system", ["", " \n"])
def test_a_system_prompt_that_says_nothing_is_none(arrived, system):
    assert "system" not in json.loads(arrived(live(user("build it"), system=system)))
