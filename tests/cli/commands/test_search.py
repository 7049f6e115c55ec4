from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support import claude_code
from tests.support.pi_files import entry, header, line

COMPACTION = '{"type":"compaction","id":"cc","summary":"The parser","firstKeptEntryId":"a4","tokensBefore":9}'


def ids(refold: Refold, *arguments: str) -> list[str]:
    """The ids of the events that are found, the newest first."""
    found = refold("search", *arguments, "--json", code=None).json["hits"]
    return [each["id"] for each in found]


@pytest.fixture
def two(told: Refold, tmp_path: Path) -> Refold:
    """A store with the tale and a newer session of another project."""
    said = {"role": "user", "content": "Another parser, in Zürich"}
    lines = entry("z1", None, "message", message=said, timestamp="2026-01-02T00:00:00.000Z")
    (tmp_path / "other.jsonl").write_bytes(header(session="session-z", cwd="/home/user/web") + lines)
    told("sync", "other.jsonl")
    return told


def test_json_says_what_a_hit_is(told: Refold) -> None:
    assert told("search", "expression", "regular", "--json").json == {
        "hits": [
            {
                "session": SESSION,
                "seq": 9,
                "id": "b1",
                "name": "user",
                "time": "2025-12-08T22:00:09.000Z",
                "state": "branch",
                "excerpt": "Try a regular expression.",
                "marks": [{"start": 6, "stop": 13}, {"start": 14, "stop": 24}],
                "losses": [],
            }
        ],
    }


def test_a_summary_that_was_undone_before_the_next_call_is_not_lost(told: Refold) -> None:
    told("append", SESSION, stdin=COMPACTION)
    assert "cc" in ids(told, "parser")
    told("undo", SESSION, "cc")
    assert "cc" in ids(told, "parser")
    assert "cc" not in ids(told, "parser", "--gone")


def test_sessions_are_chosen(two: Refold) -> None:
    assert ids(two, "parser")[0] == "z1"
    assert ids(two, "parser", "--project", "web") == ["z1"]
    assert ids(two, "parser", "--since", "2026-01-01") == ["z1"]
    assert ids(two, "parser", "--session", "session-z") == ["z1"]
    assert ids(two, "parser", "--session", "session-z", "--project", "project") == []
    assert ids(two, "parser", "--harness", "claude-code") == []
    assert ids(two, "ZURICH") == ["z1"]


@pytest.mark.parametrize(("count", "notes"), [(20, 0), (21, 1)])
def test_people_see_a_screenful_and_programs_all(refold: Refold, count: int, notes: int) -> None:
    records = [
        {"type": "message", "message": {"role": "user", "content": f"wombat {n}"}} for n in range(count)
    ]
    refold("append", "s", stdin=b"".join(map(line, records)))
    shown = refold("search", "wombat")
    assert (sum("wombat" in each for each in shown.lines), len(shown.notes)) == (20, notes)
    assert len(refold("search", "wombat", "--json").json["hits"]) == count


def test_nothing_found_exits_with_1_and_a_bad_query_with_2(told: Refold) -> None:
    assert told("search", "nowhere", "--json", code=1).json == {"hits": []}
    assert told("search", "nowhere", code=1).notes
    for query in ('"half', "...", '""', "NEAR(", "*", "\udcff"):
        code = 1 if query == "NEAR(" else 2
        assert told("search", query, code=code).errors.startswith("refold: ")


@pytest.mark.parametrize(
    "query", ["a AND", "NOT a", "text: x", "{a b}: c", "^a", "a OR b", "a NEAR b", "-a", "'", "\\"]
)
def test_no_query_is_an_error_of_sqlite(told: Refold, query: str) -> None:
    done = told("search", "--", query, code=None)
    assert done.code in (0, 1, 2)
    assert "sqlite" not in done.errors.lower()
    assert "fts5" not in done.errors.lower()


def test_a_query_of_thousands_of_words_is_a_query(told: Refold) -> None:
    assert ids(told, *(f"word{number}" for number in range(3_000))) == []
    assert ids(told, "parser " * 3_000) == ids(told, "parser")


def test_records_of_one_claude_message_are_found_one_by_one(refold: Refold, tmp_path: Path) -> None:
    lines = (
        claude_code.said("u1", None, "Look into it"),
        claude_code.answer("a1", "u1", "m1", "I look at the sparrow"),
        claude_code.answer("a2", "a1", "m1", claude_code.call("k1", command="find sparrow")),
        claude_code.result("r1", "a2", "k1", "no sparrow"),
    )
    (tmp_path / "session.jsonl").write_bytes(b"".join(lines))
    refold("sync", "session.jsonl")
    assert sorted(ids(refold, "sparrow")) == ["a1", "a2", "r1"]
    assert ids(refold, "find", "sparrow") == ["a2"]
    assert ids(refold, "look sparrow") == ["a1"]


def test_a_backup_holds_no_index_and_an_index_of_another_store_is_not_believed(
    told: Refold, tmp_path: Path
) -> None:
    expected = ids(told, "parser")
    told("backup", "copy")
    assert sorted(each.name for each in (tmp_path / "copy").iterdir()) == ["data.mdb"]
    told("label", SESSION, "--title", "A sparrow")
    assert len(ids(told, "sparrow")) == 1
    # The store is restored from its backup, and the index stays.
    (tmp_path / "copy" / "data.mdb").replace(told.store / "data.mdb")
    (told.store / "lock.mdb").unlink()
    assert ids(told, "sparrow") == []
    assert ids(told, "parser") == expected


@pytest.mark.slow
def test_verify_and_stats_disregard_the_index(told: Refold) -> None:
    before = told("stats", "--json").json
    ids(told, "parser")
    assert told("stats", "--json").json == before
    told("verify")


def test_a_locked_index_is_waited_for(told: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ids(told, "parser")
    told("label", SESSION, "--title", "A sparrow")
    monkeypatch.setattr("projections.search.full_text._PATIENCE", 0.1)
    with closing(sqlite3.connect(told.store / "search.sqlite", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert "the search index cannot be used (database is locked)" in told("search", "x", code=1).errors
        db.execute("ROLLBACK")
    assert ids(told, "parser") == expected


def test_excerpts_on_a_terminal_are_marked_and_fit(two: Refold) -> None:
    two.columns = 70
    lines = two("search", "parser", "fix").lines
    assert any("\x1b[7mparser\x1b[0m" in line for line in lines)


def test_an_earlier_generation_is_searched_only_by_name(refold: Refold, tmp_path: Path) -> None:
    said = {"role": "user", "content": "A parser"}
    for name in ("old", "new"):
        record = entry(name, None, "message", message=said)
        (tmp_path / "one.jsonl").write_bytes(header(session="one") + record)
        refold("sync", "one.jsonl")
    assert ids(refold, "parser") == ids(refold, "parser", "--harness", "pi") == ["new"]
    assert ids(refold, "parser", "--session", "one~1") == ["old"]


def test_earlier_generations_are_mentioned_where_nothing_matches(refold: Refold, tmp_path: Path) -> None:
    for name in ("old", "new"):
        record = entry(name, None, "message", message={"role": "user", "content": f"A {name} parser"})
        (tmp_path / "one.jsonl").write_bytes(header(session="one") + record)
        refold("sync", "one.jsonl")
    assert "1 earlier generation" in refold("search", "old", code=1).notes[-1]
