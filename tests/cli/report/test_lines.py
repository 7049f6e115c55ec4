from __future__ import annotations

import pytest
from msgspec import Raw

from cli.views.page.lines import Line, lines_of
from eventstore.records import Custom, CustomMessage, MessageRecord, Record, SessionInfo
from tests.support.talk import Story, user


def test_a_message_is_called_by_its_role(story: Story) -> None:
    (said,) = story.says(user("Hello,\nyou."))
    assert lines_of([story[said]]) == {1: Line(sign="", name="user", text="Hello, you.")}


def test_a_kind_that_turns_the_session_has_a_sign(story: Story) -> None:
    title = story.add(SessionInfo(name="A title"))
    assert lines_of([story[title]]) == {1: Line(sign="✎", name="session_info", text="A title")}


def test_another_kind_has_none(story: Story) -> None:
    note = story.add(Custom(custom_type="note"))
    assert lines_of([story[note]]) == {1: Line(sign="", name="custom", text="note")}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (CustomMessage(custom_type="compaction_continue", content="Go on."), "Go on."),
        (MessageRecord(message=Raw(b'{"role":"user","content":"[Resuming] it"}')), "[Resuming] it"),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_what_goes_on_after_a_compaction_is_called_so_and_turns_nothing(
    story: Story, said: Record, text: str
) -> None:
    assert lines_of([story[story.add(said)]]) == {1: Line(sign="", name="continuation", text=text)}
