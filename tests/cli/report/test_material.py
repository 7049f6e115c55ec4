from __future__ import annotations

import pytest

from compaction import move_to, record_compaction
from eventstore import EventLog
from eventstore.errors import NotFoundError
from eventstore.records import Decision
from projections.context.parts import Fate
from tests.cli.report.reading import material_of
from tests.support.talk import Story, assistant, user


@pytest.fixture
def story(store: EventLog) -> Story:
    told = Story(store)
    told.says(user("x" * 40), assistant("y" * 20, tokens=50), user("z"))
    return told


def test_all_events_are_read_and_those_of_the_path_told_from_the_others(story: Story) -> None:
    move_to(story.writer, "e1")
    story.add(Decision(outcome="skip", reason="small"))
    found = material_of(story.log)
    assert [event.seq for event in found.events] == [1, 2, 3, 4, 5]
    assert found.path == {1, 4}


def test_as_of_an_event_later_ones_have_not_happened(story: Story) -> None:
    record_compaction(story.writer, summary="s", first_kept="e3")
    found = material_of(story.log, as_of=2)
    assert (len(found.events), found.exchanges, found.view.audit.compactions) == (2, {}, [])


def test_at_another_leaf_the_context_there_counts(story: Story) -> None:
    found = material_of(story.log, leaf="e2")
    assert found.fates == {1: Fate.KEPT, 2: Fate.KEPT}
    assert found.timeline.leaf == "e2"


def test_tokens_are_those_of_every_message(story: Story) -> None:
    assert material_of(story.log).tokens == {1: 10, 2: 5, 3: 1}


def test_calls_are_the_messages_that_a_provider_counted(story: Story) -> None:
    assert [call.seq for call in material_of(story.log).calls] == [2]


def test_every_replacement_of_the_audit_has_its_exchange(story: Story) -> None:
    record_compaction(story.writer, summary="s", first_kept="e3")
    found = material_of(story.log)
    assert list(found.exchanges) == [each.seq for each in found.view.audit.compactions]


def test_a_session_that_is_not_there_is_an_error(store: EventLog) -> None:
    with pytest.raises(NotFoundError):
        material_of(store, "nope")
