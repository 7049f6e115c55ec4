from __future__ import annotations

import pytest

from cli.demo.cast import assistant, prose, shell, tool_call, tool_result, user


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("\n    One line\n    and its end.\n    ", "One line and its end."),
        ("\n    One.\n\n    Two.\n    ", "One.\n\nTwo."),
        ("\n    Rules:\n    1. This\n    one.\n    2. That.\n    ", "Rules:\n1. This one.\n2. That."),
        ("\n    ## Head\n    - a\n    - b\n    ", "## Head\n- a\n- b"),
    ],
)
def test_a_paragraph_is_one_line_and_lists_stay_lists(typed: str, meant: str) -> None:
    assert prose(typed) == meant


def test_a_message_of_the_person_has_an_image_behind_its_text() -> None:
    message = user("Look.", image="aGk=", time=7)
    assert [block["type"] for block in message["content"]] == ["text", "image"]


def test_an_answer_has_thinking_text_and_calls_in_that_order_and_nothing_empty() -> None:
    call = tool_call("c1", "read", {"path": "a.py"})
    assert [block["type"] for block in assistant("Hm.", "Here.", [call])] == ["thinking", "text", "toolCall"]
    assert assistant("", "", [call]) == [call]


def test_what_was_thought_is_sealed_by_what_it_says() -> None:
    (one,), (same,), (other,) = (assistant(thought, "", []) for thought in ("a", "a", "b"))
    assert one["thinkingSignature"] == same["thinkingSignature"] != other["thinkingSignature"]


def test_a_result_names_the_call_that_it_answers() -> None:
    result = tool_result("c1", "read", "text", is_error=True, time=7)
    assert (result["toolCallId"], result["toolName"], result["isError"]) == ("c1", "read", True)


def test_a_command_of_the_person_has_its_exit_code() -> None:
    assert shell("false", "", exit_code=1, time=7)["exitCode"] == 1
