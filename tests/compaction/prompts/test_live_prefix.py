"""The real messages and the template behind them, as the harness itself would send them."""

from __future__ import annotations

from compaction.prompts import LIVE_PREFIX
from eventstore.node import PromptView
from projections.tokens import counter
from tests.compaction.prompts.ingredients import HARNESS, PARTS, SHOWN, ingredients


def test_the_real_messages_stand_behind_the_harnesss_system_prompt_and_tools():
    prompt = LIVE_PREFIX.prompt(ingredients())
    assert (prompt.system, prompt.tools) == (HARNESS.system, HARNESS.tools)
    assert (prompt.prefix, prompt.text) == (tuple(PARTS), "Sum up.")


def test_where_the_harness_has_no_system_prompt_refolds_own_is_sent():
    assert LIVE_PREFIX.prompt(ingredients(harness=PromptView())).system == "Ours."


def test_a_summary_that_the_context_shows_is_a_message_and_not_told_again():
    prompt = LIVE_PREFIX.prompt(ingredients(previous="before", shown=SHOWN))
    assert (prompt.prefix, prompt.text, prompt.previous) == ((SHOWN, *PARTS), "Sum up.", "before")


def test_a_template_that_brings_it_up_to_date_has_it_told_all_the_same():
    prompt = LIVE_PREFIX.prompt(ingredients(previous="before", shown=SHOWN, updates=True))
    assert prompt.prefix == (SHOWN, *PARTS)
    assert "<previous-summary>\nbefore\n</previous-summary>" in prompt.text


def test_a_summary_that_the_context_does_not_show_is_told():
    prompt = LIVE_PREFIX.prompt(ingredients(previous="before"))
    assert prompt.prefix == tuple(PARTS)
    assert "<previous-summary>\nbefore\n</previous-summary>" in prompt.text


def test_messages_are_as_large_as_in_their_context():
    tokens = counter("utf16/4")
    assert LIVE_PREFIX.sizes(PARTS, tokens) == tokens.count(PARTS)


def test_what_the_harness_sends_is_looked_for():
    assert LIVE_PREFIX.follows_harness
