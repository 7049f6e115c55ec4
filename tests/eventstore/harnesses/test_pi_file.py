"""pi's session files, versions 1 to 3, read into events: ids, parents, kinds, what is kept first, damage."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from eventstore import Event, open_store
from eventstore.event import EventFacts, Flag
from eventstore.files.importing import ImportResult, import_file
from eventstore.harnesses.lines import objects_in
from eventstore.harnesses.pi import file as pi_file
from eventstore.harnesses.pi.dialects import PI, Dialect
from eventstore.harnesses.pi.entry import KINDS
from eventstore.harnesses.pi.file import PiReader
from eventstore.harnesses.pi.session_file import find_header
from eventstore.harnesses.source import SeenRecords, Source
from eventstore.lmdb.store import LmdbLog
from eventstore.node import Node
from eventstore.records import Remark
from tests.support.events import events
from tests.support.pi_files import SESSION, bring, entry, header, kept, line, original, said

Read = tuple[list[Event], ImportResult]


def read(log: LmdbLog, folder: Path, *lines: bytes, session: str = SESSION) -> list[Event]:
    """The entries of a file of these lines."""
    assert bring(log, folder, b"".join(lines)).id == session
    return [event for event in events(log, session) if event.is_entry]


def ids(found: list[Event]) -> list[str]:
    return [event.id for event in found]


def parents(found: list[Event]) -> list[str | None]:
    return [event.parent for event in found]


def kept_by(found: list[Event]) -> list[int]:
    """The numbers of the entries that the compactions keep first."""
    return [event.target_seq for event in found if event.kind == "compaction"]


class TestVersion1:
    def test_entries_are_a_line_of_descent(self, store: LmdbLog, tmp_path: Path) -> None:
        found = read(store, tmp_path, header(1), said("a"), said("b"), said("c"))
        assert [event.parent_seq for event in found] == [0, 1, 2]
        assert {event.format for event in found} == {"pi/1"}

    def test_minted_ids_are_eight_hex_digits_and_differ(self, store: LmdbLog, tmp_path: Path) -> None:
        found = read(store, tmp_path, header(1), *[said("same")] * 500)
        assert len(set(ids(found))) == 500
        assert all(len(name) == 8 and int(name, 16) >= 0 for name in ids(found))

    def test_minted_ids_are_those_that_were_fixed(self, store: LmdbLog, tmp_path: Path) -> None:
        assert ids(read(store, tmp_path, header(1), said("a"), said("b"))) == ["08defdb6", "a7167767"]

    def test_minted_ids_are_the_same_in_every_store(self, store: LmdbLog, tmp_path: Path) -> None:
        lines = [header(1), said("a"), said("b"), kept(1)]
        with open_store(tmp_path / "other") as other:
            assert ids(read(store, tmp_path, *lines)) == ids(read(other, tmp_path, *lines))

    def test_minted_ids_stay_the_same_when_the_file_grows(self, store: LmdbLog, tmp_path: Path) -> None:
        lines = [header(1), said("a"), said("b"), kept(1), said("c")]
        for count in range(2, 5):
            read(store, tmp_path, *lines[:count])
        grown = read(store, tmp_path, *lines)
        with open_store(tmp_path / "other") as other:
            assert ids(grown) == ids(read(other, tmp_path, *lines))
            assert grown[-1].parent == grown[-2].id

    def test_minted_ids_of_two_sessions_differ(self, store: LmdbLog, tmp_path: Path) -> None:
        one = read(store, tmp_path, header(1), said("a"))
        two = read(store, tmp_path, header(1, session="other"), said("a"), session="other")
        assert ids(one) != ids(two)

    def test_an_id_that_a_record_has_by_chance_is_passed_over(self, store: LmdbLog, tmp_path: Path) -> None:
        found = read(store, tmp_path, header(1), said("a", "x", "y"), said("b", "x", None))
        assert "x" not in ids(found)
        assert parents(found) == [None, found[0].id]


class TestWhatACompactionOfVersion1Keeps:
    @pytest.mark.parametrize(
        ("index", "seq"),
        [(1, 1), (2, 2), (3, 3), (2.0, 2), (0, 0), (4, 0), (5, 0), (99, 0), (-1, 0), (2.5, 0)],
    )
    def test_its_index_counts_the_lines_with_the_header_as_0(
        self, store: LmdbLog, tmp_path: Path, index: float, seq: int
    ) -> None:
        found = read(store, tmp_path, header(1), said("a"), said("b"), said("c"), kept(index), said("d"))
        assert kept_by(found) == [seq]

    @pytest.mark.parametrize("index", [None, True, False, "1", [1], {}])
    def test_an_index_that_is_no_number_keeps_nothing(
        self, store: LmdbLog, tmp_path: Path, index: Any
    ) -> None:
        assert kept_by(read(store, tmp_path, header(1), said("a"), said("b"), kept(index))) == [0]

    def test_an_index_beyond_all_numbers_keeps_nothing(self, store: LmdbLog, tmp_path: Path) -> None:
        endless = kept(7).replace(b":7", b":1e999")
        assert kept_by(read(store, tmp_path, header(1), said("a"), endless)) == [0]

    def test_an_index_may_point_at_an_older_compaction(self, store: LmdbLog, tmp_path: Path) -> None:
        assert kept_by(read(store, tmp_path, header(1), said("a"), kept(1), said("b"), kept(2))) == [1, 2]

    def test_lines_that_pi_passes_over_do_not_count(self, store: LmdbLog, tmp_path: Path) -> None:
        lines = [header(1), b"\n", said("a"), b"{broken\n", b"  \n", said("b"), kept(2)]
        assert kept_by(read(store, tmp_path, *lines)) == [2]

    def test_records_with_no_line_of_their_own_are_kept_and_do_not_count(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        glued = said("b").rstrip() + said("c")
        found = read(store, tmp_path, header(1), said("a"), glued, said("d"), kept(1), kept(2), kept(3))
        assert [event.seq for event in found] == [1, 2, 3, 4, 5, 6, 7]
        assert kept_by(found) == [1, 4, 5]

    def test_a_second_header_counts_as_pi_counts_it(self, store: LmdbLog, tmp_path: Path) -> None:
        lines = [header(1), said("a"), header(1), said("b"), kept(1), kept(2), kept(3)]
        assert kept_by(read(store, tmp_path, *lines)) == [1, 0, 2]

    def test_the_count_goes_on_when_the_file_grows(self, store: LmdbLog, tmp_path: Path) -> None:
        lines = [header(1), said("a") * 1, said("b").rstrip() + said("c"), header(1), said("d")]
        read(store, tmp_path, *lines)
        assert kept_by(read(store, tmp_path, *lines, kept(1), kept(2), kept(3), kept(4))) == [1, 0, 4, 6]

    def test_in_later_versions_it_names_the_entry(self, store: LmdbLog, tmp_path: Path) -> None:
        named = entry("d", "c", "compaction", summary="s", firstKeptEntryId="b", firstKeptEntryIndex=1)
        found = read(
            store, tmp_path, header(3), said("a", "a", None), said("b", "b", "a"), said("c", "c", "b"), named
        )
        assert kept_by(found) == [2]


class TestVersions2And3:
    @pytest.mark.parametrize("version", [2, 3])
    def test_ids_and_parents_are_those_of_the_file(
        self, store: LmdbLog, tmp_path: Path, version: int
    ) -> None:
        lines = [said("a", "a", None), said("b", "b", "a"), said("c", "c", "a")]
        found = read(store, tmp_path, header(version), *lines)
        assert (ids(found), parents(found)) == (["a", "b", "c"], [None, "a", "a"])
        assert {event.format for event in found} == {f"pi/{version}"}

    @pytest.mark.parametrize("name", [None, 5, "", "\ud800", "x" * 70_000, ["a"]])
    def test_a_record_without_a_usable_id_gets_one_of_its_own(
        self, store: LmdbLog, tmp_path: Path, name: Any
    ) -> None:
        lines = [header(3), said("a", "a", None), said("b", name, "a"), said("c", "c", "a")]
        found = read(store, tmp_path, *lines)
        assert ids(found)[1].startswith("noid-")
        assert parents(found) == [None, "a", "a"]
        with open_store(tmp_path / "other") as other:
            assert ids(read(other, tmp_path, *lines)) == ids(found)

    def test_a_record_without_an_id_at_all_gets_one_of_its_own(self, store: LmdbLog, tmp_path: Path) -> None:
        found = read(store, tmp_path, header(3), entry(kind="custom"), entry(kind="custom"))
        assert len(set(ids(found))) == 2
        assert [bool(event.flags & Flag.ORPHAN) for event in found] == [True, True]

    def test_an_id_that_is_taken_makes_an_orphan_of_another_name(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        lines = [
            header(3),
            said("a", "a", None),
            said("b", "b", "a"),
            said("again", "a", "b"),
            said("c", "c", "a"),
        ]
        found = read(store, tmp_path, *lines)
        assert ids(found) == ["a", "b", "a~4", "c"]
        assert parents(found) == [None, "a", None, "a"]
        assert found[2].flags & Flag.ORPHAN

    def test_an_id_taken_over_and_over_on_one_line_stays_apart(self, store: LmdbLog, tmp_path: Path) -> None:
        glued = b"".join(said(text, "a", None).rstrip() for text in "bcd") + b"\n"
        found = read(store, tmp_path, header(3), said("a", "a", None), glued)
        assert len(set(ids(found))) == 4

    @pytest.mark.parametrize("parent", ["nowhere", "a", "later", "", 5, False, "\ud800"])
    def test_a_parent_that_is_not_there_makes_an_orphan(
        self, store: LmdbLog, tmp_path: Path, parent: Any
    ) -> None:
        lines = [header(3), said("root", "root", None), said("a", "a", parent), said("l", "later", "a")]
        found = read(store, tmp_path, *lines)
        assert parents(found) == [None, None, "a"]
        assert [bool(event.flags & Flag.ORPHAN) for event in found] == [False, True, False]

    def test_an_orphan_begins_a_path_of_its_own(self, store: LmdbLog, tmp_path: Path) -> None:
        found = read(
            store, tmp_path, header(3), said("a", "a", None), said("b", "b", "zzz"), said("c", "c", "b")
        )
        assert [event.run_start for event in found] == [1, 2, 2]

    def test_a_null_parent_makes_a_root_that_is_no_orphan(self, store: LmdbLog, tmp_path: Path) -> None:
        found = read(store, tmp_path, header(3), said("a", "a", None), said("b", "b", None))
        assert [bool(event.flags & Flag.ORPHAN) for event in found] == [False, False]


class TestKinds:
    def test_an_unknown_type_is_kept_with_its_bytes(self, store: LmdbLog, tmp_path: Path) -> None:
        strange = entry("a", None, "größe:neu", deep={"x": [1.0, 1e-7]})
        found = read(store, tmp_path, header(3), strange)
        assert (found[0].kind, found[0].body) == ("größe:neu", strange.rstrip())

    @pytest.mark.parametrize(
        "kind",
        ["rewrite", "leaf_moved", "undone", "import", "decision", "observed_rewrite"],
    )
    def test_a_type_of_refolds_own_is_kept_apart(self, store: LmdbLog, tmp_path: Path, kind: str) -> None:
        strange = entry("b", "a", kind, targetId="a", targets="no")
        found = read(store, tmp_path, header(3), said("a", "a", None), strange, said("c", "c", "b"))
        assert (found[1].kind, found[1].is_entry) == (f"pi:{kind}", True)
        assert parents(found) == [None, "a", "b"]
        assert not any(event.flags & Flag.OVERLAID for event in found)

    @pytest.mark.parametrize("kind", [None, 5, "", "\ud800", "x" * 70_000, {}])
    def test_a_type_that_is_none_is_kept_as_untyped(self, store: LmdbLog, tmp_path: Path, kind: Any) -> None:
        assert read(store, tmp_path, header(3), entry("a", None, kind))[0].kind == "untyped"

    def test_pis_own_types_keep_their_names(self, store: LmdbLog, tmp_path: Path) -> None:
        own = sorted(KINDS)
        found = read(store, tmp_path, header(3), *[entry(f"e{kind}", None, kind) for kind in own])
        assert [event.kind for event in found] == own

    @pytest.mark.parametrize(("version", "role"), [(1, "custom"), (2, "custom"), (3, "hookMessage")])
    def test_a_hook_message_is_a_custom_one_up_to_version_2(
        self, store: LmdbLog, tmp_path: Path, version: int, role: str
    ) -> None:
        found = read(store, tmp_path, header(version), said("x", "a", None, role="hookMessage"))
        assert found[0].role == role


class TestTimes:
    @pytest.mark.parametrize(
        ("timestamp", "time"),
        [
            ("2025-11-20T23:33:50.805Z", 1763681630805),
            (1763681630805, 1763681630805),
            ("not a time", None),
            (None, None),
            (True, None),
        ],
    )
    def test_the_time_of_an_event_is_its_timestamp(
        self, store: LmdbLog, tmp_path: Path, timestamp: Any, time: int | None
    ) -> None:
        found = read(store, tmp_path, header(3), entry("a", None, timestamp=timestamp))
        assert found[0].time == time


class TestDamage:
    def remarks(self, log: LmdbLog, folder: Path, *lines: bytes) -> list[Remark]:
        return bring(log, folder, b"".join(lines)).skipped

    def test_blank_lines_are_passed_over_in_silence(self, store: LmdbLog, tmp_path: Path) -> None:
        assert (
            self.remarks(store, tmp_path, b"\n", header(3), b"\n  \t\r\n", said("a", "a", None), b"\n") == []
        )
        assert len(events(store, SESSION)) == 2

    def test_windows_line_ends_and_a_byte_order_mark_do_not_matter(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        plain = header(3) + said("a", "a", None) + said("b", "b", "a")
        found = read(store, tmp_path, b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
        assert ids(found) == ["a", "b"]
        assert found[0].body == said("a", "a", None).rstrip()

    def test_a_last_line_without_an_end_is_a_line(self, store: LmdbLog, tmp_path: Path) -> None:
        assert ids(read(store, tmp_path, header(3), said("a", "a", None).rstrip())) == ["a"]

    @pytest.mark.parametrize(
        ("broken", "like"),
        [
            (b"{broken\n", b"{"),
            (b"\xff\xfe\n", b"{"),
            (b"42\n", b"42"),
            (b"[]\n", b"42"),
            (b'{"type":"custom","x":NaN}\n', b"{"),
            (b'{"type":"custom","x":"\\q"}\n', b"{"),
            (b'{"type":"custom","x":' + b"[" * 100_000 + b"\n", b"[" * 100_000),
            (b'{"type":"custom","x":' + b"[" * 500 + b"]" * 500 + b"}\n", b"[" * 100_000),
        ],
        ids=range(8),
    )
    def test_a_line_that_is_no_record_is_reported_with_its_number_and_what_is_wrong_with_it(
        self, store: LmdbLog, tmp_path: Path, broken: bytes, like: bytes
    ) -> None:
        lines = [header(3), said("a", "a", None), broken, said("b", "b", "a")]
        assert self.remarks(store, tmp_path, *lines) == [Remark(3, objects_in(like, PI)[1])]
        assert ids(events(store, SESSION))[:2] == ["a", "b"]

    def test_a_record_whose_reading_fails_is_skipped_and_the_others_are_not(
        self, store: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def facts_of_node(node: Node, kind: str, record: bytes) -> EventFacts:
            return real(node, kind, record) if kind != "custom" else EventFacts(utf8=1 // 0)

        real = pi_file.facts_of_node
        monkeypatch.setattr(pi_file, "facts_of_node", facts_of_node)
        content = b"".join([header(), said("a", "a", None), entry("odd", "a"), said("b", "b", "a")])
        found = bring(store, tmp_path, content)
        assert (found.events, [remark.line for remark in found.skipped]) == (2, [3])
        assert original(store) == content

    def test_a_line_whose_search_fails_is_skipped_and_the_others_are_not(
        self, store: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def found_in(text: bytes, dialect: Dialect) -> Any:
            return objects_in(text, dialect) if text != b"torn" else 1 // 0

        monkeypatch.setattr(pi_file, "objects_in", found_in)
        found = bring(store, tmp_path, header() + said("a", "a", None) + b"torn\n" + said("b", "b", "a"))
        assert (found.events, [remark.line for remark in found.skipped]) == (2, [3])

    def test_a_torn_last_line_is_reported(self, store: LmdbLog, tmp_path: Path) -> None:
        lines = [header(3), said("a", "a", None), said("b", "b", "a")[:-9]]
        (torn,) = self.remarks(store, tmp_path, *lines)
        assert torn.line == 3
        assert torn.reason != objects_in(b"{", PI)[1]

    def test_a_second_header_is_reported_and_is_no_record(self, store: LmdbLog, tmp_path: Path) -> None:
        lines = [header(3), said("a", "a", None), header(3), said("b", "b", "a")]
        assert [remark.line for remark in self.remarks(store, tmp_path, *lines)] == [3]
        assert ids(events(store, SESSION))[:2] == ["a", "b"]

    def test_two_records_on_one_line_are_both_recovered(self, store: LmdbLog, tmp_path: Path) -> None:
        glued = said("a", "a", None).rstrip() + b"  " + said("b", "b", "a")
        found = read(store, tmp_path, header(3), glued, said("c", "c", "b"))
        assert ids(found) == ["a", "b", "c"]
        assert [event.body for event in found[:2]] == [
            said("a", "a", None).rstrip(),
            said("b", "b", "a").rstrip(),
        ]

    @pytest.mark.parametrize(
        ("record", "told"),
        [
            ({"type": "message", "message": None}, 1),
            ({"type": "message", "message": {"role": "user", "content": "x"}}, 0),
            ({"type": "custom", "parentId": 7}, 1),
            ({"type": "custom", "parentId": None}, 0),
            ({"type": "compaction", "summary": "s", "firstKeptEntryId": "nope"}, 1),
            ({"type": "compaction", "summary": "s", "firstKeptEntryId": "b"}, 1),
            ({"type": "compaction", "summary": "s", "firstKeptEntryId": "a"}, 0),
            ({"type": "compaction", "summary": "s", "firstKeptEntryId": ""}, 0),
        ],
    )
    def test_a_record_with_a_field_that_says_nothing_is_kept_and_told_with_its_line(
        self, store: LmdbLog, tmp_path: Path, record: dict[str, Any], told: int
    ) -> None:
        found = bring(
            store, tmp_path, header(3) + said("a", "a", None) + line({"id": "b", "parentId": "a", **record})
        )
        assert (found.added, found.skipped) == (2, [])
        assert [remark.line for remark in found.differs_from_harness] == [3] * told

    def test_two_records_on_one_line_are_told_to_differ_from_pi(self, store: LmdbLog, tmp_path: Path) -> None:
        glued = said("a", "a", None).rstrip() + said("b", "b", "a")
        found = bring(store, tmp_path, header(3) + glued)
        assert [remark.line for remark in found.differs_from_harness] == [2]

    @pytest.mark.parametrize(
        "record",
        [lambda _: b'{"type":"message" }', lambda number: b'{"type":"message","id":"a","x":%d}' % number],
        ids=["no id", "one id"],
    )
    def test_the_work_for_ids_in_one_line_grows_with_their_number(
        self, tmp_path: Path, record: Callable[[int], bytes]
    ) -> None:
        head_of_file = find_header(BytesIO(header(3)), "file")

        def calls(many: int) -> int:
            text = b"".join(map(record, range(many)))
            made = 0

            def count(*_: object) -> None:
                nonlocal made
                made += 1

            path = tmp_path / "file"
            path.write_bytes(text)
            with path.open("rb") as file:
                seen = SeenRecords(Source(file, path, "file"))
                reader, before = PiReader(head_of_file, seen), sys.getprofile()
                sys.setprofile(count)
                try:
                    found = reader.line(2, text, 0)
                finally:
                    sys.setprofile(before)
            assert len({event.id for _, _, event in found.records}) == many
            return made

        assert calls(800) < 10 * calls(100)

    def test_ids_in_one_line_are_numbered(self, store: LmdbLog, tmp_path: Path) -> None:
        copies = [said(text, "a", None).rstrip() for text in "xyz"]
        found = read(store, tmp_path, header(3), said("a", "a", None), b"".join(copies) + b"\n")
        assert ids(found) == ["a", "a~3", "a~3.2", "a~3.3"]

    def test_an_id_that_a_number_would_give_and_a_record_has_is_passed_over(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        lines = [said("a", "a", None), said("b", "a~4", None), said("c", "a", None)]
        assert ids(read(store, tmp_path, header(3), *lines)) == ["a", "a~4", "a~4.2"]

    def test_a_record_behind_a_torn_one_is_recovered(self, store: LmdbLog, tmp_path: Path) -> None:
        glued = said("a", "a", None)[:-9] + said("b", "b", None)
        assert ids(read(store, tmp_path, header(3), glued)) == ["b"]

    def test_bytes_that_are_no_utf_8_are_kept_as_they_came(self, store: LmdbLog, tmp_path: Path) -> None:
        damaged = said("aXb", "a", None).replace(b"X", b"\xff")
        found = read(store, tmp_path, header(3), damaged)
        assert found[0].body == damaged.rstrip()
        assert found[0].flags & Flag.REPLACED_TEXT

    @pytest.mark.parametrize("separator", [b"\x0b", b"\x0c", b"\xe2\x80\xa8", b"\r"])
    def test_only_line_feeds_end_lines(self, store: LmdbLog, tmp_path: Path, separator: bytes) -> None:
        text = said("aXb", "a", None).replace(b"X", separator if separator > b"\x20" else b"")
        assert ids(read(store, tmp_path, header(3), text)) == ["a"]


class TestHeaders:
    def test_the_session_is_named_by_the_header(self, store: LmdbLog, tmp_path: Path) -> None:
        assert bring(store, tmp_path, header(3, session="größe")).id == "größe"

    @pytest.mark.parametrize(
        ("number", "format"),
        [("1", "pi/1"), ("2", "pi/2"), ("3", "pi/3"), ("2.0", "pi/2"), ("null", "pi/1"), ("0", "pi/1")],
    )
    def test_the_version_is_that_of_the_header(
        self, store: LmdbLog, tmp_path: Path, number: str, format: str
    ) -> None:
        head = header(3).replace(b'"version":3', b'"version":' + number.encode())
        assert bring(store, tmp_path, head + said("a", "a", None)).format == format

    def test_other_fields_of_a_header_do_not_matter(self, store: LmdbLog, tmp_path: Path) -> None:
        head = header(1, provider="p", modelId="m", thinkingLevel="off", branchedFrom="/x")
        assert len(read(store, tmp_path, head, said("a"))) == 1

    def test_an_empty_session_is_a_session(self, store: LmdbLog, tmp_path: Path) -> None:
        assert bring(store, tmp_path, header(3)).events == 0
        assert import_file(store, tmp_path / "session.jsonl").added == 0

    def test_a_line_is_a_json_text(self) -> None:
        assert line({"a": 1}) == b'{"a":1}\n'
