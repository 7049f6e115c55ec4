"""Notes that a session keeps on itself are a summary that already exists."""

from __future__ import annotations

from eventstore.records import Compaction, Custom
from projections.context.build import build_context
from tests.compaction.scripted import Scripted, compactor, policy, turns
from tests.support.talk import texts_of

MEMORY = policy(memory="session-memory")


def noted(text, kind="session-memory"):
    return Custom(custom_type=kind, data={"text": text})


def test_notes_stand_for_a_summary_and_no_model_is_asked(story):
    story.add(noted("older notes"), noted("the notes"))
    turns(story, 20, 10)
    scribe = Scripted()
    compactor(scribe, MEMORY).compact(story.writer)
    assert (texts_of(build_context(story.log, "s"))[0], scribe.prompts) == ("the notes", [])


def test_notes_from_before_the_last_compaction_are_old(story):
    story.add(noted("old notes"))
    turns(story, 20)
    story.add(Compaction(summary="so far", first_kept_entry_id="e3", tokens_before=1))
    turns(story, 20, 10)
    compactor(Scripted(lambda _: "newer"), MEMORY).compact(story.writer)
    assert texts_of(build_context(story.log, "s"))[0] == "newer"


def test_entries_of_another_type_are_no_notes(story):
    story.add(noted("state", kind="todo"))
    turns(story, 20, 10)
    compactor(Scripted(lambda _: "made"), MEMORY).compact(story.writer)
    assert texts_of(build_context(story.log, "s"))[0] == "made"


def test_a_policy_without_a_memory_looks_for_no_notes(story):
    story.add(noted("the notes"))
    turns(story, 20, 10)
    compactor(Scripted(lambda _: "made")).compact(story.writer)
    assert texts_of(build_context(story.log, "s"))[0] == "made"
