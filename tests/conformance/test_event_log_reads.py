"""Reads from every event log. `log` is each implementation in turn."""

from __future__ import annotations

from typing import Any

import pytest

from eventstore import EventLog, Head
from eventstore.chain import payload_digest
from eventstore.errors import EventConflictError, NotFoundError, VersionConflictError
from eventstore.frame import decode
from eventstore.log import SourceState
from tests.support.events import decision, event, events, message, path_ids

LONG = "x" * 600


def numbers(log: EventLog, **bounds: Any) -> list[int]:
    with log.snapshot() as snapshot:
        return [decode(bytes(frame), "s").seq for frame in snapshot.frames("s", **bounds)]


def ids(log: EventLog, prefix: str = "") -> list[str]:
    with log.snapshot() as snapshot:
        return list(snapshot.ids("s", prefix))


@pytest.fixture
def five(log: EventLog) -> EventLog:
    """A log with five events in session s, between those of others."""
    log.append("r", [message("r1")])
    log.append("s", [message(name) for name in ("e1", "e2", "e3", "e4", "e5")])
    log.append("t", [message("t1")])
    return log


@pytest.fixture
def tree(log: EventLog) -> EventLog:
    """A log whose session s is a tree: a → b → c, a → d → e, and a root f of its own → g.

    An event off the path stands between d and e.
    """
    log.append("s", [message("a"), message("b"), message("c"), message("d", parent="a")])
    log.append("s", [decision("x"), message("e"), message("f", parent=None), message("g")])
    return log


class TestRanges:
    @pytest.mark.parametrize(
        ("bounds", "expected"),
        [
            ({}, [1, 2, 3, 4, 5]),
            ({"first": 2}, [2, 3, 4, 5]),
            ({"last": 2}, [1, 2]),
            ({"first": 2, "last": 4}, [2, 3, 4]),
            ({"first": 3, "last": 3}, [3]),
            ({"first": 4, "last": 2}, []),
            ({"first": 6}, []),
            ({"first": 0}, [1, 2, 3, 4, 5]),
            ({"last": 0}, []),
            ({"last": 99}, [1, 2, 3, 4, 5]),
        ],
    )
    def test_a_range_has_its_bounds_in_it(
        self, five: EventLog, bounds: dict[str, int], expected: list[int]
    ) -> None:
        assert numbers(five, **bounds) == expected
        assert numbers(five, **bounds, backward=True) == expected[::-1]

    @pytest.mark.parametrize("backward", [False, True])
    def test_a_range_of_a_session_that_is_not_there_is_an_error(
        self, five: EventLog, *, backward: bool
    ) -> None:
        with five.snapshot() as snapshot, pytest.raises(NotFoundError):
            list(snapshot.frames("nobody", backward=backward))

    @pytest.mark.parametrize("seq", [0, 6])
    def test_an_event_that_is_not_there_is_an_error(self, five: EventLog, seq: int) -> None:
        with five.snapshot() as snapshot, pytest.raises(NotFoundError):
            snapshot.frame("s", seq)

    def test_one_event_is_found_by_its_number(self, five: EventLog) -> None:
        with five.snapshot() as snapshot:
            assert decode(snapshot.frame("s", 3), "s").id == "e3"


class TestPaths:
    @pytest.mark.parametrize(
        ("leaf", "expected"),
        [("a", "a"), ("c", "abc"), ("d", "ad"), ("e", "ade"), ("f", "f"), ("g", "fg")],
    )
    def test_a_path_leads_from_the_root_to_the_leaf(self, tree: EventLog, leaf: str, expected: str) -> None:
        assert "".join(path_ids(tree, "s", leaf)) == expected

    @pytest.mark.parametrize(
        ("leaf", "first", "expected"),
        [
            ("c", 2, "bc"),
            ("c", 3, "c"),
            ("c", 4, ""),
            ("e", 2, "de"),
            ("e", 4, "de"),
            ("e", 5, "e"),
            ("e", 9, ""),
        ],
    )
    def test_a_path_can_leave_out_what_lies_before_a_number(
        self, tree: EventLog, leaf: str, first: int, expected: str
    ) -> None:
        assert "".join(path_ids(tree, "s", leaf, first=first)) == expected

    def test_reads_of_one_snapshot_are_apart(self, tree: EventLog) -> None:
        with tree.snapshot() as snapshot:
            read = [
                [*snapshot.path("s", leaf, first=first)] for leaf, first in ((3, 1), (3, 3), (5, 1), (3, 1))
            ]
        assert [len(each) for each in read] == [3, 1, 3, 3]
        assert read[0] == read[3] != read[2]

    def test_the_path_to_nothing_is_empty(self, tree: EventLog) -> None:
        with tree.snapshot() as snapshot:
            assert list(snapshot.path("s", 0)) == []

    def test_the_path_to_a_leaf_that_is_not_there_is_an_error(self, tree: EventLog) -> None:
        with tree.snapshot() as snapshot, pytest.raises(NotFoundError):
            list(snapshot.path("s", 9))

    def test_a_path_of_a_session_that_is_not_there_is_an_error(self, tree: EventLog) -> None:
        with tree.snapshot() as snapshot, pytest.raises(NotFoundError):
            list(snapshot.path("nobody", 1))


class TestIds:
    def test_an_event_is_located_by_its_id(self, five: EventLog) -> None:
        with five.snapshot() as snapshot:
            assert [snapshot.locate("s", name) for name in ("e1", "e5")] == [1, 5]

    @pytest.mark.parametrize("name", ["r1", "", "e", "e11", "\ud800", "x" * 70_000])
    def test_an_id_that_the_session_does_not_have_is_located_nowhere(self, five: EventLog, name: str) -> None:
        with five.snapshot() as snapshot:
            assert snapshot.locate("s", name) == 0

    def test_locating_in_a_session_that_is_not_there_is_an_error(self, five: EventLog) -> None:
        with five.snapshot() as snapshot, pytest.raises(NotFoundError):
            snapshot.locate("nobody", "e1")

    @pytest.mark.parametrize("name", ["shared", LONG])
    def test_the_sessions_with_an_id_come_in_the_order_of_their_names(
        self, five: EventLog, name: str
    ) -> None:
        for session in ("z", "é", "s"):
            five.append(session, [message(name)])
        with five.snapshot() as snapshot:
            assert snapshot.sessions_with(name) == ["s", "z", "é"]
            assert [snapshot.sessions_with(name, only=each) for each in ("é", "r")] == [["é"], []]

    @pytest.mark.parametrize("name", ["e", "e11", "", "\ud800"])
    def test_no_session_has_an_id_that_none_was_given(self, five: EventLog, name: str) -> None:
        with five.snapshot() as snapshot:
            assert snapshot.sessions_with(name) == []

    def test_an_empty_log_has_no_session_with_an_id(self, log: EventLog) -> None:
        with log.snapshot() as snapshot:
            assert snapshot.sessions_with("e1") == []

    def test_ids_come_in_their_order(self, log: EventLog) -> None:
        log.append("s", [message(name) for name in ("b", "a", "ab", "é", "Z")])
        assert ids(log) == ["Z", "a", "ab", "b", "é"]

    @pytest.mark.parametrize(
        ("prefix", "expected"),
        [("a", ["a", "ab", "abc"]), ("ab", ["ab", "abc"]), ("abcd", []), ("z", []), ("\ud800", [])],
    )
    def test_ids_are_found_by_their_beginnings(self, log: EventLog, prefix: str, expected: list[str]) -> None:
        log.append("s", [message(name) for name in ("abc", "b", "a", "ab")])
        log.append("t", [message("abd")])
        assert ids(log, prefix) == expected

    def test_ids_that_are_not_ascii_are_found_by_their_beginnings(self, log: EventLog) -> None:
        log.append("s", [message(name) for name in ("größe", "grün", "gras", "日本", "日没", "😀")])
        assert [ids(log, "gr"), ids(log, "日"), ids(log, "😀")] == [
            ["gras", "größe", "grün"],
            ["日本", "日没"],
            ["😀"],
        ]

    @pytest.mark.parametrize("length", [1, 447, 448, 449, 479, 480, 481, 511, 600])
    def test_a_very_long_id_is_found_by_its_beginning(self, log: EventLog, length: int) -> None:
        log.append("s", [message(LONG), message("y")])
        assert ids(log, LONG[:length]) == [LONG]

    @pytest.mark.parametrize("length", [480, 481, 512])
    def test_very_long_ids_that_begin_alike_are_told_apart(self, log: EventLog, length: int) -> None:
        names = ["x" * (length - 1) + end for end in "abc"]
        log.append("s", [message(name) for name in names])
        with log.snapshot() as snapshot:
            assert [snapshot.locate("s", name) for name in names] == [1, 2, 3]
            assert [list(snapshot.ids("s", name)) for name in names] == [[name] for name in names]
            assert sorted(snapshot.ids("s", "xx")) == names

    def test_a_long_prefix_of_characters_of_many_bytes_is_found(self, log: EventLog) -> None:
        name = "日" * 300
        log.append("s", [message(name)])
        assert ids(log, "日" * 200) == [name]


class TestTheFeed:
    def test_the_feed_tells_all_events_in_the_order_of_their_positions(self, five: EventLog) -> None:
        with five.snapshot() as snapshot:
            told = [(item.position, item.session, item.seq) for item in snapshot.feed()]
        assert told == [(1, "r", 1), *[(seq + 1, "s", seq) for seq in range(1, 6)], (7, "t", 1)]

    def test_the_feed_carries_the_frames(self, five: EventLog) -> None:
        with five.snapshot() as snapshot:
            assert [decode(item.frame, item.session).id for item in snapshot.feed(5)] == ["e5", "t1"]

    @pytest.mark.parametrize(("after", "expected"), [(0, 7), (5, 2), (6, 1), (7, 0), (99, 0)])
    def test_the_feed_goes_on_behind_a_position(self, five: EventLog, after: int, expected: int) -> None:
        with five.snapshot() as snapshot:
            assert len(list(snapshot.feed(after))) == expected

    def test_the_feed_of_an_empty_log_is_empty(self, log: EventLog) -> None:
        with log.snapshot() as snapshot:
            assert list(snapshot.feed()) == []


class TestHeads:
    def test_heads_come_in_the_order_of_their_names(self, log: EventLog) -> None:
        for name in ("b", "é", "a", "ab", "Z", "h", "n"):
            log.append(name, [message("m")])
        with log.snapshot() as snapshot:
            assert [head.name for head in snapshot.heads()] == ["Z", "a", "ab", "b", "h", "n", "é"]

    def test_sessions_are_numbered_as_they_come(self, log: EventLog) -> None:
        for name in ("b", "a", "c"):
            log.append(name, [message("m")])
        with log.snapshot() as snapshot:
            assert {head.name: head.number for head in snapshot.heads()} == {"b": 1, "a": 2, "c": 3}

    def test_a_head_says_where_its_session_stands(self, log: EventLog) -> None:
        log.append("r", [message("r1")])
        log.append("s", [event("t1", "session_info", name="one", time=50), message("m1", role="assistant")])
        log.append("s", [message("m2", time=70), message("m3", time=20), decision("d", time=999)])
        log.append("s", [event("t2", "session_info", name="two", time=None)], source="/home/a/file")
        with log.snapshot() as snapshot:
            head = snapshot.head("s")
        assert head == Head(
            name="s",
            number=2,
            version=6,
            leaf=6,
            position=7,
            digest=events(log, "s")[-1].digest,
            entries=5,
            info_seq=6,
            user_seq=3,
            first_time=20,
            last_time=1000,
            source="/home/a/file",
        )

    def test_a_head_remembers_its_source_until_there_is_another(self, log: EventLog) -> None:
        log.append("s", [message("a")], source="one")
        log.append("s", [message("b")])
        with log.snapshot() as snapshot:
            assert snapshot.head("s").source == "one"

    @pytest.mark.parametrize("name", ["nobody", "", "\ud800", "x" * 600])
    def test_the_head_of_a_session_that_is_not_there_is_an_error(self, five: EventLog, name: str) -> None:
        with five.snapshot() as snapshot, pytest.raises(NotFoundError) as caught:
            snapshot.head(name)
        assert caught.value.name == name


class TestPayloads:
    def test_a_payload_is_found_by_its_digest(self, log: EventLog) -> None:
        log.append("s", [message("a")], blobs=[b"one", b"", b"one"])
        with log.snapshot() as snapshot:
            assert [snapshot.blob(payload_digest(blob)) for blob in (b"one", b"")] == [b"one", b""]

    def test_a_payload_that_is_not_there_is_an_error(self, log: EventLog) -> None:
        with log.snapshot() as snapshot, pytest.raises(NotFoundError):
            snapshot.blob(payload_digest(b"one"))

    def test_what_was_computed_is_kept_until_it_is_computed_anew(self, log: EventLog) -> None:
        log.keep([(b"k", b"one"), (b"l", b"")])
        log.keep([(b"k", b"two")])
        log.keep([])
        with log.snapshot() as snapshot:
            assert [snapshot.derived(key) for key in (b"k", b"l", b"m")] == [b"two", b"", None]


def state(path: bytes = b"/a", size: int = 5) -> SourceState:
    return SourceState(
        path=path, size=size, modified=3, device=1, inode=2, read=4, harness="pi", sessions=("s", "t")
    )


class TestSources:
    def test_the_state_of_a_file_is_stored_with_the_events_from_it(self, log: EventLog) -> None:
        log.append("s", [message("a")], seen=state())
        log.append("t", [message("a")], seen=state(b"/b" * 600))
        with log.snapshot() as snapshot:
            assert snapshot.source(b"/a") == state()
            assert snapshot.source(b"/b" * 600) == state(b"/b" * 600)
            assert snapshot.source(b"/c") is None
            assert sorted(each.path for each in snapshot.sources()) == [b"/a", b"/b" * 600]

    def test_a_later_state_replaces_it_even_if_no_event_is_new(self, log: EventLog) -> None:
        log.append("s", [message("a")], seen=state())
        log.append("s", [message("a")], seen=state(size=6))
        with log.snapshot() as snapshot:
            assert snapshot.source(b"/a") == state(size=6)
        done = log.append("s", [], seen=state(size=7))
        assert (done.version, done.added) == (1, 0)
        with log.snapshot() as snapshot:
            assert list(snapshot.sources()) == [state(size=7)]

    def test_a_refused_append_stores_no_state(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        with pytest.raises(VersionConflictError):
            log.append("s", [message("b")], expected=7, seen=state())
        with pytest.raises(EventConflictError):
            log.append("s", [message("a", "other")], seen=state())
        with log.snapshot() as snapshot:
            assert snapshot.source(b"/a") is None

    def test_an_append_without_a_state_keeps_it(self, log: EventLog) -> None:
        log.append("s", [message("a")], seen=state())
        log.append("s", [message("b")])
        with log.snapshot() as snapshot:
            assert snapshot.source(b"/a") == state()

    def test_a_snapshot_does_not_see_a_later_state(self, log: EventLog) -> None:
        log.append("s", [message("a")], seen=state())
        with log.snapshot() as before:
            log.append("s", [message("b")], seen=state(size=6))
            assert before.source(b"/a") == state()


class TestSnapshots:
    def test_a_snapshot_does_not_see_what_is_appended_later(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        with log.snapshot() as before:
            log.append("s", [message("b")], blobs=[b"payload"])
            assert before.head("s").version == 1
            assert len(list(before.frames("s"))) == 1
            assert len(list(before.feed())) == 1
            assert list(before.ids("s")) == ["a"]
            assert before.locate("s", "b") == 0
            with pytest.raises(NotFoundError):
                before.frame("s", 2)
            with pytest.raises(NotFoundError):
                before.blob(payload_digest(b"payload"))

    def test_a_snapshot_does_not_see_what_is_kept_later(self, log: EventLog) -> None:
        log.keep([(b"k", b"one")])
        with log.snapshot() as before:
            log.keep([(b"k", b"two")])
            assert before.derived(b"k") == b"one"

    def test_a_snapshot_does_not_see_sessions_that_come_later(self, log: EventLog) -> None:
        with log.snapshot() as before:
            log.append("s", [message("a")])
            with log.snapshot() as after:
                assert after.head("s").version == 1
            assert list(before.heads()) == []
            with pytest.raises(NotFoundError):
                before.head("s")
            with pytest.raises(NotFoundError):
                before.locate("s", "a")

    def test_a_snapshot_begun_after_an_append_sees_it(self, log: EventLog) -> None:
        log.append("s", [message("a")])
        with log.snapshot() as snapshot:
            assert snapshot.head("s").version == 1

    def test_a_snapshot_of_a_snapshot_is_itself(self, log: EventLog) -> None:
        with log.snapshot() as snapshot, snapshot.snapshot() as same:
            assert same is snapshot

    def test_a_log_may_be_closed_twice(self, log: EventLog) -> None:
        assert (log.close(), log.close()) == (None, None)
