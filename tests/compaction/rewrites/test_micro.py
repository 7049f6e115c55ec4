"""All but the newest three results, if they are over 120 characters."""

from __future__ import annotations

import pytest

from compaction.rewrites import COMPACTED, Micro
from compaction.rewriting import record_rewrites
from projections.tokens import counter
from tests.compaction.rewrites.contexts import calls, planned, why_nothing
from tests.support import sentences


def test_all_but_the_newest_three_are_compacted(story):
    one, two, *_ = calls(story, 100, 100, 100, 100, 100)
    assert planned(story, Micro()) == {one: COMPACTED, two: COMPACTED}


def test_results_of_120_characters_stay(story):
    _, longer, *_ = calls(story, 30, 31, 1, 1, 1)
    assert list(planned(story, Micro())) == [longer]


@pytest.mark.parametrize("shortest", [120, 0])
def test_compacted_results_are_not_compacted_again(story, shortest):
    calls(story, 100, 100, 100, 100)
    micro = Micro(shortest=shortest)
    assert len(record_rewrites(story.writer, [micro], tokens=counter("utf16/4")).events) == 1
    assert planned(story, micro) == {}


def test_by_time_nothing_happens_until_the_last_message_is_old_enough(story):
    calls(story, 100, 100, 100, 100)
    assert planned(story, Micro(after_minutes=60), idle=3_600_000) == {}
    assert len(planned(story, Micro(after_minutes=60), idle=3_600_001)) == 1


def test_it_says_why_it_finds_nothing(story):
    calls(story, 30)
    assert sentences.numbers(why_nothing(story, Micro())) == [3]
    assert sentences.numbers(why_nothing(story, Micro(keep=0))) == [120]
    early = why_nothing(story, Micro(keep=0, after_minutes=60), idle=60_000)
    assert sentences.numbers(early) == [60]
