"""Render the texts that stand in for messages before a model."""

from __future__ import annotations

import json

import pytest

from eventstore.harnesses import format_of
from projections.placements import substitute_text
from tests.support.talk import assistant, result, shell, user


def told(message):
    return substitute_text(format_of("pi/3").message(json.dumps(message).encode()))


def test_pis_summaries_are_in_pis_words():
    compaction, branch = (
        told({"role": f"{kind}Summary", "summary": "all of it"}) for kind in ("compaction", "branch")
    )
    assert compaction == (
        "The conversation history before this point was compacted into the following summary:\n\n"
        "<summary>\nall of it\n</summary>"
    )
    assert branch == (
        "The following is a summary of a branch that this conversation came back from:\n\n"
        "<summary>\nall of it</summary>"
    )


def test_a_summary_stands_as_its_record_says():
    placed = {"role": "compactionSummary", "summary": "all of it", "placement": "compacted"}
    assert told(placed) == "[Compacted]\n\nall of it"


@pytest.mark.parametrize("role", ["user", "assistant", "toolResult", "custom"])
def test_a_message_that_is_no_summary_stands_for_itself_whatever_its_fields_say(role):
    assert told({"role": role, "content": "hi", "placement": "compacted"}) is None


def test_a_command_is_told_with_its_output():
    assert told(shell("make", "done")) == "Ran `make`\n```\ndone\n```"


def test_a_command_that_was_kept_from_the_model_is_nothing():
    assert told(shell("pwd", "/", excludeFromContext=True)) == ""


@pytest.mark.parametrize(
    "message", [user("hi"), assistant("hi"), result("hi"), {"role": "custom", "content": "hi"}]
)
def test_other_messages_stand_for_themselves(message):
    assert told(message) is None
