"""Resolve cursors, and report places that do not exist."""

from __future__ import annotations

from itertools import islice

import pytest

from eventstore.errors import CorruptionError, NotFoundError
from eventstore.records import Decision, LeafMoved
from projections.context.cursor import ROOT, newest_first, path, resolve_cursor
from tests.support.talk import Story, user


@pytest.fixture
def told(log) -> Story:
    """e1 and e2, then a decision off the path, then e4."""
    story = Story(log)
    story.says(user("one"), user("two"))
    story.add(Decision(outcome="skip", reason="small"))
    story.says(user("three"))
    return story


def standing(story, **where):
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, "s", **where)
        return cursor.leaf, cursor.as_of


def test_one_stands_at_the_newest_entry_unless_told_otherwise(told):
    assert standing(told) == (4, 4)


def test_one_stands_at_a_leaf_that_is_named(told):
    assert standing(told, leaf="e1") == (1, 4)


def test_the_root_is_before_everything(told):
    assert standing(told, leaf=ROOT) == (0, 4)


@pytest.mark.parametrize(("as_of", "leaf"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 4)])
def test_the_leaf_as_of_an_event_is_the_newest_entry_up_to_it(told, as_of, leaf):
    assert standing(told, as_of=as_of) == (leaf, as_of)


def test_as_of_a_move_the_leaf_is_the_move(told):
    told.add(LeafMoved(from_id="e4"), parent="e1")
    assert standing(told, as_of=5) == (5, 5)


def test_an_event_off_the_path_before_every_entry_leaves_the_session_at_its_root(log):
    story = Story(log)
    story.add(Decision(outcome="skip", reason="small"))
    assert standing(story) == (0, 1)


def test_an_unknown_session_is_not_found(told):
    with told.log.snapshot() as snapshot, pytest.raises(NotFoundError) as refused:
        resolve_cursor(snapshot, "other")
    assert (refused.value.what, refused.value.name) == ("session", "other")


@pytest.mark.parametrize(
    ("leaf", "as_of"), [("e9", None), ("", None), ("e4", 3)], ids=["unknown", "empty", "later"]
)
def test_a_leaf_that_is_not_there_by_then_is_not_found(told, leaf, as_of):
    with pytest.raises(NotFoundError) as refused:
        standing(told, leaf=leaf, as_of=as_of)
    assert (refused.value.what, refused.value.name) == ("event", leaf)


def test_a_leaf_may_be_the_very_event_that_one_asks_as_of(told):
    assert standing(told, leaf="e2", as_of=2) == (2, 2)


def test_an_event_off_the_path_is_no_leaf(told):
    with pytest.raises(NotFoundError) as refused:
        standing(told, leaf="e3")
    assert (refused.value.what, refused.value.name) == ("entry", "e3")


@pytest.mark.parametrize("as_of", [-1, 5])
def test_a_number_that_no_event_has_is_not_found(told, as_of):
    with pytest.raises(NotFoundError) as refused:
        standing(told, as_of=as_of)
    assert (refused.value.what, refused.value.name) == ("event", f"#{as_of}")
    assert "refold " not in refused.value.remedy


def test_a_path_leads_from_the_root_to_the_leaf(told):
    told.add(LeafMoved(from_id="e4"), parent="e1")
    with told.log.snapshot() as snapshot:
        assert [event.id for event in path(snapshot, resolve_cursor(snapshot, "s"))] == ["e1", "e5"]


def test_the_path_to_the_root_is_empty(told):
    with told.log.snapshot() as snapshot:
        assert path(snapshot, resolve_cursor(snapshot, "s", leaf=ROOT)) == []


class Watched:
    """A snapshot that notes which frames are asked for; `instead` are numbers whose frames are mixed up."""

    def __init__(self, snapshot, instead=()):
        self.asked: list[int] = []
        self._snapshot, self._instead = snapshot, dict(instead)

    def frame(self, session, seq):
        self.asked.append(seq)
        return self._snapshot.frame(session, self._instead.get(seq, seq))


class TestNewestFirst:
    def test_the_leaf_comes_first_and_the_root_last_without_what_is_off_the_path(self, told):
        with told.log.snapshot() as snapshot:
            assert [entry.seq for entry in newest_first(snapshot, resolve_cursor(snapshot, "s"))] == [4, 2, 1]

    def test_at_the_root_there_are_none(self, told):
        with told.log.snapshot() as snapshot:
            assert list(newest_first(snapshot, resolve_cursor(snapshot, "s", leaf=ROOT))) == []

    def test_no_more_are_read_than_are_asked_for(self, told):
        with told.log.snapshot() as snapshot:
            watched = Watched(snapshot)
            list(islice(newest_first(watched, resolve_cursor(snapshot, "s")), 2))
        assert watched.asked == [4, 2]

    def test_a_circle_of_parents_is_reported(self, told):
        with told.log.snapshot() as snapshot:
            mixed_up = Watched(snapshot, {1: 4})
            with pytest.raises(CorruptionError) as refused:
                list(newest_first(mixed_up, resolve_cursor(snapshot, "s")))
        assert (refused.value.session, refused.value.seq) == ("s", 2)
