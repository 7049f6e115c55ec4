"""Carrying out a compaction: hooks are asked before anything is put down, and not again."""

from __future__ import annotations

import pytest

from compaction.hooks import Hooks, SuppliedSummary
from compaction.maintainer import Maintainer
from eventstore.records import record_of
from projections.context.build import build_context
from tests.compaction.maintainer.maintained import cancels, fails
from tests.compaction.scripted import Scripted, compactor, long, turns
from tests.support.events import events
from tests.support.talk import texts_of, user


@pytest.fixture
def asked() -> list[str]:
    """The names of functions of a hook, each time that one is asked."""
    return []


def maintained(asked, said=None, scribe=None):
    hooks = Hooks(
        name="h",
        before_compaction=lambda _: asked.append("before") or said,
        prompting=lambda _: asked.append("prompting"),
        after_compaction=lambda _: asked.append("after"),
    )
    return Maintainer(
        compactor=compactor(scribe or Scripted(lambda _: "so far"), hooks=[hooks]), now=lambda: 0
    )


def test_each_function_of_a_hook_is_asked_once(story, asked):
    turns(story, 20, 10)
    maintained(asked).after_turn(story.writer)
    assert asked == ["before", "prompting", "after"]


def test_a_summary_that_a_hook_supplies_is_taken_and_nobody_else_is_asked(story, asked):
    turns(story, 20, 10)
    scribe = Scripted()
    maintained(asked, SuppliedSummary(summary="theirs"), scribe).after_turn(story.writer)
    assert (texts_of(build_context(story.log, "s"))[0], asked) == ("theirs", ["before", "after"])
    assert scribe.prompts == []


def test_a_hook_is_not_asked_where_there_is_nothing_to_summarize(story, asked):
    story.says(user(long(60)))
    maintained(asked).after_turn(story.writer)
    assert asked == []


def test_what_is_said_while_a_hook_is_asked_is_kept_behind_the_summary_that_it_supplies(story):
    turns(story, 20, 10)

    def supplies(_plan):
        story.says(user(long(30)))
        return SuppliedSummary(summary="theirs")

    hooks = [Hooks(name="h", before_compaction=supplies)]
    Maintainer(compactor=compactor(hooks=hooks), now=lambda: 0).after_turn(story.writer)
    assert texts_of(build_context(story.log, "s")) == ["theirs", long(10), long(10), long(30)]


def test_a_summary_that_a_hook_supplies_is_recorded_with_the_cut_that_it_was_shown(story):
    turns(story, 20, 10)
    shown = []

    def supplies(plan):
        shown.append(plan.cut.first_kept)
        story.says(user(long(30)))
        return SuppliedSummary(summary="theirs")

    hooks = [Hooks(name="h", before_compaction=supplies)]
    Maintainer(compactor=compactor(hooks=hooks), now=lambda: 0).after_turn(story.writer)
    (made,) = [event for event in events(story.log, "s") if event.kind == "compaction"]
    assert [record_of("compaction", made.body).first_kept_entry_id] == shown


@pytest.mark.parametrize("answer", [lambda _: "so far", lambda _: long(100), fails, cancels])
def test_all_that_was_appended_is_told_whatever_comes_of_it(story, answer):
    turns(story, 20, 10)
    before = len(events(story.log, "s"))
    recommendation = Maintainer(compactor=compactor(Scripted(answer)), now=lambda: 0).after_turn(story.writer)
    assert recommendation.events == [event.id for event in events(story.log, "s")][before:]
