from __future__ import annotations

import pytest

from cli.views.page.material import Outcome, Standing, outcomes
from compaction import move_to, record_compaction, record_rewrite
from eventstore import EventLog
from eventstore.records import ModelChange, Shown, Undone
from tests.cli.report.reading import material_of
from tests.support.talk import PiSession, Story, assistant, user


@pytest.fixture
def story(store: EventLog) -> Story:
    told = Story(store)
    told.says(user("one"), assistant("two"), user("three"))
    return told


def fates(log: EventLog, session: str = "s") -> dict[int, Outcome]:
    return outcomes(material_of(log, session))


def test_without_replacements_every_message_is_in_the_context(story: Story) -> None:
    assert set(fates(story.log).values()) == {Outcome(Standing.KEPT)}


def test_a_message_that_was_summarized_tells_by_which_event(story: Story) -> None:
    record_compaction(story.writer, summary="s", first_kept="e3")
    assert fates(story.log) == {
        1: Outcome(Standing.SUMMARIZED, 4),
        2: Outcome(Standing.SUMMARIZED, 4),
        3: Outcome(Standing.KEPT),
        4: Outcome(Standing.KEPT),
    }


def test_of_two_compactions_the_one_counts_that_took_the_message_out(story: Story) -> None:
    record_compaction(story.writer, summary="s", first_kept="e3")
    story.says(user("five"))
    record_compaction(story.writer, summary="t", first_kept="e5")
    found = fates(story.log)
    assert (found[1].by, found[3].by, found[4].by) == (4, 6, 6)


def test_a_message_that_no_summary_covers_is_gone(store: EventLog, tmp_path) -> None:
    session = PiSession()
    for number in range(1, 5):
        session.says(f"u{number}", user(f"message {number}"))
    session.compacts("c1", "u3", details={"readFiles": [], "modifiedFiles": []})
    session.says("u5", user("one more"))
    session.compacts("c2", "u5")
    assert fates(store, session.store_in(store, tmp_path))[3] == Outcome(Standing.GONE, 7)


def test_a_message_that_is_shown_otherwise_tells_by_which_event(story: Story) -> None:
    record_rewrite(story.writer, targets=[Shown(target="e2", shown="…")], reason="prune")
    assert fates(story.log)[2] == Outcome(Standing.REWRITTEN, 4)


def test_what_was_undone_took_nothing_out(story: Story) -> None:
    compacted = record_compaction(story.writer, summary="s", first_kept="e3")
    story.add(Undone(target_id=compacted))
    assert fates(story.log)[1] == Outcome(Standing.KEPT)


def test_messages_of_another_branch_stand_aside(story: Story) -> None:
    move_to(story.writer, "e1")
    story.says(user("another way"))
    found = fates(story.log)
    assert (found[1], found[2], found[3]) == (
        Outcome(Standing.KEPT),
        Outcome(Standing.ASIDE),
        Outcome(Standing.ASIDE),
    )


def test_what_no_model_is_sent_is_silent(story: Story) -> None:
    story.add(ModelChange(provider="p", model_id="m"))
    assert fates(story.log)[4] == Outcome(Standing.SILENT)
