"""Show rewrites in place of messages: of single ones, and one text for several."""

from __future__ import annotations

import json

import pytest

from eventstore.records import TextReplacement
from projections.context.overlay import NO_REWRITES, Rewrites
from projections.rules import rules_named

PI = rules_named("pi")


def shown(target, text, block=None):
    return TextReplacement(target=target, text=text, block=block)


def span(first, last, text="several"):
    return TextReplacement(target=first, text=text, through=last)


def visible(ids, *targets):
    """Return the visible ids, each a letter, with the text that replaces it."""
    found = Rewrites(targets).visible(ids, str)
    return [(item, stands and stands.replacement.text) for item, stands in found]


def test_without_rewrites_all_is_visible():
    assert list(NO_REWRITES.visible("ab", str)) == [("a", None), ("b", None)]
    assert NO_REWRITES.changes == {}


def test_changes_of_a_message_are_in_the_order_in_which_they_were_made():
    made = [shown("a", "1"), shown("b", "2"), shown("a", "3", 0)]
    assert Rewrites(made).changes == {"a": [made[0], made[2]], "b": [made[1]]}


def test_of_what_a_span_stands_for_its_target_alone_is_visible():
    assert visible("abcd", span("b", "c")) == [("a", None), ("b", "several"), ("d", None)]


def test_a_span_may_stand_for_one_message():
    assert visible("ab", span("a", "a")) == [("a", "several"), ("b", None)]


@pytest.mark.parametrize("end", ["a", "gone"])
def test_a_span_that_does_not_end_at_its_target_or_behind_it_is_without_effect(end):
    assert visible("abc", span("b", end)) == [("a", None), ("b", None), ("c", None)]


def test_a_span_that_begins_inside_another_is_without_effect():
    assert visible("abcd", span("b", "d", "inner"), span("a", "c", "outer")) == [("a", "outer"), ("d", None)]


def test_of_spans_with_the_same_target_the_newest_counts():
    assert visible("abc", span("a", "c", "older"), span("a", "b", "newer")) == [("a", "newer"), ("c", None)]


def test_what_comes_after_a_span_changes_its_text_and_what_came_before_does_not():
    rewrites = Rewrites([shown("a", "before"), span("a", "b"), shown("a", "after")])
    ((_, stands),) = rewrites.visible("ab", str)
    assert json.loads(stands.messages(PI, 5)[0]) == {"role": "user", "content": "after", "timestamp": 5}


def test_the_text_of_a_span_that_nothing_changes_is_its_own():
    ((_, stands),) = Rewrites([shown("a", "before"), span("a", "b")]).visible("ab", str)
    assert json.loads(stands.messages(PI, None)[0]) == {
        "role": "user",
        "content": "several",
        "timestamp": None,
    }
