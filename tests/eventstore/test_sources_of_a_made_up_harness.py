"""Import, export and verify sources of a made-up harness with features that pi lacks."""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import Event, EventLog, export_original, import_file
from eventstore.errors import BadInputError, NotFoundError
from eventstore.event import Flag
from eventstore.files import batching
from eventstore.files.importing import ImportResult, import_sessions
from eventstore.harnesses import harnesses, node_of, source
from eventstore.imports import newest_import, origin_of
from eventstore.memory import MemoryLog
from eventstore.records import Remark
from eventstore.verify import verify
from tests.support.events import events
from tests.support.madeup.format import HEADER, register
from tests.support.pi_files import SESSION, header, said


@pytest.fixture(autouse=True)
def madeup(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def say(
    name: str, after: str | None, session: str = "one", who: str = "person", **more: Any
) -> dict[str, Any]:
    message = {"who": who, "text": more.pop("text", f"text of {name}")}
    return {"kind": "say", "in": session, "id": name, "after": after, "message": message, **more}


def lines(*records: dict[str, Any]) -> bytes:
    return HEADER + b"".join(json.dumps(record).encode() + b"\n" for record in records)


def document(*records: dict[str, Any]) -> bytes:
    return json.dumps({"madeup": 1, "records": records}, indent=1).encode() + b"\n\n"


class Rows:
    """A database of the harness."""

    def __init__(self, path: Path) -> None:
        self.path, self._stamp = path, 0
        self._run("CREATE TABLE record (id TEXT UNIQUE, session TEXT, stamp INTEGER, body TEXT)")

    def _run(self, command: str, *values: object) -> None:
        database = sqlite3.connect(self.path)
        with database:
            database.execute(command, values)
        database.close()

    def put(self, *records: dict[str, Any]) -> None:
        for record in records:
            self._stamp += 1
            self._run(
                "INSERT INTO record VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET stamp = excluded.stamp, body = excluded.body",
                record["id"],
                record["in"],
                self._stamp,
                json.dumps(record),
            )


def bring(log: EventLog, path: Path, content: bytes) -> list[ImportResult]:
    path.write_bytes(content)
    return import_sessions(log, path)


def tree(log: EventLog, session: str = "one") -> list[tuple[str, str | None]]:
    return [(each.id, each.parent) for each in events(log, session) if each.is_entry]


def by_id(log: EventLog, session: str = "one") -> dict[str, Event]:
    return {each.id: each for each in events(log, session)}


def original(log: EventLog, session: str = "one") -> bytes:
    return b"".join(export_original(log, session))


def sessions(log: EventLog) -> dict[str, int]:
    with log.snapshot() as snapshot:
        return {head.name: head.version for head in snapshot.heads()}


def is_sound(log: EventLog) -> bool:
    return verify(log).findings == []


TWO = [say("a", None), say("x", None, "two"), say("b", "a"), say("y", "x", "two"), say("c", "b")]


class TestSeveralSessions:
    @pytest.mark.parametrize("written", [lines, document])
    def test_each_session_gets_its_own_records(self, log: EventLog, tmp_path: Path, written: Any) -> None:
        found = bring(log, tmp_path / "file", written(*TWO))
        assert [(each.id, each.events, each.added) for each in found] == [("one", 3, 3), ("two", 2, 2)]
        assert tree(log) == [("a", None), ("b", "a"), ("c", "b")]
        assert tree(log, "two") == [("x", None), ("y", "x")]
        assert is_sound(log)

    @pytest.mark.parametrize("written", [lines, document])
    def test_the_file_comes_back_by_any_of_them(self, log: EventLog, tmp_path: Path, written: Any) -> None:
        content = written(*TWO)
        bring(log, tmp_path / "file", content)
        assert original(log, "one") == original(log, "two") == content

    @pytest.mark.parametrize("written", [lines, document])
    def test_the_same_file_adds_nothing(self, log: EventLog, tmp_path: Path, written: Any) -> None:
        bring(log, tmp_path / "file", written(*TWO))
        before = sessions(log)
        again = bring(log, tmp_path / "file", written(*TWO))
        assert [(each.id, each.events, each.added) for each in again] == [("one", 3, 0), ("two", 2, 0)]
        assert sessions(log) == before

    @pytest.mark.parametrize("written", [lines, document])
    def test_a_session_without_news_gets_no_event(self, log: EventLog, tmp_path: Path, written: Any) -> None:
        bring(log, tmp_path / "file", written(*TWO))
        before = sessions(log)
        content = written(*TWO, say("d", "c"), say("n", None, "new"))
        found = bring(log, tmp_path / "file", content)
        assert [(each.id, each.events, each.added) for each in found] == [
            ("one", 4, 1),
            ("two", 2, 0),
            ("new", 1, 1),
        ]
        assert sessions(log) == {"one": before["one"] + 2, "two": before["two"], "new": 2}
        assert original(log, "one") == original(log, "two") == original(log, "new") == content
        assert is_sound(log)

    def test_news_of_another_session_than_the_first_are_taken(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path / "file", lines(*TWO))
        content = lines(*TWO, say("z", "y", "two"))
        assert [each.added for each in bring(log, tmp_path / "file", content)] == [0, 1]
        assert tree(log, "two")[-1] == ("z", "y")
        assert original(log, "two") == content

    def test_one_name_cannot_stand_for_several(self, log: EventLog, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(lines(*TWO))
        with pytest.raises(BadInputError, match="2 sessions"):
            import_sessions(log, tmp_path / "file", name="other")
        with pytest.raises(BadInputError, match="2 sessions"):
            import_file(log, tmp_path / "file")
        assert sessions(log) == {}

    def test_a_file_written_anew_makes_another_generation_of_each(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path / "file", lines(*TWO))
        other = lines(*(say(each["id"], each["after"], each["in"], text="otherwise") for each in TWO))
        found = bring(log, tmp_path / "file", other)
        assert [(each.id, each.earlier) for each in found] == [("one~2", "one"), ("two~2", "two")]
        assert original(log, "two~2") == other
        assert is_sound(log)

    def test_another_may_be_the_first_in_a_file_that_is_written_anew(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        one, two = TWO[0], TWO[1]
        for records in ((one, two), (two, one, say("b", "a")), (one, two, say("b", "a"), say("c", "b"))):
            bring(log, tmp_path / "file", document(*records))
            newest = original(log, "one")
            assert newest == document(*records)
        assert is_sound(log)

    @pytest.mark.parametrize("content", [HEADER, document()])
    def test_a_source_without_sessions_is_refused(
        self, log: EventLog, tmp_path: Path, content: bytes
    ) -> None:
        with pytest.raises(BadInputError, match="holds no session"):
            bring(log, tmp_path / "file", content)


class TestParentsThatComeLater:
    LATER = (say("c", "b"), say("a", None), say("d", "c"), say("b", "a"), say("e", "a"))

    @pytest.mark.parametrize("written", [lines, document])
    def test_a_record_stands_below_a_parent_that_comes_later(
        self, log: EventLog, tmp_path: Path, written: Any
    ) -> None:
        content = written(*self.LATER)
        (found,) = bring(log, tmp_path / "file", content)
        assert found.orphans == []
        assert sorted(tree(log)) == [("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "a")]
        assert not any(each.flags & Flag.ORPHAN for each in events(log, "one"))
        assert original(log) == content
        assert is_sound(log)

    def test_one_that_never_comes_leaves_an_orphan(self, log: EventLog, tmp_path: Path) -> None:
        (found,) = bring(log, tmp_path / "file", lines(say("b", "nowhere"), say("a", None)))
        assert [(each.line, "nowhere" in each.reason) for each in found.orphans] == [(2, True)]
        assert by_id(log)["b"].flags & Flag.ORPHAN

    def test_records_that_wait_for_each_other_are_stored_as_orphans(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        content = lines(say("a", "b"), say("b", "a"), say("c", "b"))
        bring(log, tmp_path / "file", content)
        assert {name for name, _ in tree(log)} == {"a", "b", "c"}
        assert [each.id for each in events(log, "one") if each.flags & Flag.ORPHAN] == ["a"]
        assert original(log) == content
        assert is_sound(log)

    @pytest.mark.slow
    @given(
        st.integers(2, 14),
        st.randoms(use_true_random=False),
        st.integers(1, 5),
        st.sampled_from([1, 3, 4096]),
    )
    def test_any_order_of_any_trees_comes_back(
        self, count: int, chance: random.Random, others: int, batch: int
    ) -> None:
        records = []
        for number in range(count):
            session = f"s{chance.randrange(others)}"
            above = [each["id"] for each in records if each["in"] == session]
            records.append(say(f"r{number}", chance.choice([None, *above]), session))
        expected = {each["id"]: each["after"] for each in records}
        chance.shuffle(records)
        content = lines(*records)
        log = MemoryLog()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batching, "BATCH_EVENTS", batch)
            path = _written(content)
            try:
                found = import_sessions(log, path)
            finally:
                path.unlink()
        assert {name: parent for each in found for name, parent in tree(log, each.id)} == expected
        assert all(original(log, each.id) == content for each in found)
        assert is_sound(log)


def _written(content: bytes) -> Path:
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(content)
    return Path(file.name)


class TestGrowth:
    def test_a_torn_last_line_is_read_again(self, log: EventLog, tmp_path: Path) -> None:
        content = lines(*TWO)
        found = bring(log, tmp_path / "file", content[:-9])
        assert [each.skipped for each in found] == [[Remark(6, "no record")], []]
        assert original(log) == content[:-9]
        found = bring(log, tmp_path / "file", content)
        assert [(each.added, each.skipped) for each in found] == [(1, []), (0, [])]
        assert original(log, "two") == content

    @given(st.lists(st.integers(0, 600), max_size=4))
    def test_however_it_grows_all_of_it_is_there(self, cuts: list[int]) -> None:
        content = lines(
            *TWO, say("d", "c"), {"kind": "meter", "in": "one", "id": "m", "about": "d", "tokens": 5}
        )
        log = MemoryLog()
        path = _written(b"")
        try:
            for cut in [*sorted(cuts), len(content)]:
                part = content[: max(cut, len(lines(TWO[0])))]
                path.write_bytes(part)
                import_sessions(log, path)
                assert original(log) == part
        finally:
            path.unlink()
        assert [name for name, _ in tree(log)] == ["a", "b", "c", "d"]
        assert tree(log, "two") == [("x", None), ("y", "x")]
        assert is_sound(log)


class TestChangedInPlace:
    def test_a_document_changed_throughout_is_the_same_session(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path / "file", document(*TWO))
        changed = [say(each["id"], each["after"], each["in"], text="otherwise") for each in TWO[:-1]]
        content = document(*changed, TWO[-1], say("d", "c"))
        found = bring(log, tmp_path / "file", content)
        assert [(each.id, each.earlier, each.added, each.rewritten) for each in found] == [
            ("one", None, 1, 2),
            ("two", None, 0, 2),
        ]
        assert set(sessions(log)) == {"one", "two"}
        kept = [each for each in events(log, "two") if each.kind == "observed_rewrite"]
        assert [b"otherwise" in each.body for each in kept] == [True, True]
        assert original(log, "two") == content
        assert is_sound(log)

    def test_a_document_that_is_as_it_was_again_is_reported_as_changed(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        first, second = document(TWO[0]), document({**TWO[0], "more": 1})
        for content, rewritten in ((first, 0), (second, 1), (second, 0), (first, 1)):
            (found,) = bring(log, tmp_path / "file", content)
            assert found.rewritten == rewritten
            assert original(log) == content

    def test_a_torn_document_is_refused(self, log: EventLog, tmp_path: Path) -> None:
        with pytest.raises(BadInputError, match="torn"):
            bring(log, tmp_path / "file", document(*TWO)[:-9])


class TestRows:
    @pytest.fixture
    def rows(self, tmp_path: Path) -> Rows:
        rows = Rows(tmp_path / "sessions.db")
        rows.put(*TWO)
        return rows

    def test_rows_are_events_of_their_sessions(self, log: EventLog, rows: Rows) -> None:
        found = import_sessions(log, rows.path)
        assert [(each.id, each.format, each.events, each.added) for each in found] == [
            ("one", "madeup/1", 3, 3),
            ("two", "madeup/1", 2, 2),
        ]
        assert tree(log, "two") == [("x", None), ("y", "x")]
        assert is_sound(log)

    def test_without_news_nothing_is_added(self, log: EventLog, rows: Rows) -> None:
        import_sessions(log, rows.path)
        before = sessions(log)
        assert [each.added for each in import_sessions(log, rows.path)] == [0, 0]
        assert sessions(log) == before

    def test_only_the_sessions_with_news_get_events(self, log: EventLog, rows: Rows) -> None:
        import_sessions(log, rows.path)
        before = sessions(log)
        rows.put(say("z", "y", "two"), say("n", None, "new"))
        found = import_sessions(log, rows.path)
        assert [(each.id, each.added) for each in found] == [("one", 0), ("two", 1), ("new", 1)]
        assert sessions(log) == {"one": before["one"], "two": before["two"] + 2, "new": 2}
        assert tree(log, "two")[-1] == ("z", "y")
        assert is_sound(log)

    @pytest.mark.slow
    def test_rows_that_change_are_observed_and_make_no_generation(self, log: EventLog, rows: Rows) -> None:
        import_sessions(log, rows.path)
        rows.put(*(say(each["id"], each["after"], each["in"], text="otherwise") for each in TWO))
        found = import_sessions(log, rows.path)
        assert [(each.id, each.added, each.rewritten) for each in found] == [("one", 0, 3), ("two", 0, 2)]
        assert set(sessions(log)) == {"one", "two"}
        assert [each.rewritten for each in import_sessions(log, rows.path)] == [0, 0]
        assert is_sound(log)

    def test_reading_goes_on_where_it_ended(self, log: EventLog, rows: Rows) -> None:
        import_sessions(log, rows.path)
        with log.snapshot() as snapshot:
            newest = newest_import(snapshot, snapshot.head("one"))
        assert newest is not None
        assert newest.resume.state["stamp"] == len(TWO)

    def test_there_is_no_original_to_export(self, log: EventLog, rows: Rows) -> None:
        import_sessions(log, rows.path)
        for session in ("one", "two"):
            with pytest.raises(NotFoundError, match="database"):
                original(log, session)


METER = {"kind": "meter", "in": "one", "id": "m", "about": "b", "tokens": 7}


class TestNotes:
    def test_a_note_is_never_the_leaf_and_names_its_event(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path / "file", lines(say("a", None), say("b", "a", who="model"), METER))
        found = by_id(log)
        assert (found["m"].kind, found["m"].is_entry) == ("note", False)
        assert found["m"].target_seq == found["b"].seq
        with log.snapshot() as snapshot:
            assert snapshot.head("one").leaf == found["b"].seq
        usage = node_of(found["m"]).usage
        assert usage is not None
        assert usage.total == 7
        assert is_sound(log)

    def test_a_note_that_comes_with_growth_leaves_the_leaf_to_the_session(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path / "file", lines(say("a", None), say("b", "a")))
        before = by_id(log)["b"].seq
        bring(log, tmp_path / "file", lines(say("a", None), say("b", "a"), METER))
        with log.snapshot() as snapshot:
            assert snapshot.head("one").leaf == before

    def test_what_follows_from_a_record_is_an_event_without_bytes(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        born = {"kind": "born", "in": "one", "id": "f", "of": "other", "at": "e9"}
        content = lines(born, say("a", None))
        (found,) = bring(log, tmp_path / "file", content)
        assert (found.events, found.added) == (2, 2)
        link = by_id(log)["link-f"]
        assert (link.kind, json.loads(link.body)["session"]) == ("link", "other")
        assert original(log) == content
        assert [
            each.added for each in bring(log, tmp_path / "file", content + lines(say("b", "a"))[13:])
        ] == [1]


class TestRecognition:
    def test_the_contents_tell_whose_a_file_is_and_not_its_name(self, log: EventLog, tmp_path: Path) -> None:
        (ours,) = bring(log, tmp_path / "session.jsonl", lines(say("a", None)))
        (pis,) = bring(log, tmp_path / "file.madeup", header() + said("hello", "a", None))
        assert (ours.format, pis.format, pis.id) == ("madeup/1", "pi/3", SESSION)

    def test_the_registry_has_a_line_for_it(self) -> None:
        assert next(harnesses()).name == "madeup"

    def test_a_harness_says_where_its_sessions_lie(self) -> None:
        (place,) = next(harnesses()).places
        assert place.folder({}) == "~/.madeup"
        assert place.folder({"MADEUP_HOME": "/data"}) == "/data/kept"


PARENT = lines(say("a", None), say("b", "a", who="model", starts="child"), say("c", "b", who="tool"))
CHILD = lines(say("x", None, "child", under="one"), say("y", "x", "child", who="model"))


def origin(log: EventLog, session: str, relation: Any = "subagent") -> tuple[str, str] | None:
    with log.snapshot() as snapshot:
        link = origin_of(snapshot, session, relation)
        return (link.session, link.event) if link else None


def links(log: EventLog, session: str) -> list[dict[str, Any]]:
    return [json.loads(each.body) for each in events(log, session) if each.kind == "link"]


class TestSessionsThatComeApart:
    """Two files of which one speaks of the other's session, in either order."""

    @pytest.mark.parametrize("order", ["parent child", "child parent", "child parent child parent"])
    def test_a_child_is_linked_to_the_call_that_started_it(
        self, log: EventLog, tmp_path: Path, order: str
    ) -> None:
        for name in order.split():
            bring(log, tmp_path / name, {"parent": PARENT, "child": CHILD}[name])
        assert origin(log, "child") == ("one", "b")
        assert links(log, "one") == [{"type": "link", "relation": "child", "session": "child", "event": "b"}]
        assert tree(log, "child") == [("x", None), ("y", "x")]
        assert is_sound(log)
        assert original(log, "one") == PARENT
        assert original(log, "child") == CHILD

    @pytest.mark.parametrize("order", [(PARENT, CHILD), (CHILD, PARENT)])
    def test_no_import_of_either_half_links_them_again(
        self, log: EventLog, tmp_path: Path, order: tuple[bytes, bytes]
    ) -> None:
        for content in order:
            bring(log, tmp_path / "file", content)
        before = sessions(log)
        for content in (*order, *order):
            bring(log, tmp_path / "file", content)
        assert sessions(log) == before
        for path, content in (("p", PARENT), ("c", CHILD)):
            name = {"p": "one", "c": "child"}[path]
            last = {"p": "c", "c": "y"}[path]
            bring(log, tmp_path / path, content + lines(say("z", last, name))[len(HEADER) :])
        assert sessions(log) == {name: version + 2 for name, version in before.items()}

    def test_a_half_says_what_it_knows_as_long_as_the_other_is_missing(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path / "child", CHILD)
        assert origin(log, "child") == ("one", "")
        other = MemoryLog()
        bring(other, tmp_path / "parent", PARENT)
        assert [(each["session"], each["event"]) for each in links(other, "one")] == [("child", "b")]
        assert sessions(other).keys() == {"one"}

    def test_an_interrupted_import_links_when_it_is_done_again(
        self, log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bring(log, tmp_path / "child", CHILD)
        append = log.append

        def stops(session: str, *args: Any, **more: Any) -> Any:
            if session == "child":
                raise KeyboardInterrupt
            return append(session, *args, **more)

        monkeypatch.setattr(log, "append", stops)
        with pytest.raises(KeyboardInterrupt):
            bring(log, tmp_path / "parent", PARENT)
        monkeypatch.undo()
        register(monkeypatch)
        bring(log, tmp_path / "parent", PARENT)
        assert origin(log, "child") == ("one", "b")

    @pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
    @pytest.mark.parametrize("written", [lines, document])
    def test_a_fork_is_known_by_the_records_that_it_shares(
        self, log: EventLog, tmp_path: Path, order: tuple[str, str], written: Any
    ) -> None:
        def copied(session: str) -> list[dict[str, Any]]:
            shared = [say("a", None, session), say("b", "a", session), say("c", "b", session)]
            return [*shared, say(f"own-{session}", "c", session)]

        bring(log, tmp_path / "other", written(say("o", None, "other")))
        for _ in range(2):
            for name in order:
                bring(log, tmp_path / name, written(*copied(name)))
        assert origin(log, "two", "fork") == ("one", "c")
        assert [len(links(log, name)) for name in ("one", "two", "other")] == [0, 1, 0]
        assert is_sound(log)

    def test_a_link_goes_into_the_newest_generation(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path / "child", CHILD)
        bring(log, tmp_path / "child", CHILD.replace(b"text of", b"now").replace(b'"y"', b'"yy"'))
        assert "child~2" in sessions(log)
        bring(log, tmp_path / "parent", PARENT)
        assert (origin(log, "child"), origin(log, "child~2")) == (("one", ""), ("one", "b"))


def test_the_beginning_of_a_file_is_read_once_to_be_compared(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = lines(*TWO)
    bring(log, tmp_path / "file", content)
    hashed: list[int] = []

    class Counting:
        def __init__(self, digest: Any = None) -> None:
            self._digest = digest or sha256()

        def update(self, data: bytes) -> None:
            hashed.append(len(data))
            self._digest.update(data)

        def copy(self) -> Counting:
            return Counting(self._digest.copy())

        def hexdigest(self) -> str:
            return self._digest.hexdigest()

    monkeypatch.setattr(source, "sha256", Counting)
    grown = content + lines(say("d", "c"))[len(HEADER) :]
    bring(log, tmp_path / "file", grown)
    assert sum(hashed) == len(grown)
    assert original(log) == grown
