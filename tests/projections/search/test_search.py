from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eventstore import EventLog, NewEvent, open_store
from eventstore.errors import StoreError
from eventstore.memory import MemoryLog
from projections.search import State, search, search_by_reading
from projections.search.full_text import INDEX_FILE, open_index
from projections.search.words import Query
from tests.projections.search.indexes import dump
from tests.support.claude_code import boundary, bring, said, summary
from tests.support.claude_code_contexts import PARALLEL
from tests.support.events import compaction, event, message, undone


def found(log: EventLog, query: str, folder: Path | None = None, **options: object) -> list[str]:
    hits = search(log, folder, Query(query), limit=100, **options)  # type: ignore[arg-type]
    return [f"{hit.session} {hit.id}" for hit in hits]


def states(log: EventLog, query: str) -> dict[str, str]:
    return {hit.id: hit.state.value for hit in search(log, None, Query(query), limit=100)}


def test_a_search_finds_what_is_new_the_newest_time_first(store: EventLog, tmp_path: Path) -> None:
    store.append("s", [message("a", "one two", time=2)])
    assert found(store, "two", tmp_path) == ["s a"]
    store.append("t", [message("b", "two", time=3), message("c", "two", time=1), message("d", "one", time=9)])
    assert found(store, "two", tmp_path) == ["t b", "s a", "t c"]
    assert found(store, "two one", tmp_path) == ["s a"]
    assert found(store, "two", tmp_path, sessions={"t", "none"}) == ["t b", "t c"]
    assert [hit.id for hit in search(store, tmp_path, Query("two"), limit=1)] == ["b"]


@pytest.mark.parametrize(
    "query", ["two", "ONE two", "findmodel", "model", "née", '"two one"', "fi*", "nobody"]
)
@pytest.mark.parametrize("gone", [False, True])
def test_reading_all_finds_what_an_index_finds(log: EventLog, query: str, gone: bool) -> None:  # noqa: FBT001
    texts = ("one two", "two findModel", "Née two one", "kept two", "two two")
    log.append("s", [message(each[:3] + str(at), each, time=at) for at, each in enumerate(texts)])
    log.append("s", [compaction("k", "kep3"), message("e", "two", time=9)])
    with log.snapshot() as snapshot:
        read = search_by_reading(snapshot, "s", Query(query), gone=gone)
    assert read == search(log, None, Query(query), sessions={"s"}, gone=gone)


def test_titles_labels_and_extensions_data_are_unsent(log: EventLog) -> None:
    log.append(
        "s",
        [
            message("m", "hello"),
            event("i", "session_info", name="Alpha"),
            event("l", "label", targetId="m", label="alpha"),
            event("c", "custom", customType="x", data={"list": ["alpha"]}),
        ],
    )
    assert states(log, "alpha") == dict.fromkeys("ilc", State.UNSENT)


def test_a_hit_says_where_it_is_now(log: EventLog) -> None:
    log.append("s", [message("a", "x"), message("b", "x"), message("c", "x"), compaction("k", "c")])
    log.append("s", [message("d", "x", role="assistant")])
    assert states(log, "x") == {"a": "compacted", "b": "compacted", "c": "context", "d": "context"}
    assert states(log, "before") == {"k": "context"}
    log.append("s", [undone("u", "k")])
    assert states(log, "x") == dict.fromkeys("abcd", "context")
    assert states(log, "before") == {"k": "removed"}
    log.append("s", [message("e", "x", parent="a")])
    assert states(log, "x") == {"a": "context", "e": "context", "b": "branch", "c": "branch", "d": "branch"}
    gone = search(log, None, Query("x"), limit=9, gone=True)
    assert sorted(hit.id for hit in gone) == ["b", "c", "d"]


def test_a_branch_summary_without_an_answer_was_unsent(log: EventLog) -> None:
    left = {"fromId": "a", "summary": "x left"}
    log.append("s", [message("a", "x"), event("k", "branch_summary", parent="a", **left)])
    log.append(
        "s", [event("l", "branch_summary", parent="a", **left), message("b", "go on", role="assistant")]
    )
    log.append("s", [message("c", "elsewhere", parent="a")])
    assert states(log, "left") == {"k": "unsent", "l": "branch"}


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ((said("w", "r2", "go on"),), "context"),
        ((boundary("k", "r2"), summary("w", "k")), "compacted"),
        (
            (
                said("q", "r2", "<command-name>/exit</command-name>", version="2.1.7"),
                said("w", "q", "go on", version="2.1.7"),
            ),
            "removed",
        ),
        ((said("w", "u", "again"),), "branch"),
    ],
)
def test_parallel_results_are_where_their_path_is(
    log: EventLog, tmp_path: Path, behind: Sequence[bytes], expected: str
) -> None:
    bring(log, tmp_path / "s.jsonl", *PARALLEL, *behind)
    assert states(log, "one")["r1"] == expected


def test_what_a_rewrite_replaced_is_lost(log: EventLog) -> None:
    targets = [{"target": "b", "shown": "only stays"}]
    log.append("s", [message("a", "x"), message("b", "goes stays"), message("c", "x")])
    log.append("s", [event("r", "rewrite", reason="prune", targets=targets)])
    assert states(log, "goes")["b"] == "rewritten"
    assert states(log, "stays")["b"] == "context"


def test_an_event_that_two_sessions_share_is_found_once(log: EventLog) -> None:
    log.append("s", [message("a", "x")])
    log.append("t", [message("a", "x"), message("b", "x")])
    assert sorted(each[2:] for each in found(log, "x")) == ["a", "b"]


def test_an_index_is_private_and_no_part_of_the_log(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as log:
        log.append("s", [message("a", "x")])
        old = os.umask(0)
        try:
            found(log, "x", tmp_path / "store")
        finally:
            os.umask(old)
    assert (tmp_path / "store" / INDEX_FILE).stat().st_mode & 0o777 == 0o600
    (tmp_path / "store" / INDEX_FILE).unlink()
    with open_store(tmp_path / "store") as log:
        assert found(log, "x", tmp_path / "store") == ["s a"]


def test_a_folder_that_cannot_be_written_gets_no_index(store: EventLog, tmp_path: Path) -> None:
    folder = tmp_path / "none"
    store.append("s", [message("a", "x")])
    assert found(store, "x", folder) == ["s a"]
    assert not folder.exists()


OTHERS = {
    "shorter": [("s", message("a", "old"))],
    "another session at the same place": [("s", message("a", "old")), ("t", message("b", "old"))],
    "another text": [("s", message("a", "old")), ("s", message("b", "other"))],
    "another order": [("t", message("c", "x")), ("s", message("a", "old")), ("s", message("b", "old"))],
    "empty": [],
    "longer and another": [("s", message("z", "z")), *[("s", message(f"e{n}", "old")) for n in range(5)]],
}


@pytest.mark.parametrize("other", OTHERS)
def test_an_index_of_another_log_is_made_again(tmp_path: Path, other: str) -> None:
    first, second = MemoryLog(clock=lambda: 0), MemoryLog(clock=lambda: 0)
    first.append("s", [message("a", "old"), message("b", "old")])
    assert len(found(first, "old", tmp_path)) == 2
    for session, each in OTHERS[other]:
        second.append(session, [each])
    expected = found(second, "old")
    assert found(second, "old", tmp_path) == expected
    (tmp_path / "fresh").mkdir()
    found(second, "old", tmp_path / "fresh")
    assert dump(tmp_path) == dump(tmp_path / "fresh")


def test_an_index_of_another_version_is_made_again(store: EventLog, tmp_path: Path) -> None:
    store.append("s", [message("a", "x")])
    found(store, "x", tmp_path)
    with closing(sqlite3.connect(tmp_path / INDEX_FILE, isolation_level=None)) as db:
        db.execute("DROP TABLE texts")
        db.execute("PRAGMA user_version = 999")
    assert found(store, "x", tmp_path) == ["s a"]


@pytest.mark.parametrize("damaged", [b"", b"no database " * 1000, b"SQLite format 3\0" + bytes(8000)])
def test_a_damaged_index_is_made_again(store: EventLog, tmp_path: Path, damaged: bytes) -> None:
    store.append("s", [message("a", "x")])
    (tmp_path / INDEX_FILE).write_bytes(damaged)
    assert found(store, "x", tmp_path) == ["s a"]
    assert found(store, "x", tmp_path) == ["s a"]


def test_an_index_of_damaged_names_is_made_again(store: EventLog, tmp_path: Path) -> None:
    store.append("s", [message("a", "x")])
    assert found(store, "x", tmp_path) == ["s a"]
    file = tmp_path / INDEX_FILE
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE events", b"CREATE TABL\xc5 events"))
    assert found(store, "x", tmp_path) == ["s a"]


@pytest.mark.slow
def test_an_index_whose_tables_are_damaged_is_made_again(store: EventLog, tmp_path: Path) -> None:
    store.append("s", [message(f"e{n}", f"x word{n} {n * 'y '}") for n in range(500)])
    assert len(found(store, "x", tmp_path)) == 100
    file = tmp_path / INDEX_FILE
    content = file.read_bytes()
    file.write_bytes(content[:4096] + bytes(len(content) - 4096))
    assert len(found(store, "x", tmp_path)) == 100


def test_a_python_without_fts5_is_named_as_the_cause(
    store: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = ("CREATE VIRTUAL TABLE texts USING fts5_of_no_python(text)",)
    monkeypatch.setattr("projections.search.full_text._SCHEMA", missing)
    with pytest.raises(StoreError, match=r"no such module: fts5.*whose SQLite has FTS5"):
        found(store, "x")


def test_one_index_is_searched_for_one_set_of_sessions_after_another(store: EventLog) -> None:
    for name in "st":
        store.append(name, [message(f"{name}1", "x")])
    with open_index(store, None) as index:
        assert list(index.find("x", {"s"})) == [("s", 1)]
        assert list(index.find("x", {"t"})) == [("t", 1)]
        assert list(index.find("x", ())) == []


def test_batches_are_searched_together(
    store: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.search.full_text._BATCH", 1000)
    store.append("s", [message(f"e{n}", f"x {n}") for n in range(50)])
    steps: list[tuple[int, int]] = []
    with open_index(store, tmp_path, lambda done, total: steps.append((done, total))):
        pass
    assert steps == [(done, 50) for done in range(2, 50, 2)]
    assert len(found(store, "x", tmp_path)) == 50


@pytest.mark.slow
def test_searches_at_once_and_during_appends_find_everything(tmp_path: Path) -> None:
    errors: list[BaseException] = []
    with open_store(tmp_path) as log:
        log.append("s", [message("a", "x")])

        def work() -> None:
            try:
                for _ in range(20):
                    with log.snapshot() as snapshot:
                        before = sum(head.version for head in snapshot.heads())
                    assert len(search(log, tmp_path, Query("x"), limit=10_000)) >= before
            except BaseException as error:  # noqa: BLE001  told by the test
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(100):
            log.append(f"s{number % 3}", [message(f"e{number}", "x")])
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(search(log, tmp_path, Query("x"), limit=10_000)) == 101


@pytest.mark.slow
def test_searches_that_make_the_index_at_once_wait_for_each_other(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def work(folder: Path, barrier: threading.Barrier) -> None:
        barrier.wait()
        try:
            with open_index(log, folder) as index:
                assert len(list(index.find('"x"'))) == 1
        except BaseException as error:  # noqa: BLE001  told by the test
            errors.append(error)

    with open_store(tmp_path / "store") as log:
        log.append("s", [message("a", "x")])
        # About one in twenty failed.
        for number in range(100):
            (folder := tmp_path / str(number)).mkdir()
            threads = [
                threading.Thread(target=work, args=(folder, barrier))
                for barrier in [threading.Barrier(6)] * 6
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert errors == []


TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("aAbB é漢か\u0301ß 🎉_-/.\"'*\\\n")), max_size=30)


def made(number: int, said: str) -> NewEvent:
    kinds = (
        message(f"e{number}", said),
        event(
            f"e{number}",
            "message",
            message={"role": "assistant", "content": [{"type": "thinking", "thinking": said}]},
        ),
        event(
            f"e{number}",
            "message",
            message={
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "k", "name": "t", "arguments": {"deep": [said]}}],
            },
        ),
        event(
            f"e{number}",
            "message",
            message={"role": "toolResult", "toolCallId": "k", "content": [{"type": "text", "text": said}]},
        ),
        compaction(f"e{number}"),
        event(f"e{number}", "session_info", name=said),
    )
    return kinds[number % len(kinds)]


@pytest.mark.slow
@given(st.lists(TEXTS, min_size=1, max_size=12))
@example(["\u13a0 \u13f8 \u01c5 \u1e9e \u0130 \u017f \u212a"])
def test_every_word_of_an_event_finds_it(texts: list[str]) -> None:
    log = MemoryLog(clock=lambda: 0)
    log.append("s", [made(number, said) for number, said in enumerate(texts)])
    with open_index(log, None) as index:
        for number, said in enumerate(texts):
            for word in said.replace('"', " ").split():
                if any(each.isalnum() for each in word) and made(number, said).kind != "compaction":
                    assert ("s", number + 1) in list(index.find(Query(word).expression)), word
                    assert ("s", number + 1) in list(index.find(Query(f'"{word}"').expression)), word
                    assert f"s e{number}" in found(log, word), word
