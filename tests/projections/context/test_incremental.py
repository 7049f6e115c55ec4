"""Contexts made of the ones above them are those that are folded by themselves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore.memory import MemoryLog
from eventstore.records import Rewrite, TextReplacement
from projections.context.build import build_context, context_at
from projections.context.cursor import path, resolve_cursor
from projections.context.incremental import IncrementalContexts
from tests.support.events import NOW
from tests.support.examples import examples
from tests.support.native import native_events
from tests.support.talk import texts_of, user

bounded = settings(max_examples=examples(60))


@bounded
@given(appended=native_events(), data=st.data())
def test_each_context_asked_for_in_order_is_the_one_that_is_there(appended, data):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, "s")
        entries = path(snapshot, cursor)
        along = IncrementalContexts(snapshot, cursor, entries)
        for entry in entries:
            if data.draw(st.booleans()):
                assert along.context_at(entry.seq) == context_at(snapshot, cursor.at_leaf(entry.seq))


def test_what_lies_behind_or_elsewhere_is_told_as_well(story):
    one, two = story.says(user("one"), user("two"))
    story.says(user("three"))
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, "s", leaf=two)
        along = IncrementalContexts(snapshot, cursor, path(snapshot, cursor))
        assert texts_of(along.context_at(2)) == ["one", "two"]
        assert texts_of(along.context_at(1)) == ["one"]
        assert texts_of(along.context_at(3)) == ["one", "two", "three"]
        assert along.context_at(0).parts == ()
    assert one == "e1"


def test_a_rewrite_may_name_what_comes_behind_it(story):
    story.says(user("one"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text="short")]))
    story.says(user("three"), user("four"))
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, "s")
        along = IncrementalContexts(snapshot, cursor, path(snapshot, cursor))
        assert [along.context_at(seq) for seq in (1, 2, 3, 4)] == [
            build_context(snapshot, "s", leaf=f"e{n}") for n in (1, 2, 3, 4)
        ]
        assert texts_of(along.context_at(4)) == ["one", "short", "four"]


def test_contexts_that_differ_in_one_message_share_the_others(story):
    story.says(user("one"), user("two"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="short")]))
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, "s")
        along = IncrementalContexts(snapshot, cursor, path(snapshot, cursor))
        before, after = along.context_at(2).parts, along.context_at(3).parts
        assert before[1] is after[1]


@pytest.mark.parametrize(
    "targets",
    [
        [TextReplacement(target="e1", text="span", through="e5")],
        [TextReplacement(target="e1", text="one", through="e1"), TextReplacement(target="e4", text="short")],
        [TextReplacement(target="e4", text="span", through="e5")],
    ],
)
def test_what_a_rewrite_names_of_what_is_still_to_come_is_waited_for(story, targets):
    story.says(user("one"), user("two"))
    story.add(Rewrite(reason="snip", targets=targets))
    story.says(user("four"), user("five"), user("six"))
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, "s")
        entries = path(snapshot, cursor)
        along = IncrementalContexts(snapshot, cursor, entries)
        for entry in entries:
            assert along.context_at(entry.seq) == context_at(snapshot, cursor.at_leaf(entry.seq))
