"""Requests that ask a provider to read a live prefix from its cache."""

from __future__ import annotations

import pytest

from compaction.summarizers.anthropic import may_be_cached
from tests.compaction.summarizers.prompts import MODEL, live, prompt
from tests.support.talk import assistant, thinking, user

TOOLS = b'[{"name":"read","input_schema":{"type":"object"}}]'
NOW = 10_000_000
MINUTE = 60_000


def said(*blocks, model=MODEL, minutes_ago=1.0):
    return assistant(*(blocks or ["Yes."]), model=model, timestamp=NOW - minutes_ago * MINUTE)


def is_cached(*messages, tools=TOOLS, **options):
    return may_be_cached(live(*messages, tools=tools, **options), model=MODEL, now=NOW)


def test_what_the_same_model_was_sent_a_minute_ago_may_be_cached():
    assert is_cached(user("build it"), said())


@pytest.mark.parametrize(("minutes", "expected"), [(0, True), (4.9, True), (5, False), (60, False)])
def test_a_cache_lives_for_five_minutes(minutes, expected):
    assert is_cached(said(minutes_ago=minutes)) == expected


def test_the_newest_answer_of_the_prefix_says_when_it_was_sent():
    assert not is_cached(said(minutes_ago=1), said(minutes_ago=9))


def test_another_models_cache_is_not_read():
    assert not is_cached(said(model="another"))


def test_without_the_harnesss_tools_it_is_another_request():
    assert not is_cached(said(), tools=b"")


def test_another_choice_of_tools_is_another_request():
    assert not is_cached(said(), forbids_tools=True)


def test_an_answer_with_thoughts_was_asked_for_otherwise():
    assert not is_cached(said(thinking("hm"), "Yes."))


def test_nothing_is_known_of_messages_without_a_time():
    assert not is_cached(assistant("Yes.", model=MODEL))


def test_a_prefix_without_an_answer_was_never_sent():
    assert not is_cached(user("build it"))


def test_a_serialized_prompt_is_never_cached():
    assert not may_be_cached(prompt("short", said()), model=MODEL, now=NOW)
