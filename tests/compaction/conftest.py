"""A session to compact, and a log in which others append in the meantime."""

from __future__ import annotations

import pytest

from eventstore.memory import MemoryLog
from eventstore.records import CustomMessage
from eventstore.writing import SessionWriter
from tests.support.events import NOW
from tests.support.talk import Story


@pytest.fixture
def store() -> MemoryLog:
    """A log in memory: no fold or producer knows what stores a log."""
    return MemoryLog(clock=lambda: NOW)


@pytest.fixture
def story(store) -> Story:
    """A session that is being written."""
    return Story(store)


@pytest.fixture
def interrupt():
    """From a session to the same, in which somebody else appends between a producer's reading and its writing."""

    def interrupted(story: Story) -> Story:
        writer = story.writer
        new_id, appended = writer._new_id, []

        def new_id_after_somebody_else() -> str:
            if not appended:
                appended.append(True)
                others = SessionWriter(story.log, story.session, new_id=lambda: "theirs")
                others.append(CustomMessage(custom_type="x", content="me first"))
            return new_id()

        writer._new_id = new_id_after_somebody_else
        return story

    return interrupted
