"""Leave results alone that a warm prompt cache holds."""

from __future__ import annotations

import pytest

from compaction.sized_context import sized, spares_cache
from projections.context.build import build_context
from tests.compaction.rewrites.contexts import TOKENS, calls, long
from tests.support.talk import user


def spared(story, behind, **how):
    """Return True if a result with so many tokens behind it may be rewritten."""
    calls(story, 100)
    story.says(user(long(behind)))
    context = sized("s", build_context(story.log, "s").parts, TOKENS, **how)
    (result,) = context.results
    assert result.behind == behind
    return spares_cache(context, result)


@pytest.mark.parametrize(("behind", "may"), [(8_000, True), (8_001, False)])
def test_a_warm_cache_is_worth_as_much_as_8000_tokens(story, behind, may):
    assert spared(story, behind) is may


@pytest.mark.parametrize(("idle", "may"), [(300_000, False), (300_001, True)])
def test_a_cache_is_cold_after_more_than_five_minutes(story, idle, may):
    assert spared(story, 8_001, idle=idle) is may


def test_a_compaction_loses_the_cache_in_any_case(story):
    assert spared(story, 8_001, is_compacting=True)
