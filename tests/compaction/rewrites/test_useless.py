"""Results that their tool flagged as useless."""

from __future__ import annotations

from compaction.rewrites import ELIDED, Useless
from compaction.sized_context import WARM
from tests.compaction.rewrites.contexts import calls, long, planned, why_nothing
from tests.support.talk import assistant, call, result


def flagged(story, tokens, *, tool="bash", is_error=False, useless=True):
    said = {**result(long(tokens), tool=tool, is_error=is_error), "useless": useless}
    return story.says(assistant(call(tool)), said)[1]


def test_a_flagged_result_is_elided(story):
    target = flagged(story, 100)
    assert planned(story, Useless()) == {target: ELIDED}


def test_a_flagged_error_stays(story):
    flagged(story, 100, is_error=True)
    assert planned(story, Useless()) == {}


def test_a_result_that_is_not_flagged_stays(story):
    flagged(story, 100, useless=False)
    assert planned(story, Useless()) == {}


def test_a_result_no_longer_than_the_notice_stays(story):
    flagged(story, 7)
    assert planned(story, Useless()) == {}


def test_skills_stay(story):
    flagged(story, 100, tool="skill")
    assert planned(story, Useless()) == {}


def test_a_warm_prompt_cache_is_spared(story):
    flagged(story, 100)
    calls(story, 8_001)
    assert planned(story, Useless()) == {}


def test_it_says_why_it_finds_nothing(story):
    calls(story, 100)
    assert why_nothing(story, Useless()) != WARM
    flagged(story, 100)
    calls(story, 9_000)
    assert why_nothing(story, Useless()) == WARM
