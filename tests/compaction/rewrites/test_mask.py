"""All observations but the newest ten."""

from __future__ import annotations

from compaction.rewrites import MASKED, Mask
from eventstore.records import Rewrite, TextReplacement
from tests.compaction.rewrites.contexts import calls, planned, why_nothing
from tests.support import sentences


def test_all_but_the_newest_ten_are_masked(story):
    one, two, *_ = calls(story, *[100] * 12)
    assert planned(story, Mask()) == {one: MASKED, two: MASKED}


def test_what_the_notice_would_make_longer_stays(story):
    calls(story, 10, *[100] * 10)
    assert planned(story, Mask()) == {}


def test_what_is_masked_is_not_masked_again(story):
    one, *_ = calls(story, *[100] * 11)
    story.add(Rewrite(reason="mask", targets=[TextReplacement(target=one, text=MASKED)]))
    assert planned(story, Mask()) == {}


def test_it_says_why_it_finds_nothing(story):
    calls(story, 5)
    assert sentences.numbers(why_nothing(story, Mask())) == [10]
    assert sentences.numbers(why_nothing(story, Mask(keep_observations=0))) == []
