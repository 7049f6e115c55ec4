"""Messages are read one after the other, until somebody calls it off."""

from __future__ import annotations

import pytest
from msgspec import Raw

from compaction.summarizers import CancelledError
from compaction.summarizers.facts import read_messages
from eventstore.records import MessageRecord
from projections.context.build import build_context
from projections.mentions.message_facts import SessionFacts
from tests.compaction.summarizers.prompts import never
from tests.support.contexts import context_of
from tests.support.talk import assistant, call, result, user

TALK = [
    user("read src/a.ts"),
    assistant(call("bash", "c1", command="cat src/a.ts")),
    result("export fooBar\nError: it broke", call_id="c1", is_error=True),
    user("read src/a.ts"),
]


def test_messages_come_in_order_with_what_they_hold():
    parts = context_of(*TALK).parts
    session_facts = SessionFacts()
    assert [held for _, held in read_messages(parts, never)] == [
        session_facts.of_part(part) for part in parts
    ]
    assert [view.role for view, _ in read_messages(parts, never)] == [
        "user",
        "assistant",
        "toolResult",
        "user",
    ]


def test_it_is_asked_before_each_message_whether_to_go_on():
    asked = iter([False, False, True])
    reading = read_messages(context_of(*TALK).parts, lambda: next(asked))
    assert [next(reading).view.role for _ in range(2)] == ["user", "assistant"]
    with pytest.raises(CancelledError):
        next(reading)


def test_nobody_is_asked_where_there_is_no_message():
    assert list(read_messages((), lambda: True)) == []


def test_a_word_to_go_on_after_a_compaction_is_passed_over(story):
    word = MessageRecord(
        message=Raw(b'{"role":"user","content":"continue"}'), metadata={"compaction_continue": True}
    )
    story.says(user("read src/a.ts"))
    story.writer.append(word)
    parts = build_context(story.log, "s").parts
    assert [view.text for view, _ in read_messages(parts, never)] == ["read src/a.ts"]
