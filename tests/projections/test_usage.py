"""Read measured token counts from a provider's usage."""

from __future__ import annotations

import json

import pytest

from eventstore.harnesses import format_of
from eventstore.records import LeafMoved
from eventstore.views import Usage
from projections.context.cursor import path, resolve_cursor
from projections.usage import answers, billed_usage, measured_usage
from tests.support.talk import assistant, user


def view(message):
    return format_of("pi/3").message(json.dumps(message).encode())


def usage(message):
    return measured_usage(view(message))


def test_the_usage_of_a_call_that_went_through_is_measured():
    assert usage(assistant("hello", tokens=100)) == Usage(input=93, output=7, total=100)


def test_a_total_that_is_missing_is_the_sum_of_its_parts():
    parts = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}
    assert usage(assistant("hello", usage=parts)).total == 10


def test_a_total_of_zero_is_the_sum_of_its_parts():
    assert usage(assistant("hello", usage={"input": 1, "output": 2, "totalTokens": 0})).total == 3


def test_what_was_sent_is_input_and_both_sides_of_the_cache():
    parts = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}
    assert usage(assistant("hello", usage=parts)).prompt == 8


@pytest.mark.parametrize("stop", ["aborted", "error"])
def test_a_call_that_failed_or_was_cut_off_measured_nothing(stop):
    assert usage(assistant("hello", tokens=100, stop=stop)) is None


@pytest.mark.parametrize("stop", ["stop", "length", "toolUse"])
def test_a_call_that_ended_otherwise_measured(stop):
    assert usage(assistant("hello", tokens=100, stop=stop)).total == 100


@pytest.mark.parametrize("figures", [None, {}, {"input": 0, "output": 0}, "much", {"totalTokens": -5}])
def test_usage_that_says_nothing_measured_nothing(figures):
    assert usage(assistant("hello", usage=figures)) is None


def test_a_message_of_another_role_measured_nothing():
    assert usage({**user("hello"), "usage": {"input": 5}}) is None


@pytest.mark.parametrize("stop", ["aborted", "error", "stop"])
def test_a_call_was_paid_for_however_it_ended(stop):
    assert billed_usage(view(assistant("hello", tokens=100, stop=stop))) == Usage(
        input=93, output=7, total=100
    )


@pytest.mark.parametrize("figures", [None, {}, {"input": 0, "output": 0}])
def test_a_call_that_used_nothing_was_not_paid_for(figures):
    assert billed_usage(view(assistant("hello", usage=figures))) is None


def test_a_message_of_another_role_was_not_paid_for():
    assert billed_usage(view({**user("hello"), "usage": {"input": 5}})) is None


def test_the_assistants_messages_are_those_of_every_branch_once(story):
    story.says(user("go"), assistant("one"), assistant("two"))
    story.add(LeafMoved(from_id="e3"), parent="e2")
    story.says(assistant("three"))
    with story.log.snapshot() as snapshot:
        found = list(answers(snapshot, resolve_cursor(snapshot, "s", as_of=5)))
    assert [(event.id, message.text, sent_at) for event, message, sent_at, _ in found] == [
        ("e2", "one", 1),
        ("e3", "two", 2),
        ("e5", "three", 4),
    ]


@pytest.mark.parametrize("first", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("leaf", ["root", "e1", "e3", "e6"])
@pytest.mark.parametrize("as_of", [4, 6])
def test_answers_that_the_caller_has_read_are_those_of_the_store(story, first, leaf, as_of):
    story.says(user("go"), assistant("one"), assistant("two"))
    story.add(LeafMoved(from_id="e3"), parent="e2")
    story.says(assistant("three"), assistant("four"))
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, "s", as_of=as_of)
        known = snapshot.locate("s", leaf) if leaf != "root" else 0
        read = {entry.seq: entry for entry in path(snapshot, cursor.at_leaf(min(known, as_of)))}
        assert list(answers(snapshot, cursor, first=first, read=read)) == list(
            answers(snapshot, cursor, first=first)
        )
