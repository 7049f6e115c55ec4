"""Taking session files in: once, again, grown, cut, rewritten, damaged, under another name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eventstore import Event, EventLog, NewEvent, open_store
from eventstore.errors import BadInputError, EventConflictError
from eventstore.facts import facts_of
from eventstore.files.importing import ImportResult, import_file, import_sessions
from eventstore.harnesses.lines import REPEAT, objects_in
from eventstore.harnesses.pi.dialects import PI
from eventstore.lmdb.store import LmdbLog
from eventstore.log import AppendResult, SourceState
from eventstore.records import Import, Remark, record_of
from eventstore.verify import verify
from tests.support import sentences
from tests.support.events import NOW, events, leaf, session_names, stored, version
from tests.support.pi_files import SESSION, bring, entry, header, kept, original, said

H = header(3)
A, B, C, D = said("a", "a", None), said("b", "b", "a"), said("c", "c", "b"), said("d", "d", "c")
V1 = [header(1), said("a"), said("b"), kept(1), said("c")]


def entry_ids(log: EventLog, session: str = SESSION) -> list[str]:
    return [event.id for event in events(log, session) if event.is_entry]


class TestOnce:
    def test_every_record_becomes_an_event_with_its_bytes(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B)
        assert [found.body for found in events(log, SESSION)][:2] == [A.rstrip(), B.rstrip()]

    @pytest.mark.parametrize(
        "content", [H + A + B, H + B + A, H + A + B + A], ids=["in order", "not", "repeated"]
    )
    def test_what_another_process_imports_meanwhile_is_not_counted(
        self, log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
    ) -> None:
        append = type(log).append

        def after_another(itself: EventLog, *args: Any, **options: Any) -> AppendResult:
            monkeypatch.undo()
            assert bring(log, tmp_path, content).added == 2
            return append(itself, *args, **options)

        monkeypatch.setattr(type(log), "append", after_another)
        assert bring(log, tmp_path, content).added == 0

    def test_a_record_that_another_process_imports_otherwise_is_matched_again(
        self, log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        append = type(log).append

        def after_another(itself: EventLog, *args: Any, **options: Any) -> AppendResult:
            monkeypatch.undo()
            (tmp_path / "other").mkdir()
            bring(log, tmp_path / "other", H + A + B + C + said("another d", "d", "c"))
            return append(itself, *args, **options)

        monkeypatch.setattr(type(log), "append", after_another)
        found = bring(log, tmp_path, H + A + B + C + D)
        assert (found.id, found.added, found.rewritten) == (SESSION, 0, 1)

    def test_a_conflict_that_stays_is_an_error(
        self, log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def conflict(*_args: Any, **_options: Any) -> AppendResult:
            raise EventConflictError(SESSION, "a")

        monkeypatch.setattr(type(log), "append", conflict)
        with pytest.raises(EventConflictError):
            bring(log, tmp_path, H + A + B)

    def test_one_conflict_after_another_is_matched_again(
        self, log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        append, conflicts = type(log).append, ["b", "a"]

        def conflict(itself: EventLog, *args: Any, **options: Any) -> AppendResult:
            if conflicts:
                raise EventConflictError(SESSION, conflicts.pop())
            return append(itself, *args, **options)

        monkeypatch.setattr(type(log), "append", conflict)
        assert bring(log, tmp_path, H + A + B).added == 2

    def test_an_import_says_what_it_did(self, log: EventLog, tmp_path: Path) -> None:
        assert bring(log, tmp_path, H + A + b"broken\n" + B) == ImportResult(
            id=SESSION,
            earlier=None,
            format="pi/3",
            events=2,
            added=2,
            rewritten=0,
            diverged=False,
            skipped=[Remark(3, objects_in(b"{", PI)[1])],
            differs_from_harness=[],
            orphans=[],
            not_utf8=[],
        )

    def test_records_that_are_no_utf8_are_reported_with_their_lines(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        imported = bring(log, tmp_path, H + A + B.replace(b"}", b',"x":"caf\xe9"}', 1))
        assert [each.line for each in imported.not_utf8] == [3]
        assert "U+FFFD" in imported.not_utf8[0].reason

    def test_they_are_told_again_where_nothing_is_new_or_the_file_grew(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        odd = A.replace(b"}", b',"x":"caf\xe9"}', 1)
        bring(log, tmp_path, H + odd)
        assert [each.line for each in bring(log, tmp_path, H + odd).not_utf8] == [2]
        assert [each.line for each in bring(log, tmp_path, H + odd + B).not_utf8] == [2]

    def test_an_import_is_recorded_off_the_path(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B)
        last = events(log, SESSION)[-1]
        record = record_of("import", last.body)
        assert isinstance(record, Import)
        assert (last.is_entry, record.source_format, record.records, record.size) == (
            False,
            "pi/3",
            2,
            len(H + A + B),
        )
        assert bytes(record.header) == H.rstrip()

    def test_the_session_remembers_its_file(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A)
        with log.snapshot() as snapshot:
            assert snapshot.head(SESSION).source == str(tmp_path / "session.jsonl")

    def test_progress_ends_at_the_size_of_the_file(self, log: EventLog, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(H + A + B)
        told: list[tuple[int, int]] = []
        import_file(log, tmp_path / "file", progress=lambda done, size: told.append((done, size)))
        assert told[-1] == (len(H + A + B), len(H + A + B))
        assert told == sorted(told)

    @pytest.mark.slow
    def test_many_records_go_in_several_appends(self, store: LmdbLog, tmp_path: Path) -> None:
        lines = [entry(f"e{number}", None) for number in range(5000)]
        assert bring(store, tmp_path, H + b"".join(lines)).added == 5000
        assert original(store) == H + b"".join(lines)

    def test_the_same_file_gives_the_same_chain_in_another_store(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        content = H + A + b"\n\nbroken\n" + B + C.rstrip()
        bring(store, tmp_path, content)
        with open_store(tmp_path / "other", clock=lambda: NOW + 1) as other:
            bring(other, tmp_path, content, name="elsewhere.jsonl")
            assert events(store, SESSION)[-1].digest == events(other, SESSION)[-1].digest


class TestAgain:
    @pytest.mark.parametrize(
        "content", [H, H.rstrip(), H + A + B, H + A + B.rstrip(), H + A + B[:-9], b"".join(V1)]
    )
    def test_the_same_file_again_adds_nothing(self, log: EventLog, tmp_path: Path, content: bytes) -> None:
        first = bring(log, tmp_path, content)
        before = version(log, SESSION)
        again = bring(log, tmp_path, content)
        assert again == msgspec.structs.replace(first, added=0)
        assert version(log, SESSION) == before

    def test_the_same_file_from_elsewhere_adds_nothing(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A)
        assert bring(log, tmp_path, H + A, name="copy.jsonl").added == 0
        assert session_names(log) == [SESSION]

    def test_an_import_that_died_before_its_end_is_taken_up(self, store: LmdbLog, tmp_path: Path) -> None:
        with open_store(tmp_path / "other") as other:
            bring(other, tmp_path, H + A + B)
            half = events(other, SESSION)[:1]
        store.append(SESSION, [_new(found) for found in half])
        assert bring(store, tmp_path, H + A + B).added == 1
        assert entry_ids(store) == ["a", "b"]
        assert original(store) == H + A + B


def _new(found: Event) -> NewEvent:
    return NewEvent(
        id=found.id,
        kind=found.kind,
        body=found.body,
        format=found.format,
        parent=found.parent,
        time=found.time,
        facts=facts_of(found),
    )


class TestRepeats:
    def test_a_repeat_is_kept_and_adds_no_event(self, log: EventLog, tmp_path: Path) -> None:
        doubled = H + A + A + B + B
        found = bring(log, tmp_path, doubled)
        assert (found.events, found.added, found.differs_from_harness) == (2, 2, [])
        assert found.skipped == [Remark(3, REPEAT), Remark(5, REPEAT)]
        assert (entry_ids(log), leaf(log, SESSION), original(log)) == (["a", "b"], "b", doubled)
        assert bring(log, tmp_path, doubled).added == 0
        assert verify(log).findings == []

    def test_a_repeat_at_the_end_without_a_line_end_adds_no_event(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        content = H + A + B + B.rstrip()
        assert bring(log, tmp_path, content).events == 2
        assert (entry_ids(log), leaf(log, SESSION), original(log)) == (["a", "b"], "b", content)

    @pytest.mark.parametrize("other", [said("otherwise", "a", None), A.replace(b'"user"', b'"USER"')])
    def test_a_record_of_the_same_id_and_other_bytes_is_no_repeat(
        self, log: EventLog, tmp_path: Path, other: bytes
    ) -> None:
        found = bring(log, tmp_path, H + A + other + A)
        assert (entry_ids(log), [each.line for each in found.skipped]) == (["a", "a~3"], [4])

    def test_a_record_that_repeats_one_in_the_middle_of_a_line_is_a_repeat(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        found = bring(log, tmp_path, H + A.rstrip() + B + B)
        assert (entry_ids(log), found.skipped) == (["a", "b"], [Remark(3, REPEAT)])

    def test_records_without_ids_or_of_version_1_are_no_repeats(self, log: EventLog, tmp_path: Path) -> None:
        no_id = said("x", None, None)
        assert bring(log, tmp_path, H + no_id + no_id).events == 2
        assert bring(log, tmp_path, header(1, session="old") + A + A).events == 2

    @pytest.mark.parametrize("end", [b"\n", b""])
    def test_an_older_record_as_the_last_is_told_until_another_follows(
        self, log: EventLog, tmp_path: Path, end: bytes
    ) -> None:
        content = H + A + B + A.rstrip() + end
        assert [each.line for each in bring(log, tmp_path, content).differs_from_harness] == [4]
        again = content + b"\n" * 2
        assert [each.line for each in bring(log, tmp_path, again).differs_from_harness] == [4]
        assert bring(log, tmp_path, again + C).differs_from_harness == []


class TestGrown:
    def test_a_grown_file_adds_what_is_new(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A)
        grown = bring(log, tmp_path, H + A + B + C)
        assert (grown.events, grown.added) == (3, 2)
        assert entry_ids(log) == ["a", "b", "c"]

    @pytest.mark.slow
    def test_every_way_of_growing_ends_at_the_same_entries(self, log: EventLog, tmp_path: Path) -> None:
        content = H + A + b"\r\n" + B[:-1] + b" " + C + b"broken\n" + D.rstrip()
        for name, steps in {"once": [], "bytes": range(len(H), len(content), 7), "half": [300]}.items():
            named = f"session-{name}"
            for size in [*steps, len(content)]:
                whole = content[:size].replace(SESSION.encode(), named.encode())
                bring(log, tmp_path, whole, name=name)
            assert entry_ids(log, named) == entry_ids(log, "session-once")
            assert original(log, named) == content.replace(SESSION.encode(), named.encode())
        assert verify(log).findings == []

    def test_a_record_that_had_no_line_end_is_not_added_twice(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B.rstrip())
        assert bring(log, tmp_path, H + A + B + C).added == 1
        assert entry_ids(log) == ["a", "b", "c"]

    def test_a_torn_record_is_added_when_it_is_whole(self, log: EventLog, tmp_path: Path) -> None:
        torn = bring(log, tmp_path, H + A + B[:-20])
        assert [remark.line for remark in torn.skipped] == [3]
        whole = bring(log, tmp_path, H + A + B + C)
        assert (whole.added, whole.skipped) == (2, [])

    def test_a_record_that_is_finished_while_the_file_is_read_is_added_by_the_next_import(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        # So long that progress is reported behind it, before the torn record is read.
        long = said("a" * 100_000, "a", None)
        path, content = tmp_path / "session.jsonl", H + long + B + C + D
        path.write_bytes((H + long + B)[:-20])

        def goes_on(*_: int) -> None:
            path.write_bytes(content[:-20])

        import_file(log, path, progress=goes_on)
        assert original(log) == (H + long + B)[:-20]
        bring(log, tmp_path, content)
        assert [(each.id, each.parent) for each in events(log, SESSION) if each.is_entry] == [
            ("a", None),
            ("b", "a"),
            ("c", "b"),
            ("d", "c"),
        ]
        assert original(log) == content

    def test_a_header_without_a_line_end_may_grow(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H.rstrip())
        assert bring(log, tmp_path, H + A).id == SESSION

    def test_what_was_skipped_before_is_still_told(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + b"broken\n" + A)
        grown = bring(log, tmp_path, H + b"broken\n" + A + b"broken too\n" + B)
        assert [remark.line for remark in grown.skipped] == [2, 4]

    @pytest.mark.parametrize("cut", [2, 3, 4])
    def test_a_grown_file_of_version_1_gets_the_ids_of_a_whole_one(
        self, log: EventLog, tmp_path: Path, cut: int
    ) -> None:
        bring(log, tmp_path, b"".join(V1[:cut]))
        bring(log, tmp_path, b"".join(V1))
        whole = bring(log, tmp_path, b"".join([header(1, session="whole"), *V1[1:]]), name="whole")
        one, two = (
            [
                (found.parent_seq > 0, found.kind, found.target_seq > 0)
                for found in events(log, name)
                if found.is_entry
            ]
            for name in (SESSION, whole.id)
        )
        assert one == two

    def test_ids_used_again_in_the_new_part_are_as_in_a_whole_file(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        # pi appends all that it has again to a file that had no assistant's message yet.
        twice = H + A + B + H + A + B + C
        bring(log, tmp_path, H + A + B)
        bring(log, tmp_path, twice)
        with_whole = bring(log, tmp_path, twice.replace(SESSION.encode(), b"whole"), name="whole")
        assert entry_ids(log) == entry_ids(log, with_whole.id) == ["a", "b", "c"]

    def test_ids_of_other_records_in_the_new_part_are_as_in_a_whole_file(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        other = said("otherwise", "a", None)
        bring(log, tmp_path, H + A + B)
        bring(log, tmp_path, H + A + B + other + C)
        whole = (H + A + B + other + C).replace(SESSION.encode(), b"whole")
        with_whole = bring(log, tmp_path, whole, name="whole")
        assert entry_ids(log) == entry_ids(log, with_whole.id) == ["a", "b", "a~4", "c"]

    def test_a_repeat_in_the_new_part_adds_no_event(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B)
        found = bring(log, tmp_path, H + A + B + B)
        assert (found.events, found.added, leaf(log, SESSION)) == (2, 0, "b")
        assert found.skipped == [Remark(4, REPEAT)]
        assert original(log) == H + A + B + B

    def test_the_leaf_follows_a_file_that_grew(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A)
        assert not bring(log, tmp_path, H + A + B).diverged
        assert leaf(log, SESSION) == "b"


class TestCut:
    @pytest.mark.parametrize("content", [H, H.rstrip(), H + A, H + A.rstrip(), H + A + B[:-9]])
    def test_a_shorter_state_of_a_file_adds_nothing(
        self, log: EventLog, tmp_path: Path, content: bytes
    ) -> None:
        bring(log, tmp_path, H + A + B + C)
        cut = bring(log, tmp_path, content)
        assert (cut.id, cut.added) == (SESSION, 0)
        assert entry_ids(log) == ["a", "b", "c"]
        assert original(log) == content

    @pytest.mark.slow
    def test_states_of_a_file_may_come_in_any_order(self, log: EventLog, tmp_path: Path) -> None:
        states = [H + A + B, H + A, H + A + B + C, H, H + A + B + C, H + A[:-5], H + A + B, H + A + B + C + D]
        for content in [*states, *states]:
            assert bring(log, tmp_path, content).id == SESSION
            assert original(log) == content
        assert entry_ids(log) == ["a", "b", "c", "d"]
        assert verify(log).findings == []

    def test_a_circle_of_parents_stays_as_it_is(self, log: EventLog, tmp_path: Path) -> None:
        forward = H + said("a", "a", "b") + said("b", "b", "a") + said("c", "c", "b")
        for content in (forward, forward[: len(H) + 10], forward, H + said("a", "a", "b"), forward):
            bring(log, tmp_path, content)
            assert original(log) == content
        assert [stored(log, SESSION, name).parent for name in "abc"] == [None, "a", "b"]

    def test_a_cut_file_that_grows_elsewhere_branches(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B)
        bring(log, tmp_path, H + A)
        other = said("other", "x", "a")
        assert bring(log, tmp_path, H + A + other).added == 1
        assert stored(log, SESSION, "x").parent == "a"
        assert original(log) == H + A + other


class TestNames:
    def test_a_file_may_be_taken_as_another_session(self, log: EventLog, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(H + A)
        assert import_file(log, tmp_path / "file", name="mine").id == "mine"
        assert original(log, "mine") == H + A
        assert import_file(log, tmp_path / "file", name="mine").added == 0

    def test_a_name_that_is_taken_by_another_file_makes_a_generation(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, header(3, session="mine") + said("x", "x", None))
        (tmp_path / "file").write_bytes(H + A)
        assert import_file(log, tmp_path / "file", name="mine").id == "mine~2"

    @pytest.mark.skipif(os.name == "nt", reason="file names are text here")
    def test_a_file_name_that_is_no_text_is_no_hindrance(self, log: EventLog, tmp_path: Path) -> None:
        path = os.fsencode(tmp_path) + b"/s\xff.jsonl"
        with open(path, "wb") as file:
            file.write(H + A)
        assert import_file(log, os.fsdecode(path)).added == 1
        with log.snapshot() as snapshot:
            assert snapshot.head(SESSION).source.endswith("s\ufffd.jsonl")


class TestRefused:
    def refusal(self, log: EventLog, path: Path) -> BadInputError:
        with pytest.raises(BadInputError) as caught:
            import_file(log, path)
        assert "\n" not in str(caught.value)
        assert caught.value.source == str(path)
        assert session_names(log) == []
        return caught.value

    def test_a_file_that_is_not_there_a_folder_an_empty_file_and_one_without_any_record_are_told_apart(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        (tmp_path / "empty").write_bytes(b"")
        (tmp_path / "text").write_bytes(b"plain text\nmore\n")
        paths = [tmp_path / "file", tmp_path, tmp_path / "empty", tmp_path / "text"]
        refusals = [self.refusal(log, path) for path in paths]
        assert [refused.line for refused in refusals] == [None] * 4
        assert len({refused.problem for refused in refusals}) == 4

    @pytest.mark.parametrize(
        ("content", "line"),
        [
            (b"\x89PNG\r\n\x1a\n\0\0\0", 3),
            (b'{"type":"title","v":1}\n' + H, 1),
            (b'{"uuid":"x"}\n', 1),
            (header(3).replace(b":3", b":4"), 1),
        ],
    )
    def test_a_file_that_is_no_session_of_pi(
        self, log: EventLog, tmp_path: Path, content: bytes, line: int
    ) -> None:
        (tmp_path / "file").write_bytes(content)
        assert self.refusal(log, tmp_path / "file").line == line

    def test_a_session_name_too_long_for_a_store(self, log: EventLog, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(header(3, session="x" * 500) + A)
        with pytest.raises(BadInputError) as caught:
            import_file(log, tmp_path / "file")
        assert {1, 480} <= {*sentences.numbers(str(caught.value))}


class TestWithoutAHeader:
    @pytest.mark.parametrize(
        "content", [A + B, said("a") + said("b"), H[:-9] + A, header(3, session=None) + A]
    )
    def test_a_file_without_a_usable_header_is_taken_in_all_the_same(
        self, log: EventLog, tmp_path: Path, content: bytes
    ) -> None:
        found = bring(log, tmp_path, content)
        assert found.events >= 1
        assert original(log, found.id) == content
        assert bring(log, tmp_path, content) == msgspec.structs.replace(found, added=0)

    def test_a_lone_surrogate_is_no_name(self, log: EventLog, tmp_path: Path) -> None:
        content = header(3, session="\ud800") + A
        found = bring(log, tmp_path, content)
        assert found.id.startswith("noid-")
        assert original(log, found.id) == content


def replace_file(path: Path) -> None:
    new = path.with_name("new")
    new.write_bytes(path.read_bytes())
    os.utime(new, ns=(5, 5))
    new.replace(path)


class TestStatesOfFiles:
    def test_an_import_remembers_the_file_as_it_was(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + b'{"torn')
        path = tmp_path / "session.jsonl"
        os.utime(path, ns=(5, 5))
        import_sessions(log, path)
        status = path.stat()
        with log.snapshot() as snapshot:
            found = snapshot.source(os.fsencode(path))
        assert found == SourceState(
            path=os.fsencode(path),
            size=len(H + A) + 6,
            modified=5,
            device=status.st_dev,
            inode=status.st_ino,
            read=len(H + A),
            harness="pi",
            sessions=(SESSION,),
        )
        assert found.matches(status)

    def test_a_file_that_changed_just_before_is_read_again(self, log: EventLog, tmp_path: Path) -> None:
        # A change in the same step of the clock would keep the time.
        bring(log, tmp_path, H + A)
        with log.snapshot() as snapshot:
            found = snapshot.source(os.fsencode(tmp_path / "session.jsonl"))
        assert found is not None
        assert not found.matches((tmp_path / "session.jsonl").stat())

    @pytest.mark.parametrize("change", [lambda path: os.utime(path, ns=(6, 6)), replace_file])
    def test_a_file_that_was_touched_orreplace_filed_is_none_that_is_known(
        self, log: EventLog, tmp_path: Path, change: Callable[[Path], None]
    ) -> None:
        path = tmp_path / "session.jsonl"
        path.write_bytes(H + A)
        os.utime(path, ns=(5, 5))
        import_sessions(log, path)
        change(path)
        with log.snapshot() as snapshot:
            found = snapshot.source(os.fsencode(path))
        assert found is not None
        assert not found.matches(path.stat())

    def test_an_import_under_another_name_is_not_remembered(self, log: EventLog, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(H + A)
        import_file(log, tmp_path / "file", name="other")
        with log.snapshot() as snapshot:
            assert list(snapshot.sources()) == []

    def test_a_repeated_import_of_an_unchanged_file_appends_nothing(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        path = tmp_path / "session.jsonl"
        path.write_bytes(H + A)
        os.utime(path, ns=(5, 5))
        import_sessions(store, path)
        before = store._shared.environment().info()["last_txnid"]
        import_sessions(store, path)
        assert store._shared.environment().info()["last_txnid"] == before
