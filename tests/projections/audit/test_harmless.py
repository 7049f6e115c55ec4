"""Harmless messages behind a compaction: none is trouble, none a rule."""

from __future__ import annotations

import pytest

from eventstore import EventLog
from eventstore.records import Compaction
from projections.audit.session import audit
from projections.mentions.pushback import pushback
from projections.mentions.standing_rules import InstructionKind, find_instructions
from tests.labels.harmless import HARMLESS
from tests.support.talk import Story, assistant, call, result, user

CLASS = "class SessionStore:\n    def __init__(self, path):\n        self.entries = []\n        self.path = path\n"


@pytest.mark.parametrize("message", HARMLESS)
def test_a_harmless_message_is_no_trouble(store: EventLog, message: str) -> None:
    story = Story(store)
    read = {"path": "src/session_store.py"}
    story.says(
        user("begin with the session store"),
        assistant(call("read", "1", **read)),
        result(CLASS, tool="read", call_id="1"),
    )
    story.add(Compaction(summary="The work goes on.", first_kept_entry_id="", tokens_before=9))
    story.says(
        user("go on"),
        assistant("The parser is done."),
        user(message),
        assistant(call("read", "2", **read)),
        result(CLASS, tool="read", call_id="2"),
        assistant("Here it is."),
        user(message),
        assistant("Done."),
    )
    assert audit(store, "s").compactions[0].findings == []


@pytest.mark.parametrize("message", HARMLESS)
def test_a_harmless_message_is_neither_pushback_nor_a_rule(message: str) -> None:
    assert pushback(message) < 1
    assert [each for each in find_instructions(message) if each.kind is InstructionKind.RULE] == []
