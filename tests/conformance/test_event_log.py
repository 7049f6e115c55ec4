"""Appends to every event log. `log` is each implementation in turn."""

from __future__ import annotations

import msgspec
import pytest

from eventstore import AppendResult, EventLog, NewEvent, Parent
from eventstore.chain import payload_digest
from eventstore.errors import BadInputError, EventConflictError, NotFoundError, VersionConflictError
from eventstore.event import EventFacts
from tests.support.events import NOW, decision, event, events, frames, message, stored, version


def positions(log: EventLog) -> list[tuple[int, str, int]]:
    with log.snapshot() as snapshot:
        return [(item.position, item.session, item.seq) for item in snapshot.feed()]


def sessions(log: EventLog) -> list[str]:
    with log.snapshot() as snapshot:
        return [head.name for head in snapshot.heads()]


class TestNumbers:
    def test_events_of_a_session_are_numbered_from_one_without_a_gap(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b")])
        log.append("s", [message("c")])
        assert [(found.id, found.seq) for found in events(log, "s")] == [("a", 1), ("b", 2), ("c", 3)]

    def test_events_of_all_sessions_have_positions_from_one_without_a_gap(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b")])
        log.append("t", [message("a")])
        log.append("s", [message("c")])
        assert positions(log) == [(1, "s", 1), (2, "s", 2), (3, "t", 1), (4, "s", 3)]

    def test_an_append_says_where_it_brought_the_session_and_the_store(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        assert log.append("t", [message("a"), message("b")]) == AppendResult(version=2, position=3, added=2)

    def test_a_refused_append_takes_no_number_and_no_position(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        with pytest.raises(NotFoundError):
            log.append("s", [message("b"), message("c", parent="nowhere")])
        log.append("s", [message("d")])
        assert positions(log) == [(1, "s", 1), (2, "s", 2)]

    def test_the_same_id_in_two_sessions_names_two_events(self, log: EventLog) -> None:
        log.append("s", [message("a", "one")])
        log.append("t", [message("a", "two")])
        assert stored(log, "s", "a").body != stored(log, "t", "a").body


class TestWhatIsKept:
    def test_an_event_comes_back_as_it_went_in(self, log: EventLog) -> None:
        facts = EventFacts(role="user", message=(11, 30), utf16=7, utf8=8)
        new = NewEvent(
            id="ä-1",
            kind="message",
            body=b'{"message":{"role":"user"}} \xff',
            format="pi/2",
            time=-5,
            cause="why",
            facts=facts,
        )
        log.append("s", [new])
        found = events(log, "s")[0]
        assert (found.id, found.kind, found.body, found.format, found.time, found.cause) == (
            new.id,
            new.kind,
            new.body,
            new.format,
            new.time,
            new.cause,
        )
        assert (found.role, found.message_span, found.utf16, found.utf8) == ("user", (11, 30), 7, 8)

    def test_an_unknown_kind_keeps_its_tag_and_its_bytes(self, log: EventLog) -> None:
        log.append("s", [event("a", "harness:größe", some={"field": 1})])
        found = events(log, "s")[0]
        assert (found.kind, found.is_entry) == ("harness:größe", True)

    def test_a_time_that_nobody_knows_stays_unknown(self, log: EventLog) -> None:
        log.append("s", [message("a", time=None)])
        assert events(log, "s")[0].time is None

    def test_an_event_is_recorded_at_the_time_of_the_clock(self, log: EventLog) -> None:
        log.append("s", [message("a", time=1)])
        assert events(log, "s")[0].recorded == NOW

    def test_an_empty_body_is_a_body(self, log: EventLog) -> None:
        log.append("s", [NewEvent(id="a", kind="custom", body=b"", format="refold/1")])
        assert events(log, "s")[0].body == b""


class TestAllOrNothing:
    def test_an_append_with_a_bad_parent_adds_nothing(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        with pytest.raises(NotFoundError):
            log.append("s", [message("b"), message("c", parent="nowhere")], blobs=[b"payload"])
        assert [found.id for found in events(log, "s")] == ["a"]
        with log.snapshot() as snapshot, pytest.raises(NotFoundError):
            snapshot.blob(payload_digest(b"payload"))

    def test_an_append_with_a_conflict_adds_nothing(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        with pytest.raises(EventConflictError):
            log.append("s", [message("b"), message("a", "other")])
        assert [found.id for found in events(log, "s")] == ["a"]

    def test_a_refused_first_append_makes_no_session(self, log: EventLog) -> None:
        with pytest.raises(NotFoundError):
            log.append("s", [message("a"), message("b", parent="nowhere")])
        assert sessions(log) == []

    def test_an_append_of_nothing_makes_no_session(self, log: EventLog) -> None:
        assert log.append("s", []) == AppendResult(version=0, position=0, added=0)
        assert sessions(log) == []


class TestExpectedVersion:
    def test_any_version_will_do_if_none_is_asked_for(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        assert log.append("s", [message("b")], expected="any").version == 2

    @pytest.mark.parametrize("expected", ["new", 0])
    def test_a_new_session_can_be_asked_for(self, log: EventLog, expected: str) -> None:
        assert log.append("s", [message("a")], expected=expected).version == 1

    def test_the_version_that_the_session_has_can_be_asked_for(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b")])
        assert log.append("s", [message("c")], expected=2).version == 3

    @pytest.mark.parametrize("expected", ["new", 0, 1, 3])
    def test_an_append_with_a_stale_version_is_refused(self, log: EventLog, expected: int | str) -> None:
        log.append("s", [message("a"), message("b")])
        with pytest.raises(VersionConflictError) as caught:
            log.append("s", [message("c")], expected=expected)
        assert (caught.value.session, caught.value.expected, caught.value.actual) == ("s", expected, 2)
        assert version(log, "s") == 2

    def test_a_version_of_a_session_that_is_not_there_is_refused(self, log: EventLog) -> None:
        with pytest.raises(VersionConflictError) as caught:
            log.append("s", [message("a")], expected=7)
        assert caught.value.actual == 0

    def test_an_append_of_nothing_asks_for_the_version_too(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        with pytest.raises(VersionConflictError):
            log.append("s", [], expected=2)

    def test_one_sessions_version_says_nothing_of_anothers(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b")])
        assert log.append("t", [message("a")], expected="new").version == 1


class TestSendingAgain:
    def test_the_same_event_again_adds_nothing(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b")])
        assert log.append("s", [message("a"), message("b")]) == AppendResult(version=2, position=2, added=0)

    def test_the_same_event_again_is_welcome_at_any_version(self, log: EventLog) -> None:
        log.append("s", [message("a")], expected="new")
        log.append("s", [message("b")])
        assert log.append("s", [message("a")], expected="new").added == 0

    def test_an_append_that_half_arrived_adds_the_other_half(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        assert log.append("s", [message("a"), message("b")]).added == 1
        assert [found.id for found in events(log, "s")] == ["a", "b"]

    def test_an_append_that_is_partly_new_asks_for_the_version(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        with pytest.raises(VersionConflictError):
            log.append("s", [message("a"), message("b")], expected="new")

    def test_the_same_event_twice_in_one_append_is_stored_once(self, log: EventLog) -> None:
        assert log.append("s", [message("a"), message("a")]).added == 1

    def test_an_id_twice_with_other_bytes_in_one_append_is_refused(self, log: EventLog) -> None:
        with pytest.raises(EventConflictError):
            log.append("s", [message("a"), message("a", "other")])

    @pytest.mark.parametrize(
        "other",
        [
            {"body": b"{}"},
            {"kind": "custom"},
            {"time": 2},
            {"time": None},
            {"cause": "other"},
            {"format": "pi/3"},
            {"parent": None},
        ],
    )
    def test_a_known_id_with_other_contents_is_refused(self, log: EventLog, other: dict[str, object]) -> None:
        log.append("s", [message("a"), message("b")])
        with pytest.raises(EventConflictError) as caught:
            log.append("s", [msgspec.structs.replace(message("b"), **other)])
        assert (caught.value.session, caught.value.event_id) == ("s", "b")

    def test_a_conflict_is_reported_before_a_stale_version(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        with pytest.raises(EventConflictError):
            log.append("s", [message("a", "other"), message("b")], expected=7)

    def test_an_event_sent_again_may_name_the_parent_that_it_got(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b")])
        assert log.append("s", [message("b", parent="a")]).added == 0

    def test_payloads_of_an_append_sent_again_are_kept(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        log.append("s", [message("a")], blobs=[b"payload"])
        with log.snapshot() as snapshot:
            assert snapshot.blob(payload_digest(b"payload")) == b"payload"


class TestParents:
    def test_without_a_name_the_parent_is_the_leaf(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b")])
        assert [found.parent for found in events(log, "s")] == [None, "a"]

    def test_none_makes_a_root(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b", parent=None)])
        assert [(found.parent, found.parent_seq) for found in events(log, "s")] == [(None, 0), (None, 0)]

    def test_an_earlier_entry_can_be_the_parent(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b"), message("c", parent="a")])
        assert (events(log, "s")[2].parent, events(log, "s")[2].parent_seq) == ("a", 1)

    def test_an_entry_of_the_same_append_can_be_the_parent(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b"), message("c", parent="a"), message("d", parent="b")])
        assert [found.parent_seq for found in events(log, "s")] == [0, 1, 1, 2]

    @pytest.mark.parametrize("parent", ["nowhere", "", "\ud800", "x" * 70_000])
    def test_a_parent_that_is_not_there_is_refused(self, log: EventLog, parent: str) -> None:
        log.append("s", [message("a")])
        with pytest.raises(NotFoundError) as caught:
            log.append("s", [message("b", parent=parent)])
        assert caught.value.name == parent

    def test_a_parent_that_comes_later_is_refused(self, log: EventLog) -> None:
        with pytest.raises(NotFoundError):
            log.append("s", [message("a", parent="b"), message("b", parent=None)])

    def test_an_event_cannot_be_its_own_parent(self, log: EventLog) -> None:
        with pytest.raises(NotFoundError):
            log.append("s", [message("a", parent="a")])

    def test_an_entry_of_another_session_is_no_parent(self, log: EventLog) -> None:
        log.append("t", [message("a")])
        with pytest.raises(NotFoundError):
            log.append("s", [message("b", parent="a")])

    def test_an_event_off_the_path_is_no_parent(self, log: EventLog) -> None:
        log.append("s", [message("a"), decision("d")])
        with pytest.raises(NotFoundError):
            log.append("s", [message("b", parent="d")])


class TestTheLeaf:
    def test_the_newest_entry_is_the_leaf(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b"), message("c", parent="a")])
        with log.snapshot() as snapshot:
            assert snapshot.head("s").leaf == 3

    def test_an_event_off_the_path_is_never_the_leaf(self, log: EventLog) -> None:
        log.append("s", [message("a"), decision("d")])
        with log.snapshot() as snapshot:
            assert (snapshot.head("s").leaf, snapshot.head("s").version) == (1, 2)

    def test_an_event_off_the_path_tells_where_the_session_stood(self, log: EventLog) -> None:
        log.append("s", [message("a"), message("b"), decision("d", parent=None), message("c")])
        assert [found.parent_seq for found in events(log, "s")] == [0, 1, 2, 2]

    def test_a_session_may_begin_off_the_path(self, log: EventLog) -> None:
        log.append("s", [decision("d"), message("a")])
        assert [found.parent for found in events(log, "s")] == [None, None]

    def test_the_parent_of_an_event_off_the_path_is_not_looked_for(self, log: EventLog) -> None:
        assert log.append("s", [decision("d", parent="nowhere")]).added == 1


class TestNames:
    @pytest.mark.parametrize("name", ["", "x" * 481, "é" * 241, "\ud800"])
    def test_a_session_name_that_cannot_be_a_key_is_refused(self, log: EventLog, name: str) -> None:
        with pytest.raises(BadInputError):
            log.append(name, [message("a")])

    @pytest.mark.parametrize("name", ["x" * 480, "é" * 240, " ", "\x00", "n", "h"])
    def test_any_other_text_names_a_session(self, log: EventLog, name: str) -> None:
        log.append(name, [message("a")])
        assert sessions(log) == [name]

    @pytest.mark.parametrize("field", ["id", "kind"])
    @pytest.mark.parametrize("name", ["", "x" * 65_536, "\udfff"])
    def test_an_id_or_a_kind_that_cannot_be_stored_is_refused(
        self, log: EventLog, field: str, name: str
    ) -> None:
        with pytest.raises(BadInputError):
            log.append("s", [msgspec.structs.replace(message("a"), **{field: name})])

    @pytest.mark.parametrize("cause", ["x" * 65_536, "\ud800"])
    def test_a_cause_that_cannot_be_stored_is_refused(self, log: EventLog, cause: str) -> None:
        with pytest.raises(BadInputError):
            log.append("s", [message("a", cause=cause)])

    def test_an_unknown_format_is_refused(self, log: EventLog) -> None:
        with pytest.raises(BadInputError):
            log.append("s", [msgspec.structs.replace(message("a"), format="pi/9")])

    @pytest.mark.parametrize("length", [511, 512, 65_535])
    def test_an_id_may_be_longer_than_a_key(self, log: EventLog, length: int) -> None:
        log.append("s", [message("x" * length), message("y", parent="x" * length)])
        assert events(log, "s")[1].parent == "x" * length

    def test_a_target_that_no_id_can_be_is_a_target_that_is_not_there(self, log: EventLog) -> None:
        new = msgspec.structs.replace(message("a", parent=Parent.LEAF), facts=EventFacts(target="\ud800"))
        log.append("s", [new])
        assert events(log, "s")[0].target_seq == 0


def test_two_appends_of_the_same_events_store_the_same_frames(log: EventLog) -> None:
    for session in ("s", "t"):
        log.append(session, [message("a"), message("b"), decision("d")])
    digests = {session: [found.digest for found in events(log, session)] for session in ("s", "t")}
    assert digests["s"] == digests["t"]
    assert len(frames(log, "s")) == 3
