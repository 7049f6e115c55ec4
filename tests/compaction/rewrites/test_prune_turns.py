"""opencode's prune: the newest two turns are left alone, the first 40,000 tokens met are safe."""

from __future__ import annotations

from compaction.rewrites import CLEARED, PruneTurns
from eventstore.records import Compaction, Rewrite, TextReplacement
from tests.compaction.rewrites.contexts import calls, long, planned, why_nothing
from tests.support import sentences
from tests.support.talk import user


def two_turns(story):
    story.says(user("one"), user("two"))


def test_results_behind_the_first_40_000_of_older_turns_are_cleared(story):
    old, *_ = calls(story, 20_001, 30_000, 10_000)
    two_turns(story)
    assert planned(story, PruneTurns()) == {old: CLEARED}


def test_the_newest_two_turns_are_left_alone(story):
    story.says(user("one"))
    calls(story, 90_000, 90_000)
    story.says(user("two"))
    calls(story, 90_000)
    assert planned(story, PruneTurns()) == {}


def test_a_result_that_crosses_the_first_40_000_is_cleared(story):
    (old,) = calls(story, 40_001)
    two_turns(story)
    assert list(planned(story, PruneTurns())) == [old]


def test_exactly_20_000_are_not_enough(story):
    calls(story, 20_000, 40_000)
    two_turns(story)
    assert planned(story, PruneTurns()) == {}


def test_a_result_that_was_cleared_before_ends_the_walk(story):
    _, cleared, *_ = calls(story, 90_000, 10_000, 40_000)
    two_turns(story)
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target=cleared, text=CLEARED)]))
    assert planned(story, PruneTurns()) == {}


def test_a_summary_ends_the_walk(story):
    (first, *_) = calls(story, 90_000, 40_000)
    story.add(Compaction(summary=long(1), first_kept_entry_id=first, tokens_before=1))
    two_turns(story)
    assert list(planned(story, PruneTurns())) == [first]


def test_skills_are_protected_and_do_not_count(story):
    calls(story, 90_000, tool="skill")
    calls(story, 40_000)
    two_turns(story)
    assert planned(story, PruneTurns()) == {}


def test_it_says_why_it_finds_nothing(story):
    calls(story, 20_000)
    two_turns(story)
    assert sentences.numbers(why_nothing(story, PruneTurns())) == [40_000]
    assert sentences.numbers(why_nothing(story, PruneTurns(protect=0))) == [20_000, 20_000]
