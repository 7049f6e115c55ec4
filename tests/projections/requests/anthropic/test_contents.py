"""Render each message as blocks of the API."""

from __future__ import annotations

import pytest

from eventstore.records import Compaction
from projections.context.build import build_context
from projections.requests.anthropic import render
from tests.support.contexts import body_of, context_of, repaired, sent
from tests.support.talk import assistant, call, image, result, shell, text, thinking, user

SEALED = thinking("hm", thinkingSignature="seal")
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "seal"}


def users(*messages):
    """Return the content of the one user message that these become."""
    (message,) = sent(*messages)
    assert message["role"] == "user"
    return message["content"]


def assistants(*blocks, **fields):
    """Return the content of an assistant message of these blocks, and the repairs' rules."""
    talk = [user("a"), assistant(*blocks, **fields)]
    return sent(*talk)[1]["content"], [rule for rule, _ in repaired(*talk)]


@pytest.mark.parametrize("role", ["user", "custom"])
def test_a_text_of_the_users_or_an_extensions_is_a_block(role):
    assert users({"role": role, "content": "hi"}) == [text("hi")]
    assert users({"role": role, "content": [text("a"), text("b")]}) == [text("a"), text("b")]


def test_a_compactions_summary_is_told_in_its_tags(story):
    _, kept = story.says(user("old"), user("kept"))
    story.add(Compaction(summary="before", first_kept_entry_id=kept, tokens_before=9, placement="summary"))
    rendered = render(build_context(story.log, "s"))
    assert [block["text"] for block in body_of(rendered)["messages"][0]["content"]] == [
        "Earlier parts of this conversation were replaced by this summary:\n\n<summary>\nbefore\n</summary>",
        "kept",
    ]
    assert rendered.repairs == ()


def test_a_branchs_summary_is_told_in_its_tags():
    assert users({"role": "branchSummary", "summary": "tried"})[0]["text"].endswith(
        "\n\n<summary>\ntried</summary>"
    )


def test_a_command_of_the_users_is_told():
    assert users(shell("make", "done")) == [text("Ran `make`\n```\ndone\n```")]


def test_a_command_that_was_kept_from_the_model_is_left_out_and_nothing_repaired():
    talk = [user("a"), shell("pwd", "/", excludeFromContext=True)]
    assert users(*talk) == [text("a")]
    assert repaired(*talk) == []


@pytest.mark.parametrize("role", ["hookMessage", "observer", ""])
def test_a_message_of_an_unknown_role_is_left_out(role):
    talk = [user("a"), {"role": role, "content": "b"}]
    assert users(*talk) == [text("a")]
    assert repaired(*talk) == [("unknown-role", "e2")]


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\xa0\u2028", "\ufeff", "\x1c"])
def test_a_blank_text_is_left_out(blank):
    talk = [user([text(blank), text("a")])]
    assert users(*talk) == [text("a")]
    assert repaired(*talk) == [("blank-text", "e1")]


@pytest.mark.parametrize("empty", [user(""), user([]), {"role": "user"}, {"role": "custom", "content": " "}])
def test_a_message_that_says_nothing_is_left_out(empty):
    assert users(user("a"), empty) == [text("a")]
    assert ("empty-message", "e2") in repaired(user("a"), empty)


def test_an_aborted_message_without_content_is_left_out():
    talk = [user("a"), assistant(stop="aborted"), user("b")]
    assert users(*talk) == [text("a"), text("b")]
    assert repaired(*talk) == [("empty-message", "e2")]


@pytest.mark.parametrize("stop", ["aborted", "error"])
def test_what_an_aborted_or_failed_message_said_stays(stop):
    assert assistants("I was abo", stop=stop) == ([text("I was abo")], [])


def test_half_a_surrogate_pair_becomes_the_replacement_character():
    talk = [user("a \ud83d b")]
    assert users(*talk) == [text("a \ufffd b")]
    assert repaired(*talk) == [("surrogate", "e1")]


def test_text_and_thinking_and_calls_keep_their_order():
    sealed_again = thinking("ah", thinkingSignature="another seal")
    blocks, repairs = assistants(SEALED, "so", sealed_again, call("read", path="a.py"))
    assert [block["type"] for block in blocks] == ["thinking", "text", "thinking", "tool_use"]
    assert repairs == ["missing-result"]


def test_thinking_keeps_its_text_and_its_seal():
    assert assistants(SEALED, "so") == ([THOUGHT, text("so")], [])


def test_sealed_thinking_without_a_text_is_kept():
    blocks, _ = assistants(thinking("", thinkingSignature="seal"), "so")
    assert blocks[0] == {**THOUGHT, "thinking": ""}


def test_redacted_thinking_goes_back_encrypted():
    hidden = thinking("[hidden]", thinkingSignature="encrypted", redacted=True)
    assert assistants(hidden, "so") == ([{"type": "redacted_thinking", "data": "encrypted"}, text("so")], [])


def test_thinking_without_a_seal_is_left_out():
    assert assistants(thinking("hm"), "so") == ([text("so")], ["unsigned-thinking"])


@pytest.mark.parametrize("author", [{"model": "n"}, {"provider": "q"}])
def test_thinking_of_another_model_is_left_out(author):
    assert assistants(SEALED, "so", **author) == ([text("so")], ["foreign-thinking"])


def test_thinking_that_nothing_follows_is_left_out():
    assert assistants("so", SEALED, stop="aborted") == ([text("so")], ["final-thinking"])


def test_thinking_that_only_a_blank_text_follows_is_left_out():
    assert assistants("so", SEALED, " ") == ([text("so")], ["blank-text", "final-thinking"])


def test_thinking_that_cannot_be_sent_unchanged_is_left_out():
    assert assistants(thinking("\ud83d", thinkingSignature="seal"), "so") == ([text("so")], ["surrogate"])


def test_a_calls_input_is_its_arguments_bytes():
    arguments = b'{ "n": 1.50, "t": "\\u00e9", "big": 100000000000000000000 }'
    message = b'{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"t","arguments":%s}]}'
    assert b'"input":%s}' % arguments in render(context_of(user("a"), message % arguments)).body


@pytest.mark.parametrize(
    "block", [thinking("hm"), call("read"), {"type": "video", "data": "x"}, {"type": "tool_result"}]
)
def test_what_a_user_cannot_say_is_left_out(block):
    talk = [user([text("a"), block])]
    assert users(*talk) == [text("a")]
    assert repaired(*talk) == [("block", "e1")]


@pytest.mark.parametrize("block", [image(), {"type": "video"}, {"type": "document", "source": {}}, {"x": 1}])
def test_what_the_assistant_cannot_say_is_left_out(block):
    assert assistants("so", block) == ([text("so")], ["block"])


def test_blank_texts_in_results_are_left_out():
    talk = [user("a"), assistant(call("bash")), result("", "found", "\n")]
    assert sent(*talk)[2]["content"][0]["content"] == [text("found")]
    assert repaired(*talk) == [("blank-text", "e3")] * 2


def test_an_image_in_a_failed_calls_result_becomes_text():
    talk = [user("a"), assistant(call("bash")), result("no", image(), is_error=True)]
    assert sent(*talk)[2]["content"][0]["content"] == [text("no"), text("[image left out: the call failed]")]
    assert repaired(*talk) == [("image-in-error", "e3")]


@pytest.mark.parametrize("content", [[], [text(" ")], ""])
def test_a_failed_call_that_said_nothing_gets_a_text(content):
    talk = [user("a"), assistant(call("bash")), {**result(is_error=True), "content": content}]
    assert sent(*talk)[2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": [text("[the call failed, and said nothing]")],
            "is_error": True,
        }
    ]
    assert repaired(*talk)[-1] == ("empty-error", "e3")


def test_a_call_that_went_well_and_said_nothing_has_a_result_without_content():
    talk = [user("a"), assistant(call("bash")), result()]
    assert sent(*talk)[2]["content"] == [{"type": "tool_result", "tool_use_id": "c1"}]
    assert repaired(*talk) == []
