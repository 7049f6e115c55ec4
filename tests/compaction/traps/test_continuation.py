"""Going on: where a document chooses by the wrong messages, or where nobody asked for it."""

from __future__ import annotations

import json

import pytest

from compaction.policy.load import load_preset
from eventstore.records import CustomMessage
from tests.compaction.scripted import Scripted, compactor, long
from tests.support.events import events
from tests.support.talk import assistant, user


@pytest.fixture
def opencode():
    return compactor(Scripted(lambda _: "so far"), load_preset("opencode"))


def went_on(story):
    """The text and the marks of what was appended to go on, None where nothing was."""
    newest = events(story.log, "s")[-1]
    record = json.loads(newest.body)
    return (record["message"]["content"], record["metadata"]) if newest.kind == "message" else None


def test_messages_from_after_the_compaction_would_not_hold_the_request_any_more(story, opencode):
    order = f"rename it {long(9_000)}"
    story.says(assistant(long(9_000)), user(order))
    story.add(CustomMessage(custom_type="x", content=long(100)))
    opencode.compact(story.writer, reason="threshold", continues=True)
    assert went_on(story) == (order, {"compaction_continue": True})
