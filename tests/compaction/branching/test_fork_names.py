"""Names of forks: which there can be, and what is refused."""

from __future__ import annotations

import pytest

from eventstore.errors import BadInputError, NotFoundError
from eventstore.records import (
    Decision,
)
from tests.compaction.forks import forked
from tests.support.events import events, message
from tests.support.talk import user


class TestNames:
    def test_without_a_name_it_is_a_new_id(self, story):
        story.says(user("a"))
        assert forked(story.log, name=None) == "new-1"

    def test_an_id_that_a_session_has_is_passed_over(self, story):
        story.says(user("a"))
        ids = iter(["s", "t", "link"])
        assert forked(story.log, name=None, new_id=lambda: next(ids)) == "t"

    def test_a_name_that_is_taken_is_refused_with_nothing_stored(self, story):
        story.says(user("a"))
        forked(story.log)
        before = events(story.log, "f")
        story.says(user("b"))
        with pytest.raises(BadInputError) as refused:
            forked(story.log)
        assert refused.value.source == "session 'f'"
        assert events(story.log, "f") == before

    def test_a_name_that_somebody_takes_meanwhile_is_refused_with_nothing_stored(self, story):
        story.says(user("a"))

        def new_id():
            story.log.append("f", [message("theirs")])
            return "link"

        with pytest.raises(BadInputError) as refused:
            forked(story.log, new_id=new_id)
        assert refused.value.source == "session 'f'"
        assert [event.id for event in events(story.log, "f")] == ["theirs"]

    @pytest.mark.parametrize("name", ["", "x" * 1000])
    def test_a_name_that_no_session_can_have_is_refused(self, story, name):
        story.says(user("a"))
        with pytest.raises(BadInputError):
            forked(story.log, name=name)

    @pytest.mark.parametrize(("session", "leaf"), [("ghost", None), ("s", "ghost"), ("s", "e2")])
    def test_what_is_not_there_is_refused_with_nothing_stored(self, story, session, leaf):
        story.says(user("a"))
        story.add(Decision(outcome="skip", reason="small"))
        with pytest.raises(NotFoundError):
            forked(story.log, session, leaf=leaf)
        with story.log.snapshot() as snapshot:
            assert [head.name for head in snapshot.heads()] == ["s"]
