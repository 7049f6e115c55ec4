"""opencode's way to go on: the newest request, its text, or a word to go on."""

from __future__ import annotations

import json

import msgspec
import pytest

from compaction.continuations import REPLAY
from eventstore.records import CustomMessage, MessageRecord, Rewrite, TextReplacement
from tests.compaction.continuations.situations import situation
from tests.support.pi_files import line
from tests.support.talk import assistant, call, image, result, text, user


def chosen(story, kept=()):
    return REPLAY.after(situation(story, kept))


def said(continued):
    return json.loads(bytes(continued.record.message))["content"]


def test_a_request_that_nobody_answered_and_that_is_gone_is_repeated_word_for_word(story):
    story.says(assistant("done"), user("and now b"))
    found = chosen(story)
    assert (found.branch, said(found), found.record.metadata) == (
        "unanswered",
        "and now b",
        {"compaction_continue": True},
    )


def test_a_request_that_is_kept_is_not_repeated(story):
    story.says(assistant("done"), user("and now b"))
    found = chosen(story, kept=["e2"])
    assert (found.branch, found.record) == ("unanswered", None)


def test_in_the_middle_of_a_task_a_word_goes_on(story):
    story.says(user("do b"), assistant(call("bash")), result("it"))
    found = chosen(story)
    assert (found.branch, said(found), found.record.metadata) == (
        "mid-task",
        "continue",
        {"compaction_continue": True},
    )


def test_a_request_with_an_image_goes_on_as_text_and_images_give_way(story):
    story.says(user([text("what is this?"), image()]))
    found = chosen(story)
    assert (found.branch, said(found), found.evicts) == (
        "media",
        "[Continuing from compaction] what is this?",
        True,
    )
    assert found.record.metadata == {"compaction_continue": True, "had_media": True}


def test_an_image_without_text_is_told_of(story):
    story.says(user([image()]))
    assert said(chosen(story)) == "[Continuing task — previous message contained media attachments]"


def test_an_image_that_was_answered_is_not_repeated_though_the_document_tests_media_first(story):
    story.says(user([text("what is this?"), image()]), assistant("a cat"))
    assert chosen(story).branch == "mid-task"


def test_results_and_messages_of_extensions_are_nobodys_requests(story):
    story.says(user("do b"), assistant(call("bash")), result("it"))
    story.add(CustomMessage(custom_type="x", content="by the way"))
    assert chosen(story).branch == "mid-task"


@pytest.mark.parametrize("blank", ["", " \n", []])
def test_a_message_that_says_nothing_is_nobodys_request(story, blank):
    story.says(user("do b"), assistant("done"), user(blank))
    assert chosen(story).branch == "mid-task"


def test_what_stands_for_several_messages_is_nobodys_request(story):
    story.says(user("do b"), assistant("hm"), assistant("done"))
    story.add(Rewrite(reason="snip", targets=[TextReplacement(target="e2", text="[snipped]", through="e3")]))
    assert chosen(story).branch == "mid-task"


def test_a_message_that_went_on_earlier_is_nobodys_request(story):
    story.says(user("do b"), assistant("done"))
    story.add(
        MessageRecord(
            message=msgspec.Raw(line(user("continue")).rstrip()), metadata={"compaction_continue": True}
        )
    )
    assert chosen(story).branch == "mid-task"


@pytest.mark.parametrize(
    "form", ["[Resuming] do b", "[Continuing from compaction] do b", "[Continuing task — previous message"]
)
def test_messages_of_other_harnesses_that_went_on_are_recognised(story, form):
    story.says(user("do b"), assistant("done"), user(form))
    assert chosen(story).branch == "mid-task"


@pytest.mark.parametrize(
    ("reason", "is_due"),
    [
        ("threshold", True),
        ("overflow", True),
        ("incomplete", True),
        ("idle", False),
        ("manual", False),
        ("tool", False),
    ],
)
@pytest.mark.parametrize("is_after_turn", [True, False])
def test_it_is_due_after_all_that_nobody_asked_for_but_an_idle_sessions(reason, is_due, is_after_turn):
    assert REPLAY.is_due(reason, is_after_turn=is_after_turn) == is_due
