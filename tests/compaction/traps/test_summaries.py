"""Summaries: where a document's check, prompt or record would pass for more than it is."""

from __future__ import annotations

from compaction.hooks import Hooks, SuppliedSummary
from eventstore.records import record_of
from tests.compaction.scripted import Scripted, compactor, turns
from tests.support.events import events


def newest(story, kind="compaction"):
    found = [event for event in events(story.log, story.session) if event.kind == kind]
    return record_of(kind, found[-1].body)


def test_headings_looked_for_as_parts_of_lines_would_be_found_in_deeper_ones(story):
    turns(story, 20, 10)
    scribe = Scripted(lambda prompt: "\n".join(f"#### {each}" for each in prompt.template.sections))
    done = compactor(scribe).compact(story.writer)
    assert (done.missing, len(scribe.prompts)) == (list(scribe.prompts[0].template.sections), 2)


def test_a_partial_summary_that_was_thrown_away_would_leave_none(story):
    turns(story, 20, 10)
    compactor(Scripted(lambda _: "## Goal\nMend it.")).compact(story.writer)
    made = newest(story)
    assert made.summary == "## Goal\nMend it."
    assert "Goal" not in made.request["missingSections"]
    assert "Progress" in made.request["missingSections"]


def test_a_summary_of_an_extension_that_passed_for_ones_own_would_be_believed_about_files(story):
    turns(story, 20, 10)
    hook = Hooks(name="h", before_compaction=lambda _: SuppliedSummary(summary="theirs"))
    compactor(hooks=[hook]).compact(story.writer)
    assert newest(story).from_extension
