"""Messages in the API's order: who speaks when, and which result answers which call."""

from __future__ import annotations

import pytest

from tests.support.contexts import repaired, sent
from tests.support.talk import assistant, call, result, text, user

NO_RESULT = {"type": "text", "text": "No result of this call was recorded."}
BEGINNING = {"type": "text", "text": "(The beginning of this conversation is not recorded.)"}


def used(call_id="c1", name="bash"):
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def answered(*said, call_id="c1", **fields):
    content = {"content": [text(each) for each in said]} if said else {}
    return {"type": "tool_result", "tool_use_id": call_id, **content, **fields}


def unanswered(call_id="c1"):
    return {"type": "tool_result", "tool_use_id": call_id, "content": [NO_RESULT], "is_error": True}


def test_user_and_assistant_speak_in_turn():
    assert sent(user("a"), assistant("b"), user("c")) == [
        {"role": "user", "content": [text("a")]},
        {"role": "assistant", "content": [text("b")]},
        {"role": "user", "content": [text("c")]},
    ]


def test_messages_of_one_role_in_a_row_are_one():
    talk = [user("a"), user("b"), assistant("c"), assistant("d")]
    assert sent(*talk) == [
        {"role": "user", "content": [text("a"), text("b")]},
        {"role": "assistant", "content": [text("c"), text("d")]},
    ]
    assert repaired(*talk) == []


def test_a_conversation_that_the_assistant_begins_gets_a_beginning():
    assert sent(assistant("b"), user("c"))[0] == {"role": "user", "content": [BEGINNING]}
    assert repaired(assistant("b"), user("c")) == [("first-message", "e1")]


def test_a_conversation_that_a_result_begins_begins_with_the_user():
    assert sent(result("found"), assistant("b"))[0] == {
        "role": "user",
        "content": [text("Result of an earlier call of the tool bash:"), text("found")],
    }


def test_a_call_and_its_result_are_a_pair():
    talk = [user("a"), assistant("b", call("bash")), result("found"), assistant("d")]
    assert sent(*talk)[1:] == [
        {"role": "assistant", "content": [text("b"), used()]},
        {"role": "user", "content": [answered("found")]},
        {"role": "assistant", "content": [text("d")]},
    ]
    assert repaired(*talk) == []


def test_results_of_parallel_calls_stand_together_in_the_order_of_their_coming():
    calls = assistant(call("bash", "c1"), call("bash", "c2"))
    talk = [user("a"), calls, result("second", call_id="c2"), result("first", call_id="c1")]
    assert sent(*talk)[2] == {
        "role": "user",
        "content": [answered("second", call_id="c2"), answered("first", call_id="c1")],
    }
    assert repaired(*talk) == []


def test_what_the_user_says_after_a_result_follows_it_in_the_same_message():
    talk = [user("a"), assistant(call("bash")), result("found"), user("stop")]
    assert sent(*talk)[2] == {"role": "user", "content": [answered("found"), text("stop")]}
    assert repaired(*talk) == []


def test_what_the_user_said_before_a_result_follows_it():
    talk = [user("a"), assistant(call("bash")), user("stop"), result("found")]
    assert sent(*talk)[2] == {"role": "user", "content": [answered("found"), text("stop")]}
    assert repaired(*talk) == [("result-order", "e4")]


def test_a_failed_call_has_a_result_that_says_so():
    assert sent(user("a"), assistant(call("bash")), result("no", is_error=True))[2]["content"] == [
        answered("no", is_error=True)
    ]


def test_a_tool_that_said_nothing_has_a_result_without_content():
    talk = [user("a"), assistant(call("bash")), result()]
    assert sent(*talk)[2]["content"] == [answered()]
    assert repaired(*talk) == []


@pytest.mark.parametrize("stop", ["aborted", "error", "toolUse"])
def test_a_call_at_the_end_is_answered_by_an_error(stop):
    talk = [user("a"), assistant(call("bash"), stop=stop)]
    assert sent(*talk)[2] == {"role": "user", "content": [unanswered()]}
    assert repaired(*talk) == [("missing-result", "e2")]


def test_a_call_that_the_user_did_not_wait_for_is_answered_by_an_error_before_the_users_words():
    talk = [user("a"), assistant(call("bash"), stop="aborted"), user("again"), assistant("b")]
    assert sent(*talk)[2] == {"role": "user", "content": [unanswered(), text("again")]}
    assert repaired(*talk) == [("missing-result", "e2")]


def test_of_parallel_calls_only_the_one_without_a_result_is_answered_by_an_error():
    talk = [user("a"), assistant(call("bash", "c1"), call("bash", "c2")), result("found", call_id="c2")]
    assert sent(*talk)[2]["content"] == [answered("found", call_id="c2"), unanswered("c1")]


def test_a_call_without_a_result_before_the_assistant_goes_on_is_answered_between():
    assert sent(user("a"), assistant(call("bash"), stop="error"), assistant("b"))[1:] == [
        {"role": "assistant", "content": [used()]},
        {"role": "user", "content": [unanswered()]},
        {"role": "assistant", "content": [text("b")]},
    ]


def test_calls_in_a_row_of_messages_are_parallel():
    calls = [assistant("b", call("bash", "c1")), assistant(call("bash", "c2")), assistant(call("bash", "c3"))]
    talk = [user("a"), *calls, *(result("found", call_id=each) for each in ("c1", "c2", "c3"))]
    assert sent(*talk)[1:] == [
        {"role": "assistant", "content": [text("b"), used("c1"), used("c2"), used("c3")]},
        {"role": "user", "content": [answered("found", call_id=each) for each in ("c1", "c2", "c3")]},
    ]
    assert repaired(*talk) == []


def test_only_a_call_without_result_gets_an_error():
    talk = [
        user("a"),
        assistant(call("bash", "c1")),
        assistant(call("bash", "c2")),
        result("found", call_id="c2"),
    ]
    assert sent(*talk)[2:] == [
        {"role": "user", "content": [answered("found", call_id="c2"), unanswered("c1")]},
    ]
    assert repaired(*talk) == [("missing-result", "e2")]


def test_a_call_behind_user_text_begins_a_turn():
    talk = [user("a"), assistant(call("bash", "c1")), user("stop"), assistant(call("bash", "c2"))]
    assert [message["role"] for message in sent(*talk)] == ["user", "assistant"] * 2 + ["user"]
    assert repaired(*talk) == [("missing-result", "e2"), ("missing-result", "e4")]


def test_a_message_of_the_assistants_without_content_parts_no_call_from_its_result():
    talk = [user("a"), assistant(call("bash")), assistant(stop="aborted"), result("found")]
    assert sent(*talk)[2]["content"] == [answered("found")]
    assert repaired(*talk) == [("empty-message", "e3")]


@pytest.mark.parametrize(
    ("late", "lead_in"),
    [
        (result("found", tool="read"), "Result of an earlier call of the tool read:"),
        (result("found", tool=""), "Result of an earlier call:"),
        (result("found", is_error=True), "Error of an earlier call of the tool bash:"),
    ],
)
def test_a_result_without_a_call_in_the_message_before_is_text(late, lead_in):
    talk = [user("a"), assistant("b"), late]
    assert sent(*talk)[2] == {"role": "user", "content": [text(lead_in), text("found")]}
    assert repaired(*talk) == [("orphan-result", "e3")]


def test_a_result_that_comes_after_the_assistant_went_on_is_text():
    talk = [user("a"), assistant(call("bash")), assistant("b"), result("late")]
    assert sent(*talk)[2]["content"] == [unanswered()]
    assert sent(*talk)[4]["content"] == [text("Result of an earlier call of the tool bash:"), text("late")]
    assert repaired(*talk) == [("missing-result", "e2"), ("orphan-result", "e4")]


def test_of_two_results_the_first_answers_the_call_and_the_second_is_text():
    talk = [user("a"), assistant(call("bash")), result("first"), result("second")]
    assert sent(*talk)[2]["content"] == [
        answered("first"),
        text("Result of an earlier call of the tool bash:"),
        text("second"),
    ]
    assert repaired(*talk) == [("duplicate-result", "e4")]


def test_an_id_that_an_earlier_call_has_is_changed_together_with_its_result():
    again = [assistant(call("bash")), result("found")]
    talk = [user("a"), *again, *again]
    assert [message["content"][0] for message in sent(*talk)[1:]] == [
        used("c1"),
        answered("found", call_id="c1"),
        used("c1_2"),
        answered("found", call_id="c1_2"),
    ]
    assert repaired(*talk) == [("duplicate-call-id", "e4")]


def test_two_calls_of_one_message_with_one_id_get_a_result_each():
    talk = [user("a"), assistant(call("bash"), call("bash")), result("first"), result("second")]
    assert sent(*talk)[1:] == [
        {"role": "assistant", "content": [used("c1"), used("c1_2")]},
        {"role": "user", "content": [answered("first"), answered("second", call_id="c1_2")]},
    ]


def test_an_id_that_the_api_does_not_take_is_changed_together_with_its_result():
    talk = [user("a"), assistant(call("bash", "call|1")), result("found", call_id="call|1")]
    assert sent(*talk)[1]["content"] == [used("call_1")]
    assert sent(*talk)[2]["content"] == [answered("found", call_id="call_1")]
    assert repaired(*talk) == [("call-id", "e2")]


def test_white_space_at_the_end_goes_where_the_assistant_spoke_last():
    assert sent(user("a"), assistant("b \n"))[1]["content"] == [text("b")]
    assert repaired(user("a"), assistant("b \n")) == [("final-space", "e2")]


def test_white_space_at_the_end_stays_where_something_follows():
    talk = [user("a \n"), assistant("b \n"), user("c")]
    assert sent(*talk)[1]["content"] == [text("b \n")]
    assert repaired(*talk) == []


def test_an_orphans_tool_reference_is_left_out():
    orphan = result({"type": "tool_reference", "tool_name": "read"}, text("done"), call_id="c9")
    (message,) = sent(orphan)
    assert [block["type"] for block in message["content"]] == ["text", "text"]
    assert repaired(orphan) == [("orphan-result", "e1"), ("block", "e1")]
