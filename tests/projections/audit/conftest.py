"""An agent that works in a made-up session, for tests of findings."""

from __future__ import annotations

from itertools import count

import pytest

from eventstore.records import Compaction
from projections.audit.session import audit
from tests.support.talk import assistant, call, result, user


class Agent:
    """Calls tools in a story, and compacts it."""

    def __init__(self, story):
        self.story, self.ids = story, count()

    def says(self, *messages):
        return self.story.says(*messages)[0]

    def does(self, tool, gives="done", *, fails=False, says="", **arguments):
        """The id of the message with the call."""
        call_id = f"c{next(self.ids)}"
        blocks = [says] if says else []
        return self.story.says(
            assistant(*blocks, call(tool, call_id, **arguments)),
            result(gives, tool=tool, call_id=call_id, is_error=fails),
        )[0]

    def goes_on(self):
        self.does("bash", "clean", command="git status")

    def compacts(self, summary="The work goes on.", first_kept=""):
        return self.story.add(Compaction(summary=summary, first_kept_entry_id=first_kept, tokens_before=9))

    def found(self):
        """The findings of the first compaction: kind, weight, and the ids of the events of the trouble."""
        audited = audit(self.story.log, "s")
        return [
            (each.kind, each.weight, [ref.event for ref in each.trouble])
            for each in audited.compactions[0].findings
        ]


@pytest.fixture
def agent(story):
    story.says(user("begin"))
    return Agent(story)
