"""Verification: a sound store has no findings, and whatever is changed behind the log's back is found."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from eventstore import EventLog, open_store
from eventstore.errors import StoreError
from eventstore.frame import HEADER_SIZE, decode
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import IntegrityFinding, Verification, verify
from tests.support.events import (
    NOW,
    compaction,
    decision,
    event,
    message,
    model_change,
    thinking_change,
    undone,
)
from tests.support.frames import encode
from tests.support.pi_files import bring, entry, header, kept, said
from tests.support.tampering import Tables, event_key, tables

STORY = [
    message("a", "first"),
    model_change("b"),
    message("c", "a longer text", role="assistant", cause="x"),
    thinking_change("d"),
    compaction("e", "c"),
    message("f", "elsewhere", parent="b"),
    event("g", "label", targetId="a", label="here"),
    undone("h", "e", parent="e"),
    decision("i"),
    event("j", "rewrite", reason="prune", targets=[]),
    message("k", "last", role="toolResult"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store: the story in session s, and another session around it."""
    with open_store(tmp_path / "store", clock=lambda: NOW) as log:
        log.append("r", [message("before")])
        log.append("s", STORY)
        log.append("r", [message("after")])
    return tmp_path / "store"


def checked(path: Path) -> list[IntegrityFinding]:
    with open_store(path) as log:
        return verify(log).findings


def after(path: Path, change: Callable[[Tables], object]) -> list[IntegrityFinding]:
    """Change the tables, and return the findings."""
    with tables(path) as changing:
        change(changing)
    return checked(path)


def frame_changed(seq: int, change: Callable[[bytes], bytes]) -> Callable[[Tables], None]:
    """A change of one frame of session s."""

    def apply(changing: Tables) -> None:
        key = event_key(2, seq)
        changing.put("events", key, change(changing.get("events", key)))

    return apply


def event_changed(number: int, **fields: object) -> Callable[[Tables], None]:
    """A change of what the frame of an event of session s says."""
    return frame_changed(number, lambda frame: encode(msgspec.structs.replace(decode(frame, "s"), **fields)))


class TestSoundLogs:
    def test_a_log_as_it_was_written_has_no_findings(self, log: EventLog) -> None:
        log.append("s", STORY)
        log.append("t", [message("a")])
        assert verify(log) == Verification(sessions=2, events=len(STORY) + 1, findings=[])

    def test_an_empty_log_has_no_findings(self, log: EventLog) -> None:
        assert verify(log) == Verification(sessions=0, events=0, findings=[])

    def test_a_store_has_no_findings_after_reopening(self, path: Path) -> None:
        assert checked(path) == []

    def test_an_imported_file_has_no_findings(self, log: EventLog, tmp_path: Path) -> None:
        lines = [header(1), said("a"), b"broken\n", said("b"), kept(1), entry(kind="rewrite")]
        bring(log, tmp_path, b"".join(lines))
        bring(log, tmp_path, b"".join([*lines, said("c"), kept(2)]))
        assert verify(log).findings == []

    def test_a_target_that_came_later_is_no_finding(self, log: EventLog) -> None:
        log.append("s", [event("l", "label", targetId="a"), event("m", "label", targetId="m"), message("a")])
        assert verify(log).findings == []

    @pytest.mark.slow
    def test_progress_is_reported_up_to_the_end(self, log: EventLog) -> None:
        log.append("s", [message(f"e{number}") for number in range(1500)] if _is_fast(log) else STORY)
        told: list[tuple[int, int]] = []
        verify(log, progress=lambda done, total: told.append((done, total)))
        assert told[-1][0] == told[-1][1]
        assert told == sorted(told)


def test_a_store_with_as_many_readers_as_it_can_have_is_not_called_damaged(path: Path) -> None:
    with open_store(path) as log, ExitStack() as stack:
        for _ in range(log._environment().info()["max_readers"]):
            stack.enter_context(log.snapshot())
        with pytest.raises(StoreError) as info:
            verify(log)
    assert info.value.path == str(path)


def _is_fast(log: EventLog) -> bool:
    return isinstance(log, LmdbLog)


class TestChangedEvents:
    def test_a_changed_byte_of_a_body_is_found(self, path: Path) -> None:
        found = after(path, frame_changed(3, lambda frame: frame.replace(b"longer", b"shorty")))
        assert [(finding.session, finding.seq) for finding in found] == [("s", 3)]

    @pytest.mark.slow
    @pytest.mark.parametrize("seq", [1, 3, 5, 6, 7, 8, 9, 11])
    def test_every_changed_byte_of_a_frame_is_found(self, tmp_path: Path, seq: int) -> None:
        with open_store(tmp_path / "store", clock=lambda: NOW) as log:
            log.append("s", STORY)
            with log.snapshot() as snapshot:
                frame = bytes(snapshot.frame("s", seq))
        missed = []
        for at in range(len(frame)):
            bit = 1 << (at % 8)
            changed = frame[:at] + bytes([frame[at] ^ bit]) + frame[at + 1 :]
            with tables(tmp_path / "store") as changing:
                changing.put("events", event_key(1, seq), changed)
            if not checked(tmp_path / "store"):
                missed.append(at)
        assert missed == []
        assert len(frame) > HEADER_SIZE

    @pytest.mark.parametrize(
        ("seq", "fields"),
        [
            (6, {"parent_seq": 1}),
            (6, {"parent": "a"}),
            (6, {"parent": "a", "parent_seq": 1}),
            (6, {"run_start": 1}),
            (4, {"run_start": 4}),
            (6, {"model_seq": 0}),
            (5, {"thinking_seq": 0}),
            (6, {"compaction_seq": 5}),
            (8, {"compaction_seq": 5}),
            (5, {"target_seq": 2}),
            (5, {"target_seq": 0}),
            (7, {"target_seq": 2}),
            (2, {"target_seq": 1}),
            (8, {"target_seq": 4}),
            (3, {"role": "user"}),
            (3, {"flags": 0}),
            (1, {"flags": 1}),
            (10, {"flags": 0}),
            (3, {"utf16": 5}),
            (3, {"utf8": 5}),
            (3, {"message_span": (0, 0)}),
            (3, {"time": 5}),
            (3, {"cause": ""}),
            (3, {"id": "z"}),
            (3, {"kind": "custom"}),
            (3, {"format": "pi/3"}),
            (3, {"position": 5}),
            (3, {"seq": 4}),
        ],
    )
    def test_whatever_a_frame_says_otherwise_is_found(
        self, path: Path, seq: int, fields: dict[str, object]
    ) -> None:
        assert after(path, event_changed(seq, **fields)) != []

    def test_a_swapped_pair_is_found(self, path: Path) -> None:
        def swap(changing: Tables) -> None:
            one, two = (changing.get("events", event_key(2, seq)) for seq in (3, 4))
            changing.put("events", event_key(2, 3), two)
            changing.put("events", event_key(2, 4), one)

        assert {3, 4} <= {finding.seq for finding in after(path, swap)}

    @pytest.mark.parametrize("seq", range(1, len(STORY) + 1))
    def test_a_missing_event_is_found(self, path: Path, seq: int) -> None:
        found = after(path, lambda changing: changing.delete("events", event_key(2, seq)))
        assert "s" in {finding.session for finding in found}

    def test_a_missing_last_event_of_the_last_session_is_found(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log:
            log.append("s", [message("a"), message("b")])
        found = after(tmp_path / "store", lambda changing: changing.delete("events", event_key(1, 2)))
        assert "s" in {finding.session for finding in found}

    def test_an_event_that_cannot_be_read_is_found(self, path: Path) -> None:
        found = after(path, frame_changed(3, lambda _: b"\x01"))
        assert ("s", 3) in {(finding.session, finding.seq) for finding in found}

    def test_a_damaged_session_does_not_hide_another(self, path: Path) -> None:
        def damage(changing: Tables) -> None:
            changing.put("events", event_key(1, 1), b"\x01")
            changing.put("events", event_key(2, 5), b"\x01")

        assert {"r", "s"} <= {finding.session for finding in after(path, damage)}


class TestChangedIndexes:
    def test_an_id_that_leads_elsewhere_is_found(self, path: Path) -> None:
        def mislead(changing: Tables) -> None:
            changing.put("ids", struct.pack(">I", 2) + b"c", struct.pack(">Q", 1))

        assert 3 in {finding.seq for finding in after(path, mislead)}

    def test_an_id_that_leads_nowhere_is_found(self, path: Path) -> None:
        found = after(path, lambda changing: changing.delete("ids", struct.pack(">I", 2) + b"k"))
        assert [finding.seq for finding in found] == [11, 0]

    def test_a_position_that_leads_elsewhere_is_found(self, path: Path) -> None:
        def mislead(changing: Tables) -> None:
            changing.put("positions", struct.pack(">Q", 3), struct.pack(">IQ", 2, 3))

        assert after(path, mislead) != []

    def test_a_position_that_leads_nowhere_is_found(self, path: Path) -> None:
        def mislead(changing: Tables) -> None:
            changing.put("positions", struct.pack(">Q", 3), struct.pack(">IQ", 9, 3))

        assert after(path, mislead) != []

    @pytest.mark.parametrize("position", [1, 5, 13])
    def test_a_missing_position_is_found(self, path: Path, position: int) -> None:
        assert after(path, lambda changing: changing.delete("positions", struct.pack(">Q", position))) != []

    @pytest.mark.parametrize(
        "fields",
        [
            {"version": 10},
            {"version": 12},
            {"leaf": 9},
            {"position": 3},
            {"digest": bytes(32)},
            {"entries": 3},
            {"user_seq": 6},
            {"info_seq": 1},
            {"import_seq": 1},
            {"first_time": 1},
            {"last_time": None},
            {"name": "other"},
        ],
    )
    def test_a_wrong_head_is_found(self, path: Path, fields: dict[str, object]) -> None:
        with open_store(path) as log, log.snapshot() as snapshot:
            head = snapshot.head("s")
        wrong = msgspec.msgpack.encode(msgspec.structs.replace(head, **fields))
        assert (
            after(path, lambda changing: changing.put("sessions", b"h" + struct.pack(">I", 2), wrong)) != []
        )

    @pytest.mark.parametrize("bytes_there", [b"", b"\xc1", b"\x90"])
    def test_a_head_that_cannot_be_read_is_found(self, path: Path, bytes_there: bytes) -> None:
        key = b"h" + struct.pack(">I", 2)
        assert after(path, lambda changing: changing.put("sessions", key, bytes_there)) != []

    def test_a_missing_head_is_found(self, path: Path) -> None:
        assert after(path, lambda changing: changing.delete("sessions", b"h" + struct.pack(">I", 2))) != []


class TestPayloads:
    @pytest.fixture
    def imported(self, tmp_path: Path) -> Path:
        with open_store(tmp_path / "store") as log:
            bring(log, tmp_path, header() + entry("a", None) + b"\n\n" + entry("b", "a") + b"{torn")
        return tmp_path / "store"

    def test_a_missing_payload_is_found(self, imported: Path) -> None:
        def drop(changing: Tables) -> None:
            changing.delete("blobs", changing.items("blobs")[0][0])

        assert [finding.seq for finding in after(imported, drop)] == [3]

    def test_a_changed_payload_is_found(self, imported: Path) -> None:
        def change(changing: Tables) -> None:
            key, value = changing.items("blobs")[0]
            changing.put("blobs", key, value + b"x")

        assert [finding.seq for finding in after(imported, change)] == [3]
