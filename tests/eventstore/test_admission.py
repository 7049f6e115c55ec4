"""Admit or refuse events, and recognize an event that is sent again."""

from __future__ import annotations

import re

import msgspec
import pytest

from eventstore import NewEvent, Parent
from eventstore.append import MAX_SESSION_NAME_BYTES, check_events, check_expected, is_same
from eventstore.errors import BadInputError, VersionConflictError
from eventstore.event import EventFacts
from tests.support import sentences
from tests.support.events import decision, message


def test_names_of_the_longest_lengths_are_admitted() -> None:
    longest = msgspec.structs.replace(message("x" * 65_535, cause="c" * 65_535), kind="k" * 65_535)
    check_events("s" * MAX_SESSION_NAME_BYTES, [longest])


def test_a_refused_name_is_reported_with_its_session_and_its_event() -> None:
    with pytest.raises(BadInputError) as caught:
        check_events("s", [message("a"), msgspec.structs.replace(message("b"), format="pdf")])
    assert caught.value.source == "session 's', event 'b'"
    assert "'pdf'" in caught.value.problem
    assert re.findall(r"\w+/\d", caught.value.remedy)[:2] == ["refold/1", "pi/1"]


def test_a_refusal_of_an_endless_name_is_still_one_short_line() -> None:
    with pytest.raises(BadInputError) as caught:
        check_events("s", [message("x" * 100_000)])
    assert len(str(caught.value)) < 200
    with pytest.raises(BadInputError) as caught:
        check_events("s" * 100_000, [])
    assert len(str(caught.value)) < 200


def test_all_events_of_an_append_are_looked_at() -> None:
    with pytest.raises(BadInputError):
        check_events("s", [message("a"), message("b"), message("\ud800")])


@pytest.mark.parametrize(("expected", "version"), [("any", 0), ("any", 7), ("new", 0), (0, 0), (7, 7)])
def test_a_version_as_expected_passes(expected: int | str, version: int) -> None:
    check_expected("s", expected, version)


@pytest.mark.parametrize(("expected", "version"), [("new", 1), (0, 1), (7, 6), (7, 8), (-1, 0)])
def test_a_version_other_than_expected_does_not_pass(expected: int | str, version: int) -> None:
    with pytest.raises(VersionConflictError):
        check_expected("s", expected, version)


class TestTheSameEvent:
    new = message("a", parent="above", cause="why")

    def test_an_event_is_the_same_as_itself(self) -> None:
        assert is_same(self.new, self.new)

    @pytest.mark.parametrize(
        "change",
        [
            {"body": b""},
            {"kind": "custom"},
            {"time": 1},
            {"format": "pi/3"},
            {"cause": ""},
            {"parent": "other"},
            {"parent": None},
        ],
    )
    def test_an_event_of_other_contents_is_another(self, change: dict[str, object]) -> None:
        assert not is_same(msgspec.structs.replace(self.new, **change), self.new)

    def test_a_parent_left_to_the_leaf_is_not_held_against_it(self) -> None:
        assert is_same(msgspec.structs.replace(self.new, parent=Parent.LEAF), self.new)

    def test_a_time_of_the_writers_clock_is_not_held_against_it(self) -> None:
        assert is_same(msgspec.structs.replace(self.new, time=1, is_clocked=True), self.new)
        assert not is_same(msgspec.structs.replace(self.new, time=1, is_clocked=True, body=b""), self.new)

    def test_the_parent_of_an_event_off_the_path_is_not_held_against_it(self) -> None:
        assert is_same(decision("d", parent="one"), decision("d", parent="two"))

    def test_what_was_read_out_of_the_bytes_is_not_held_against_it(self) -> None:
        other: NewEvent = msgspec.structs.replace(self.new, facts=EventFacts(utf16=99))
        assert is_same(other, self.new)


def nested(levels: int, event: NewEvent) -> NewEvent:
    """The same event with a record of so many levels."""
    return msgspec.structs.replace(event, body=b"[" * levels + b"]" * levels)


def test_a_record_of_500_levels_is_admitted_and_one_of_more_is_reported() -> None:
    check_events("s", [nested(500, message("a"))])
    with pytest.raises(BadInputError) as caught:
        check_events("s", [message("a"), nested(501, message("b"))])
    assert caught.value.source == "session 's', event 'b'"
    assert sentences.numbers(caught.value.problem) == [500]


def test_what_is_noted_of_a_record_may_hold_it_whole() -> None:
    check_events("s", [nested(502, decision("a"))])
