"""One session, several files: rewritten, changed in places, gone on elsewhere, exported and continued."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from eventstore import AppendResult, EventLog, NewEvent, SessionWriter
from eventstore.files import batching
from eventstore.files.batching import BATCH_EVENTS
from eventstore.files.exporting import export_session
from eventstore.files.importing import import_file
from eventstore.files.matching import ComparisonResult
from eventstore.harnesses.names import is_reserved
from eventstore.imports import earlier_generation, generations, observed_rewrites
from eventstore.memory import MemoryLog
from eventstore.records import Custom, CustomMessage, Label
from eventstore.verify import verify
from projections.context.build import build_context
from tests.support import claude_code
from tests.support.events import NOW, events, leaf, message, session_names, stored, version
from tests.support.pi_files import SESSION, bring, entry, header, kept, line, original, said

H = header(3)
A, B, C, D = said("a", "a", None), said("b", "b", "a"), said("c", "c", "b"), said("d", "d", "c")
MOVED = said("c", "c", "a")
MANY = b"".join(said("x", f"x{number}", "a") for number in range(2 * BATCH_EVENTS + 8))
V1 = [header(1), said("a"), said("b"), kept(1), said("c")]

LOOSE_HEADERS = [
    header(3, cwd="\ud800"),
    header(3, cwd="X").replace(b"X", b"\xff"),
    header(3).replace(b"}", b',"x":1e999}'),
    header(3, x=[[]]).replace(b"[[]]", b"[" * 400 + b"]" * 400),
]


def _damaged(record: bytes, damage: bytes) -> bytes:
    return record.replace(b'"content":"a"', b'"content":' + damage)


class TestRewritten:
    def test_a_file_that_says_otherwise_becomes_a_generation(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B)
        other = H + said("other", "a", None) + said("other", "b", "a")
        assert bring(log, tmp_path, other).id == f"{SESSION}~2"
        assert [original(log), original(log, f"{SESSION}~2")] == [H + A + B, other]

    def test_a_generation_is_linked_to_the_one_before(self, log: EventLog, tmp_path: Path) -> None:
        for text in ("one", "two", "three"):
            bring(log, tmp_path, H + said(text, "a", None))
        links = {
            name: [found.body for found in events(log, name) if found.kind == "link"]
            for name in session_names(log)
        }
        assert [len(found) for found in links.values()] == [0, 1, 1]
        assert SESSION.encode() in links[f"{SESSION}~2"][0]
        assert f"{SESSION}~2".encode() in links[f"{SESSION}~3"][0]

    def test_each_generation_grows_by_itself(self, log: EventLog, tmp_path: Path) -> None:
        old, new = H + A + B, H + said("other", "a", None) + said("other", "b", "a")
        for content in (old, new):
            bring(log, tmp_path, content)
        assert bring(log, tmp_path, new + C).id == f"{SESSION}~2"
        assert bring(log, tmp_path, old + D.replace(b'"c"', b'"b"')).id == SESSION
        assert bring(log, tmp_path, new + C).added == 0
        assert session_names(log) == [SESSION, f"{SESSION}~2"]

    def test_other_ids_throughout_make_a_generation(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, b"".join(V1))
        assert bring(log, tmp_path, H + A + B).id == f"{SESSION}~2"

    def test_a_changed_record_among_many_is_observed(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B + C)
        changed = H + said("changed", "a", None) + B + C
        found = bring(log, tmp_path, changed)
        assert (found.id, found.added, found.rewritten) == (SESSION, 0, 1)
        assert stored(log, SESSION, "a").body == A.rstrip()
        assert original(log) == changed
        assert verify(log).findings == []

    def test_a_record_changed_to_and_fro_is_observed_each_time(self, log: EventLog, tmp_path: Path) -> None:
        states = [H + A + B + C, H + said("changed", "a", None) + B + C]
        for content in states * 3:
            assert bring(log, tmp_path, content).id == SESSION
            assert original(log) == content
        assert len([found for found in events(log, SESSION) if found.kind == "observed_rewrite"]) == 5

    def test_a_changed_last_record_without_a_line_end_does_no_harm(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, H + A + B.rstrip())
        changed = H + A + said("changed", "b", "a").rstrip()
        found = bring(log, tmp_path, changed)
        assert original(log, found.id) == changed
        assert stored(log, SESSION, "b").body == B.rstrip()

    @pytest.mark.parametrize(
        ("old", "new"), [(header(2), header(3)), (H, header(3, cwd="/elsewhere")), (H, header(3) + b"\n")]
    )
    def test_another_header_over_the_same_records_adds_none(
        self, log: EventLog, tmp_path: Path, old: bytes, new: bytes
    ) -> None:
        bring(log, tmp_path, old + A + B)
        found = bring(log, tmp_path, new + A + B)
        assert (found.id, found.added) == (SESSION, 0)
        assert original(log) == new + A + B

    def test_a_record_below_another_parent_is_reported_and_stays(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B + C)
        (remark,) = bring(log, tmp_path, H + A + B + MOVED).differs_from_harness
        assert (remark.line, stored(log, SESSION, "c").parent) == (4, "b")
        assert "another name" in remark.reason

    def test_under_another_name_a_record_is_below_the_parent_that_it_has_now(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, H + A + B + C)
        (tmp_path / "session.jsonl").write_bytes(H + A + B + MOVED)
        import_file(log, tmp_path / "session.jsonl", name="now")
        assert (stored(log, "now", "c").parent, leaf(log, "now")) == ("a", "c")

    def test_a_file_that_lost_all_records_leaves_the_leaf(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B)
        bring(log, tmp_path, header(3, cwd="/elsewhere"))
        assert leaf(log, SESSION) == "b"

    def test_a_record_whose_parent_was_mended_does_no_harm(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + b"broken\n" + B)
        found = bring(log, tmp_path, H + A + B)
        assert original(log, found.id) == H + A + B


class TestDiverged:
    def write(self, log: EventLog, *records: object) -> list[str]:
        names = iter([f"own{number}" for number in range(9)])
        return SessionWriter(log, SESSION, clock=lambda: NOW, new_id=lambda: next(names)).append(*records)

    def test_the_leaf_stays_where_the_session_has_gone_on_by_itself(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, H + A)
        self.write(log, Custom(custom_type="mine"))
        grown = bring(log, tmp_path, H + A + B)
        assert grown.diverged
        newest = stored(log, SESSION, leaf(log, SESSION))
        assert (newest.kind, newest.parent) == ("leaf_moved", "own0")
        assert stored(log, SESSION, "b").parent == "a"

    def test_what_was_written_here_does_not_stop_the_file(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A)
        self.write(log, Custom(custom_type="mine"))
        for content in (H + A + B, H + A + B + C, H + A + B + C):
            bring(log, tmp_path, content)
            assert original(log) == content
        assert verify(log).findings == []

    def test_a_label_does_not_hold_the_leaf(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A)
        self.write(log, Label(target_id="a", label="here"))
        assert not bring(log, tmp_path, H + A + B).diverged
        assert leaf(log, SESSION) == "b"


class TestDamagedCopies:
    """Import a copy of a session's file in which one record has another id."""

    def damaged(self, record: bytes) -> bytes:
        name = json.loads(record)["id"]
        return (H + A + B + C + D).replace(f'"id":"{name}"'.encode(), b'"id":"x"')

    @pytest.mark.parametrize("record", [A, B, C])
    def test_a_new_record_before_known_ones_leaves_the_leaf(
        self, log: EventLog, tmp_path: Path, record: bytes
    ) -> None:
        bring(log, tmp_path, H + A + B + C + D)
        assert bring(log, tmp_path, self.damaged(record), name="copy.jsonl").added == 1
        newest = stored(log, SESSION, leaf(log, SESSION))
        assert (newest.kind, newest.parent) == ("leaf_moved", "d")
        assert verify(log).findings == []

    @pytest.mark.slow
    def test_as_many_new_records_as_fill_several_batches_leave_the_leaf(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, H + A + B + C)
        found = bring(log, tmp_path, H + A + MANY + B + C)
        assert (found.diverged, len(found.inserted)) == (False, 2 * BATCH_EVENTS + 8)
        assert stored(log, SESSION, leaf(log, SESSION)).parent == "c"

    @pytest.mark.slow
    def test_growth_behind_as_many_new_records_moves_the_leaf(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B + C)
        found = bring(log, tmp_path, H + A + MANY + B + C + D)
        assert (found.diverged, found.left, leaf(log, SESSION)) == (False, None, "d")

    def test_a_torn_import_of_one_leaves_the_leaf_too(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B + C + D)
        with pytest.raises(TornError):
            bring(Ending(log), tmp_path, self.damaged(B))
        assert not bring(log, tmp_path, self.damaged(B)).diverged
        assert stored(log, SESSION, leaf(log, SESSION)).parent == "d"

    def test_its_line_is_reported(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B + C + D)
        found = bring(log, tmp_path, self.damaged(B), name="copy.jsonl")
        assert [(each.line, "'x'" in each.reason) for each in found.inserted] == [(3, True)]

    def test_the_file_grows_on_from_where_it_stood(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B + C)
        bring(log, tmp_path, self.damaged(B).removesuffix(D), name="copy.jsonl")
        assert not bring(log, tmp_path, H + A + B + C + D).inserted
        assert leaf(log, SESSION) == "d"

    def test_it_comes_back_byte_for_byte(self, log: EventLog, tmp_path: Path) -> None:
        content = H + said("x", "x", None) + A
        bring(log, tmp_path, H + A)
        bring(log, tmp_path, content, name="copy.jsonl")
        assert original(log) == content

    def test_a_session_that_went_on_by_itself_stays_too(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B + C + D)
        own = SessionWriter(log, SESSION).append(Custom(custom_type="mine"))[0]
        bring(log, tmp_path, self.damaged(B), name="copy.jsonl")
        assert stored(log, SESSION, leaf(log, SESSION)).parent == own

    def test_a_session_that_went_on_by_itself_stays_when_the_file_grows_later(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, H + A + B + C)
        own = SessionWriter(log, SESSION).append(Custom(custom_type="mine"))[0]
        bring(log, tmp_path, H + A + said("changed", "b", "a") + C)
        assert bring(log, tmp_path, H + A + said("changed", "b", "a") + C + D).diverged
        assert stored(log, SESSION, leaf(log, SESSION)).parent == own

    def test_a_copy_that_ends_in_another_record_says_where_the_session_stood(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, H + A + B + C + D)
        found = bring(log, tmp_path, self.damaged(D), name="copy.jsonl")
        assert (leaf(log, SESSION), found.left) == ("x", "d")

    def test_growth_and_a_rewind_in_the_file_leave_nothing(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B)
        assert bring(log, tmp_path, H + A + B + C).left is None
        assert bring(log, tmp_path, H + A + B + C + said("e", "e", "a")).left is None

    @pytest.mark.parametrize(
        ("old", "new"), [(b'"id":"b"', b'"id":"b'), (b'"parentId":"a"', b'"parentId":"z"')]
    )
    def test_a_line_that_cannot_be_read_is_reported(
        self, log: EventLog, tmp_path: Path, old: bytes, new: bytes
    ) -> None:
        bring(log, tmp_path, H + A + B + C + D)
        found = bring(log, tmp_path, (H + A + B + C + D).replace(old, new), name="copy.jsonl")
        assert found.skipped or found.orphans


class TestContextsAndExports:
    """Read contexts and exports of a session that was imported from several files."""

    def texts(self, log: EventLog, **at: Any) -> list[str]:
        parts = build_context(log, SESSION, **at).parts
        return [str(json.loads(part.raw)["content"]) for part in parts]

    def test_contexts_show_a_changed_record_from_then_on_and_earlier_ones_do_not(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, H + A + B + C)
        before = version(log, SESSION)
        bring(log, tmp_path, H + A + said("changed", "b", "a") + C)
        assert self.texts(log) == ["a", "changed", "c"]
        assert self.texts(log, as_of=before) == ["a", "b", "c"]
        bring(log, tmp_path, H + A + B + C)
        assert self.texts(log) == ["a", "b", "c"]

    def test_a_session_that_has_gone_on_by_itself_shows_its_own(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A)
        own = SessionWriter(log, SESSION).append(CustomMessage(custom_type="note", content="ours"))[0]
        bring(log, tmp_path, H + A + B)
        assert self.texts(log) == self.texts(log, leaf=own) == ["a", "ours"]
        assert self.texts(log, leaf="b") == ["a", "b"]

    @pytest.mark.parametrize("number", [1, 3])
    def test_an_export_that_pi_has_continued_is_recognised(
        self, log: EventLog, tmp_path: Path, number: int
    ) -> None:
        names: list[tuple[Any, ...]] = [(), ()] if number == 1 else [("a", None), ("b", "a")]
        bring(log, tmp_path, header(number) + said("one", *names[0]) + said("two", *names[1]))
        own = SessionWriter(log, SESSION).append(CustomMessage(custom_type="note", content="ours"))[0]
        exported = b"".join(export_session(log, SESSION, "pi")) + said("more", "z", own)
        found = bring(log, tmp_path, exported)
        assert (found.id, found.added, found.rewritten, found.diverged) == (SESSION, 1, 0, False)
        assert self.texts(log) == ["one", "two", "ours", "more"]
        assert original(log) == exported

    def test_growth_that_meets_an_id_of_another_file_is_observed(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, H + A + B + C)
        bring(log, tmp_path, H + A + B, name="short.jsonl")
        found = bring(log, tmp_path, H + A + B + said("another", "c", "b"), name="other.jsonl")
        assert (found.added, found.rewritten) == (0, 1)


class TestWhatOnlyALooseReaderTakes:
    @pytest.mark.parametrize("head", LOOSE_HEADERS)
    def test_a_header_that_pi_reads_is_read(self, log: EventLog, tmp_path: Path, head: bytes) -> None:
        for content in (head + A, head + A + B, head + A):
            assert bring(log, tmp_path, content).id == SESSION
            assert original(log) == content
        assert verify(log).findings == []

    @pytest.mark.parametrize("damage", [b'"\\ud800"', b'"\xff"', b"1e999", b"[" * 400 + b"]" * 400])
    def test_a_changed_record_that_pi_reads_is_observed(
        self, log: EventLog, tmp_path: Path, damage: bytes
    ) -> None:
        for content in (H + A + B + C, H + _damaged(A, damage) + B + C) * 2:
            assert bring(log, tmp_path, content).id == SESSION
            assert original(log) == content
        assert verify(log).findings == []


class TestComparing:
    @pytest.mark.parametrize(
        ("same", "exported", "changed", "new", "is_of_session"),
        [
            (0, 0, 0, 0, True),
            (1, 0, 0, 5, True),
            (0, 1, 0, 5, True),
            (0, 0, 0, 5, False),
            (0, 0, 1, 0, False),
            (1, 0, 1, 0, False),
            (1, 1, 1, 0, True),
        ],
    )
    def test_a_file_is_a_sessions_if_more_agrees_than_not(
        self, same: int, exported: int, changed: int, new: int, *, is_of_session: bool
    ) -> None:
        compared = ComparisonResult(
            same=same,
            exported=frozenset(map(str, range(exported))),
            changed=dict.fromkeys(map(str, range(changed)), 0),
            new=new,
        )
        assert compared.is_of_session == is_of_session

    def test_generations_are_counted_from_the_first(self, log: EventLog) -> None:
        for name in ("s", "s~2", "s~4", "s~3x"):
            log.append(name, [message("a")])
        with log.snapshot() as snapshot:
            assert [head.name for head in generations(snapshot, "s")] == ["s", "s~2"]
            assert generations(snapshot, "nobody") == []

    def test_changed_records_are_found_oldest_first(self, log: EventLog, tmp_path: Path) -> None:
        changes = [said(text, "a", None) for text in ("one", "two")]
        for record in (A, *changes):
            bring(log, tmp_path, H + record + B + C)
        with log.snapshot() as snapshot:
            found = observed_rewrites(snapshot, SESSION)
            assert found == {1: [change.rstrip() for change in changes]}
            assert observed_rewrites(snapshot, SESSION, as_of=3) == {}


GROWN = [header(), said("one", "a", None), said("two", "b", "a"), said("three", "c", "b")]


def texts(log: EventLog) -> list[str]:
    return [json.loads(part.raw)["content"] for part in build_context(log, SESSION).parts]


class Busy:
    """A log to which somebody appends something of their own right after each batch of an import."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.own: list[str] = []

    def append(self, session: str, events: Sequence[NewEvent], **options: Any) -> AppendResult:
        done = self._log.append(session, events, **options)
        if events[0].kind == "message" and events[0].format.startswith("pi/"):
            note = CustomMessage(custom_type="note", content="ours, meanwhile")
            self.own += SessionWriter(self._log, session).append(note, parent=self.own[-1])
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_what_is_appended_while_a_file_is_imported_stays_on_the_path(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join(GROWN[:3]))
    busy = Busy(log)
    busy.own += SessionWriter(log, SESSION).append(CustomMessage(custom_type="note", content="ours"))
    done = bring(busy, tmp_path, b"".join(GROWN))
    assert done.diverged
    assert texts(log) == ["one", "two", "ours", "ours, meanwhile"]


class TornError(Exception):
    """The process ended."""


class Ending(Busy):
    """A log under which an import ends before it is recorded."""

    def append(self, session: str, events: Sequence[NewEvent], **options: Any) -> AppendResult:
        if any(each.kind == "import" for each in events):
            raise TornError
        return self._log.append(session, events, **options)


def test_a_small_new_session_is_stored_with_the_record_of_its_import_or_not_at_all(
    log: EventLog, tmp_path: Path
) -> None:
    with pytest.raises(TornError):
        bring(Ending(log), tmp_path, b"".join(GROWN))
    with log.snapshot() as snapshot:
        assert list(snapshot.heads()) == []


class Noting(Busy):
    """A log that notes after each commit its number of events, and the sizes of the files that it knows."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(log)
        self.commits: list[tuple[int, list[int]]] = []

    def append(self, session: str, events: Sequence[NewEvent], **options: Any) -> AppendResult:
        done = self._log.append(session, events, **options)
        with self._log.snapshot() as snapshot:
            self.commits.append((done.version, [each.size for each in snapshot.sources()]))
        return done


@pytest.mark.parametrize("batch", [1, BATCH_EVENTS])
def test_a_file_is_known_from_the_commit_of_its_last_events_on(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(batching, "BATCH_EVENTS", batch)
    before: list[int] = []
    for lines in GROWN[:3], GROWN:
        noting, size = Noting(log), len(b"".join(lines))
        bring(noting, tmp_path, b"".join(lines))
        *earlier, last = noting.commits
        assert last == (version(log, SESSION), [size])
        assert [sizes for _, sizes in earlier] == [before] * len(earlier)
        assert earlier or batch > 1
        before = [size]


def test_new_records_are_appended_with_their_import(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join(GROWN[:3]))
    noting = Noting(log)
    assert bring(noting, tmp_path, b"".join(GROWN)).added == 1
    assert len(noting.commits) == 1
    assert texts(log) == ["one", "two", "three"]
    assert verify(log).findings == []


class Hurried(Busy):
    """A log to which somebody appends something of their own right before the first append of an import."""

    def append(self, session: str, events: Sequence[NewEvent], **options: Any) -> AppendResult:
        if not self.own:
            note = CustomMessage(custom_type="note", content="ours")
            self.own += SessionWriter(self._log, session).append(note)
        return self._log.append(session, events, **options)


def test_an_own_entry_before_an_import_is_kept(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join(GROWN[:3]))
    done = bring(Hurried(log), tmp_path, b"".join(GROWN))
    assert (done.added, done.diverged) == (1, True)
    assert texts(log) == ["one", "two", "ours"]
    assert original(log) == b"".join(GROWN)


class Overtaken(Busy):
    """A log into which somebody else imports the beginning of a file before an import of it appends."""

    def __init__(self, log: EventLog, folder: Path) -> None:
        super().__init__(log)
        self._folder = folder

    def overtake(self, *_: int) -> None:
        with self._log.snapshot() as snapshot:
            is_new = not list(snapshot.heads())
        if is_new:
            bring(self._log, self._folder, b"".join(GROWN[:3]), name="beginning.jsonl")

    def append(self, session: str, events: Sequence[NewEvent], **options: Any) -> AppendResult:
        self.overtake()
        return self._log.append(session, events, **options)


@pytest.mark.parametrize("batch", [2, BATCH_EVENTS])
def test_a_session_that_others_begin_before_an_import_appends_has_each_record_once(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(batching, "BATCH_EVENTS", batch)
    done = bring(Overtaken(log, tmp_path), tmp_path, b"".join(GROWN))
    assert (done.id, done.added, done.diverged) == (SESSION, 1, False)
    assert texts(log) == ["one", "two", "three"]
    assert original(log) == b"".join(GROWN)


def test_a_session_that_others_begin_once_its_file_is_read_has_each_record_once(
    log: EventLog, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(GROWN))
    done = import_file(log, path, progress=Overtaken(log, tmp_path).overtake)
    assert (done.id, done.added, done.diverged) == (SESSION, 1, False)
    assert texts(log) == ["one", "two", "three"]
    assert original(log) == b"".join(GROWN)


class Outgrown(Busy):
    """A log into which somebody else imports the rest of a file before an import of its beginning appends."""

    def __init__(self, log: EventLog, path: Path, rest: bytes, *, is_torn: bool = False) -> None:
        super().__init__(log)
        self._path, self._rest, self._is_torn = path, rest, is_torn

    def append(self, session: str, events: Sequence[NewEvent], **options: Any) -> AppendResult:
        rest, self._rest = self._rest, b""
        if rest:
            self._path.write_bytes(self._path.read_bytes() + rest)
            with suppress(TornError):
                import_file(Ending(self._log) if self._is_torn else self._log, self._path)
        return self._log.append(session, events, **options)


def test_an_import_of_a_mere_header_leaves_the_leaf_to_one_that_read_more(
    log: EventLog, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(GROWN[0])
    done = import_file(Outgrown(log, path, b"".join(GROWN[1:])), path)
    assert (done.id, done.added, done.diverged) == (SESSION, 0, False)
    assert texts(log) == ["one", "two", "three"]
    assert original(log) == b"".join(GROWN)


@pytest.mark.parametrize(("batch", "is_torn"), [(BATCH_EVENTS, False), (1, False), (1, True)])
def test_an_import_of_mere_notes_leaves_the_leaf_to_one_that_read_more(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, *, is_torn: bool
) -> None:
    monkeypatch.setattr(batching, "BATCH_EVENTS", batch)
    path = tmp_path / f"{claude_code.SESSION}.jsonl"
    claude_code.bring(log, path, claude_code.note("mode"))
    path.write_bytes(path.read_bytes() + claude_code.note("tag") + b"\n")
    rest = claude_code.said("u", None, "one") + b"\n"
    assert not import_file(Outgrown(log, path, rest, is_torn=is_torn), path).diverged
    assert leaf(log, claude_code.SESSION) == "u"
    assert verify(log).findings == []


@pytest.mark.parametrize("begun", [1, 2])
def test_an_import_that_read_less_leaves_the_leaf_to_one_that_read_more_meanwhile(
    log: EventLog, tmp_path: Path, begun: int
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(GROWN[:begun]))
    import_file(log, path)
    path.write_bytes(b"".join(GROWN[:3]))
    assert not import_file(Outgrown(log, path, GROWN[3]), path).diverged
    assert texts(log) == ["one", "two", "three"]
    assert original(log) == b"".join(GROWN)
    assert import_file(log, path).added == 0
    assert texts(log) == ["one", "two", "three"]


def test_a_leaf_that_a_torn_import_has_moved_is_brought_back_by_the_next(
    log: EventLog, tmp_path: Path
) -> None:
    bring(log, tmp_path, b"".join(GROWN[:3]))
    SessionWriter(log, SESSION).append(CustomMessage(custom_type="note", content="ours"))

    with pytest.raises(TornError):
        bring(Ending(log), tmp_path, b"".join(GROWN))
    assert bring(log, tmp_path, b"".join(GROWN)).diverged
    assert texts(log) == ["one", "two", "ours"]


def test_a_record_whose_parent_is_not_in_the_file_is_reported(log: EventLog, tmp_path: Path) -> None:
    done = bring(log, tmp_path, b"".join([GROWN[0], GROWN[1], GROWN[3]]))
    assert [(remark.line, "'b'" in remark.reason) for remark in done.orphans] == [(3, True)]


def test_a_parent_that_has_come_with_the_growth_of_the_file_is_missed_no_more(
    log: EventLog, tmp_path: Path
) -> None:
    bring(log, tmp_path, b"".join([GROWN[0], GROWN[1], GROWN[3]]))
    assert bring(log, tmp_path, b"".join([GROWN[0], GROWN[1], GROWN[3], GROWN[2]])).orphans == []


class TestReservedIds:
    """Ids that imports give to what they add beside the records: a file may have them, too."""

    def test_what_imports_add_has_reserved_ids(self, log: EventLog, tmp_path: Path) -> None:
        for content in (H + A + B + C, H + A + B + said("c′", "c", "b") + D, H + said("x", "a", None)):
            bring(log, tmp_path, content)
        added = [found for name in session_names(log) for found in events(log, name) if not found.is_entry]
        assert {found.kind for found in added} == {"import", "observed_rewrite", "link"}
        assert all(is_reserved(found.id) for found in added)

    def test_remarks_quote_the_name_that_the_file_has(self, log: EventLog, tmp_path: Path) -> None:
        name = "observed-x-2"
        orphaned = bring(log, tmp_path, H + A + said("b", "b", name))
        assert [(f"'{name}'" in each.reason, "~file" in each.reason) for each in orphaned.orphans] == [
            (True, False)
        ]
        twice = bring(
            log, tmp_path, H + A + said("b", "b", name) + said("x", name, "a") + said("y", name, "a")
        )
        assert (twice.orphans, [each.line for each in twice.differs_from_harness]) == ([], [5])
        assert not any("~file" in each.reason for each in twice.differs_from_harness)

    @pytest.mark.parametrize(
        "name",
        [
            "observed-a-1",
            "observed-\n-1",
            "generation-of-1",
            "import-0123456789abcdef",
            "import-" + "0" * 16 + "-7",
        ],
    )
    def test_a_record_with_one_is_a_record_like_any_other(
        self, log: EventLog, tmp_path: Path, name: str
    ) -> None:
        content = H + A + said("mine", name, "a") + said("below", "b", name)
        content += entry("l", "b", "label", targetId=name, label="x")
        assert bring(log, tmp_path, content).orphans == []
        tree = [
            (found.id, found.parent, found.target_seq) for found in events(log, SESSION) if found.is_entry
        ]
        assert tree == [("a", None, 0), (f"{name}~file", "a", 0), ("b", f"{name}~file", 0), ("l", "b", 2)]
        assert (original(log), verify(log).findings) == (content, [])

    def test_a_known_record_may_change_though_the_file_has_the_id_of_its_observation(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        odd = said("mine", "observed-a-1", "b")
        bring(log, tmp_path, H + A + B + odd)
        imported = bring(log, tmp_path, H + said("a′", "a", None) + B + odd + C)
        assert (imported.rewritten, imported.added) == (1, 1)
        assert [found.kind for found in events(log, SESSION) if found.id == "observed-a-1"] == [
            "observed_rewrite"
        ]

    def test_a_file_may_bring_the_id_of_an_observation_later(self, log: EventLog, tmp_path: Path) -> None:
        changed = H + said("a′", "a", None) + B + C
        bring(log, tmp_path, H + A + B + C)
        bring(log, tmp_path, changed)
        grown = changed + said("mine", "observed-a-1", "c")
        assert (bring(log, tmp_path, grown).added, original(log)) == (1, grown)
        assert bring(log, tmp_path, grown).added == 0

    def test_a_file_with_the_id_of_a_link_becomes_a_generation_like_any_other(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        states = [H + said(text, "generation-of-1", None) for text in ("one", "two", "three")]
        found = [bring(log, tmp_path, state) for state in states]
        assert [(each.id, each.earlier) for each in found] == [
            (SESSION, None),
            (f"{SESSION}~2", SESSION),
            (f"{SESSION}~3", f"{SESSION}~2"),
        ]
        assert [original(log, each.id) for each in found] == states

    def test_a_session_that_a_file_names_like_a_generation_is_none(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        named = header(3, session=f"{SESSION}~2") + said("mine", "generation-of-1", None)
        bring(log, tmp_path, H + A)
        assert bring(log, tmp_path, named).earlier is None
        found = bring(log, tmp_path, H + said("other", "a", None))
        assert (found.id, found.earlier) == (f"{SESSION}~3", SESSION)
        with log.snapshot() as snapshot:
            assert [head.name for head in generations(snapshot, SESSION)] == [SESSION, f"{SESSION}~3"]
            assert earlier_generation(snapshot, f"{SESSION}~2") is None
        assert bring(log, tmp_path, H + said("third", "a", None)).earlier == f"{SESSION}~3"

    def test_a_generation_whose_import_was_interrupted_is_taken_up_again(
        self, log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(batching, "BATCH_EVENTS", 2)
        other = H + said("other", "a", None) + said("other", "b", "a")
        bring(log, tmp_path, H + A + B)
        with pytest.raises(TornError):
            bring(Ending(log), tmp_path, other)
        found = bring(log, tmp_path, other)
        assert (found.id, found.earlier, found.added) == (f"{SESSION}~2", SESSION, 0)
        assert bring(log, tmp_path, H + said("third", "a", None)).earlier == f"{SESSION}~2"

    def test_an_export_goes_back_under_the_ids_that_it_has(self, log: EventLog, tmp_path: Path) -> None:
        content = H + A + said("mine", "observed-a-1", "a")
        bring(log, tmp_path, content + entry("l", "a", "label", targetId="observed-a-1", label="x"))
        again = bring(log, tmp_path, b"".join(export_session(log, SESSION, "pi")) + said("new", "n", "l"))
        assert (again.id, again.added, again.rewritten) == (SESSION, 1, 0)

    def test_a_record_without_an_id_stands_beside_one_that_has_what_it_would_get(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        nameless = line({"type": "custom", "customType": "c"})
        bring(log, tmp_path, H + A + nameless)
        minted = events(log, SESSION)[1].id
        content = header(3) + said("mine", minted, None) + nameless
        found = bring(MemoryLog(), tmp_path, content)
        assert (found.events, found.added) == (2, 2)
