"""A new session that gets a document of the one before."""

from __future__ import annotations

import pytest

from compaction.handoff import hand_off
from compaction.summarizers import SummarizerError
from compaction.summarizers.asking import Asker, AskingError
from eventstore.errors import BadInputError, VersionConflictError
from eventstore.records import record_of
from eventstore.writing import SessionWriter
from projections.context import build_context, context_json
from projections.settings import settings
from tests.compaction.scripted import Scripted
from tests.support.events import events
from tests.support.talk import assistant, texts_of, user


@pytest.fixture
def worked(story):
    story.says(user("build it"), assistant("half done"))
    return story


def handed(story, scribe=None, new="next", **options):
    asker = Asker(summarizers=[scribe or Scripted()], wait=lambda _: None)
    return hand_off(story.writer, SessionWriter(story.log, new), asker, **options)


def test_the_new_session_begins_with_the_document(worked):
    done = handed(worked, Scripted(lambda _: "the document"))
    assert texts_of(build_context(worked.log, "next")) == [done.document] == ["the document"]


def test_the_document_is_a_message_that_people_see(worked):
    done = handed(worked)
    record = record_of("custom_message", events(worked.log, "next")[-1].body)
    assert (record.custom_type, record.display, record.content) == ("handoff", True, done.document)


def test_the_new_session_says_where_it_comes_from(worked):
    handed(worked)
    link = record_of("link", events(worked.log, "next")[0].body)
    assert (link.relation, link.session, link.event) == ("parent", "s", "e2")


def test_the_new_session_has_the_model_of_the_old_one(worked):
    handed(worked)
    assert str(settings(worked.log, "next").model) == "p/m"


def test_the_session_itself_stays_as_it_is(worked):
    before = context_json(worked.log, "s"), len(events(worked.log, "s"))
    handed(worked)
    assert (context_json(worked.log, "s"), len(events(worked.log, "s"))) == before


def test_the_model_is_sent_the_real_messages_and_the_template_behind_them(worked):
    scribe = Scripted()
    handed(worked, scribe, system="You are pi.")
    (prompt,) = scribe.prompts
    assert ([part.id for part in prompt.prefix], prompt.system) == (["e1", "e2"], "You are pi.")
    assert prompt.text == prompt.template.text


def test_a_failure_begins_no_session_and_is_recorded(worked):
    def fails(_prompt):
        raise SummarizerError("scripted", "no such model")

    with pytest.raises(AskingError):
        handed(worked, Scripted(fails))
    with worked.log.snapshot() as snapshot:
        assert [head.name for head in snapshot.heads()] == ["s"]
    assert events(worked.log, "s")[-1].kind == "attempt"


def test_a_session_that_is_there_is_not_written_over(worked):
    handed(worked)
    with pytest.raises(VersionConflictError):
        handed(worked)


def test_a_session_without_messages_has_nothing_to_hand_off(story):
    story.add(record_of("reset_boundary", b'{"type":"reset_boundary"}'))
    with pytest.raises(BadInputError, match="no messages to hand off"):
        handed(story)
