"""Appending though others append, too."""

from __future__ import annotations

from itertools import count

import pytest

from eventstore.errors import NotFoundError, VersionConflictError
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.build import build_context
from tests.support.talk import Story, texts_of, user


@pytest.fixture
def story(store):
    return Story(store)


def test_what_was_appended_first_is_looked_at_before_the_next_try(story):
    others = SessionWriter(story.log, "s")
    story.says(user("0"))

    def one_more():
        with story.log.snapshot() as snapshot:
            version = snapshot.head("s").version
        if version < 4:
            others.message(user(str(version)))
        return story.writer.message(user("mine"), expected=version)

    retry_on_conflict(one_more)
    assert texts_of(build_context(story.log, "s")) == ["0", "1", "2", "3", "mine"]


def test_where_there_is_nothing_to_do_any_more_that_is_the_end():
    looks = iter([VersionConflictError("s", 1, 2), None])

    def look():
        found = next(looks)
        if found is not None:
            raise found
        return "nothing"

    assert retry_on_conflict(look) == "nothing"


def test_other_errors_end_it():
    def raises():
        raise NotFoundError("session", "s", "name another")

    with pytest.raises(NotFoundError):
        retry_on_conflict(raises)


def test_it_gives_up_where_others_append_between_all_of_100_looks():
    versions = count(1)

    def never_ours():
        version = next(versions)
        raise VersionConflictError("s", version, version + 1)

    with pytest.raises(VersionConflictError) as raised:
        retry_on_conflict(never_ours)
    assert (raised.value.tries, raised.value.actual, next(versions)) == (100, 101, 101)


def test_the_hundredth_look_may_be_ours():
    looks = count(1)

    def late():
        look = next(looks)
        if look < 100:
            raise VersionConflictError("s", look, look + 1)
        return look

    assert retry_on_conflict(late) == 100
