from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest

from eventstore.errors import BadInputError
from tests.cli.running import Refold
from tests.cli.tale import SESSION, tale, write
from tests.support.claude_code import line
from tests.support.madeup.format import HEADER, register
from tests.support.pi_files import header, said
from tests.support.stores import damage

OTHER = "0199bbbb-0000-7000-8000-000000000002"
FOREIGN = b'{"sessionId":"1","projectHash":"2"}\n'
"""A session that no harness's reader imports: opencode kept such files before it had a database."""


def test_json_tells_what_was_new_in_each_session(refold: Refold, tmp_path: Path) -> None:
    write(tmp_path / "tale.jsonl")
    (session,) = refold("sync", "tale.jsonl", "--json").json["sessions"]
    told = {name: session[name] for name in ("id", "format", "events", "added", "skipped")}
    assert told == {"id": SESSION, "format": "pi/3", "events": 16, "added": 16, "skipped": []}


def test_a_line_is_printed_for_each_session(refold: Refold, tmp_path: Path) -> None:
    write(tmp_path / "tale.jsonl")
    (told,) = refold("sync", "tale.jsonl").lines
    assert [told.split()[at] for at in (0, 1, 2, 4, -1)] == [SESSION, "pi/3", "16", "16", "tale.jsonl"]


def test_importing_twice_adds_nothing(told: Refold) -> None:
    before = told("sessions", "--json").raw
    (session,) = told("sync", "tale.jsonl", "--json").json["sessions"]
    assert (session["events"], session["added"]) == (16, 0)
    assert told("sessions", "--json").raw == before


def test_a_copy_under_another_name_adds_nothing(told: Refold, tmp_path: Path) -> None:
    write(tmp_path / "copy.jsonl")
    assert told("sync", "copy.jsonl", "--json").json["sessions"][0]["added"] == 0
    assert len(told("sessions", "--json").json["sessions"]) == 1


def test_a_file_that_grew_adds_what_is_new(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale() + said("one more", "u9", "i1"))
    (session,) = told("sync", "tale.jsonl", "--json").json["sessions"]
    assert (session["events"], session["added"]) == (17, 1)


def test_a_file_that_lost_its_end_adds_nothing(told: Refold, tmp_path: Path) -> None:
    shorter = b"".join(tale().splitlines(keepends=True)[:9])
    (tmp_path / "tale.jsonl").write_bytes(shorter)
    assert told("sync", "tale.jsonl", "--json").json["sessions"][0]["added"] == 0
    assert told("tree", SESSION, "--json").json["leaf"] == "i1"


def test_of_named_files_the_newest_comes_last(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_bytes(header(session=OTHER) + said("hello", "x1", None))
    write(tmp_path / "tale.jsonl")
    os.utime(tmp_path / "other.jsonl", (1, 1))
    imported = refold("sync", "tale.jsonl", "other.jsonl", "--json").json["sessions"]
    assert [each["id"] for each in imported] == [OTHER, SESSION]


def test_files_beside_a_bad_one_are_imported(refold: Refold, tmp_path: Path) -> None:
    write(tmp_path / "tale.jsonl")
    (tmp_path / "notes.txt").write_text("a shopping list\n")
    (tmp_path / "other.jsonl").write_bytes(header(session=OTHER) + said("hello", "x1", None))
    outcome = refold("sync", "tale.jsonl", "notes.txt", "gone.jsonl", "other.jsonl", code=1)
    assert [line.split()[0] for line in outcome.lines] == [SESSION, OTHER]
    errors = outcome.errors.splitlines()
    assert [error.split(": ")[1] for error in errors] == ["notes.txt", "gone.jsonl"]


def test_json_has_what_a_bad_file_stood_beside(refold: Refold, tmp_path: Path) -> None:
    write(tmp_path / "tale.jsonl")
    outcome = refold("sync", "gone.jsonl", "tale.jsonl", "--json", code=1)
    assert [each["id"] for each in outcome.json["sessions"]] == [SESSION]


def test_a_folder_stands_for_its_session_files(refold: Refold, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    write(folder / "b.jsonl")
    (folder / "a.jsonl").write_bytes(header(session=OTHER) + said("hello", "x1", None))
    (folder / "notes.txt").write_text("a shopping list\n")
    imported = refold("sync", "sessions", "--json").json["sessions"]
    assert sorted(each["id"] for each in imported) == [SESSION, OTHER]


def test_a_folder_without_session_files_is_reported(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert told_of(refold, "empty") == "empty"


def test_a_session_of_another_harness_is_reported(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(FOREIGN)
    told = refold("sync", "a.jsonl", code=1).errors
    assert ("a.jsonl: " in told, "Gemini CLI" in told) == (True, True)


def test_many_sessions_of_another_harness_are_one_line(refold: Refold, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_bytes(FOREIGN)
    write(folder / "c.jsonl")
    outcome = refold("sync", "sessions", "--json")
    (told,) = outcome.notes
    assert [each in told for each in ("sessions: ", "2 files", "Gemini CLI")] == [True] * 3
    assert [each["id"] for each in outcome.json["sessions"]] == [SESSION]


def test_a_folder_of_exports_is_imported(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "a.json").write_text('{\n "info": {"id": "ses_1"}, "messages": []\n}')
    assert [each["id"] for each in refold("sync", "exports", "--json").json["sessions"]] == ["ses_1"]


def told_of(refold: Refold, name: str) -> str:
    """The file that the one line is about which is told of what cannot be imported."""
    (told,) = refold("sync", name, code=1).errors.splitlines()
    return told.removeprefix("refold: ").partition(": ")[0]


def test_without_a_readable_file_there_is_no_store(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "poem.jsonl").write_bytes(b"Two roads diverged\n")
    told = refold("sync", "nosuch", "poem.jsonl", code=1).errors
    assert "nosuch: the file does not exist" in told
    assert "poem.jsonl: contains no readable record" in told
    assert not refold.store.exists()


def test_an_empty_file_is_reported(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert told_of(refold, "empty.jsonl") == "empty.jsonl"


def test_lines_without_a_record_are_reported(refold: Refold, tmp_path: Path) -> None:
    lines = tale().splitlines(keepends=True)
    (tmp_path / "tale.jsonl").write_bytes(b"".join([*lines[:3], b"{broken\n", *lines[3:]]))
    (session,) = refold("sync", "tale.jsonl", "--json").json["sessions"]
    assert (session["events"], [each["line"] for each in session["skipped"]]) == (16, [4])


def test_skipped_lines_are_told_with_their_place(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale() + b"[1]\n")
    _, told = refold("sync", "tale.jsonl").lines
    assert told.split(": ")[0].strip() == "tale.jsonl:18"


def test_ids_of_version_1_are_alike_everywhere(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_bytes(header(1) + said("hello") + said("again"))
    ids = []
    for name in ("one", "two"):
        store = Refold(tmp_path / name)
        store("sync", tmp_path / "old.jsonl")
        ids.append([node["id"] for node in store("tree", "@last", "--json").json["nodes"]])
    assert ids[0] == ids[1]


def test_a_file_name_need_not_be_utf_8(refold: Refold, tmp_path: Path) -> None:
    name = os.fsdecode(b"tale-\xff.jsonl")
    write(tmp_path / name)
    assert json.loads(refold("sync", name, "--json").raw)["sessions"][0]["added"] == 16
    assert refold("sessions", "--json").json["sessions"][0]["source"].endswith("tale-\ufffd.jsonl")


def test_under_another_name_a_file_is_another_session(told: Refold) -> None:
    (session,) = told("sync", "tale.jsonl", "--as", "second", "--json").json["sessions"]
    assert (session["id"], session["added"]) == ("second", 16)
    assert len(told("sessions", "--json").json["sessions"]) == 2


def test_another_name_is_for_one_file(told: Refold) -> None:
    told.refused(click.UsageError, "sync", "tale.jsonl", "tale.jsonl", "--as", "second", code=2)


def test_a_record_that_its_harness_changed_is_counted(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale().replace(b"Fix the parser.", b"Mend the parser."))
    (session,) = told("sync", "tale.jsonl", "--json").json["sessions"]
    assert (session["id"], session["rewritten"]) == (SESSION, 1)


def test_a_session_that_grew_twice_has_diverged(told: Refold, tmp_path: Path) -> None:
    told("append", SESSION, stdin=said("said here"))
    (tmp_path / "tale.jsonl").write_bytes(tale() + said("said there", "u9", "i1"))
    assert told("sync", "tale.jsonl", "--json").json["sessions"][0]["diverged"] is True
    (tmp_path / "tale.jsonl").write_bytes(tale() + said("said there", "u9", "i1") + said("more", "v9", "u9"))
    assert len(told("sync", "tale.jsonl").lines) == 2


def test_a_session_that_grew_once_has_not_diverged(told: Refold) -> None:
    assert told("sync", "tale.jsonl", "--json").json["sessions"][0]["diverged"] is False


def test_where_the_harness_reads_otherwise_is_told(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale() + said("an id once more", "u1", "i1"))
    (session,) = refold("sync", "tale.jsonl", "--json").json["sessions"]
    (remark,) = session["differs_from_harness"]
    assert remark["line"] == 18
    assert remark["reason"]


def test_many_remarks_of_a_kind_share_a_line(refold: Refold, tmp_path: Path) -> None:
    head, *records = tale().splitlines(keepends=True)
    (tmp_path / "tale.jsonl").write_bytes(head + b"".join(record * 2 for record in records))
    _, remark = refold("sync", "tale.jsonl").lines
    assert ("tale.jsonl:3: " in remark, "3, 5, 7, 9, 11, 13, …" in remark) == (True, True)
    (session,) = refold("sync", "tale.jsonl", "--json").json["sessions"]
    assert [each["line"] for each in session["skipped"]] == list(range(3, 35, 2))


def test_remarks_that_differ_in_names_are_alike(refold: Refold, tmp_path: Path) -> None:
    orphans = b"".join(said("x", f"x{at}", f"'\"gone{at}") for at in range(9))
    (tmp_path / "tale.jsonl").write_bytes(tale() + orphans)
    assert len(refold("sync", "tale.jsonl").lines) == 2


def test_records_not_in_utf_8_are_one_line(refold: Refold, tmp_path: Path) -> None:
    odd = said("caf?", "e1", "i1") + said("?", "e2", "e1")
    (tmp_path / "tale.jsonl").write_bytes(tale() + odd.replace(b"?", b"\xe9"))
    _, remark = refold("sync", "tale.jsonl").lines
    assert ("tale.jsonl:18: " in remark, " 2 " in remark) == (True, True)
    (session,) = refold("sync", "tale.jsonl", "--json").json["sessions"]
    assert [each["line"] for each in session["not_utf8"]] == [18, 19]


def test_unknown_types_are_counted_in_one_line(refold: Refold, tmp_path: Path) -> None:
    odd = b"".join(
        b'{"type":"%s","id":"x%d","parentId":null,"timestamp":"2025-12-08T22:00:00.000Z"}\n' % (type_, at)
        for at, type_ in enumerate([b"hologram", *(b"t%d" % each for each in range(9)), b"hologram"])
    )
    (tmp_path / "tale.jsonl").write_bytes(tale() + odd)
    _, counted = refold("sync", "tale.jsonl").lines
    assert ("11 " in counted, "hologram (2)" in counted, "t0 (1)" in counted) == (True, True, True)
    assert "t8" not in counted
    (session,) = refold("sync", "tale.jsonl", "--json").json["sessions"]
    assert session["unknown"] == {"hologram": 2, **{f"t{each}": 1 for each in range(9)}}
    assert "hologram (2)" in refold("log", SESSION, "--kind", "import").lines[-1]


def test_a_file_in_utf_16_is_reported(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale().decode().encode("utf-16"))
    assert told_of(refold, "tale.jsonl") == "tale.jsonl:1"


def test_a_file_written_anew_is_another_generation(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "anew.jsonl").write_bytes(header() + said("hello", "x1", None) + said("again", "x2", "x1"))
    line, remark = told("sync", "anew.jsonl").lines
    assert line.startswith(f"{SESSION}~2 ")
    assert f"'{SESSION}'" in remark
    assert told("sync", "anew.jsonl", "--json").json["sessions"][0]["earlier"] == SESSION


def test_a_text_that_quotes_a_session_is_refused(refold: Refold, tmp_path: Path) -> None:
    quoted = (
        b"# A tool\n\nIts sessions look like this:\n\n"
        + header()
        + said("a", "a", None)
        + b"\nThat is all.\n"
    )
    (tmp_path / "README.md").write_bytes(quoted)
    assert refold.refused(BadInputError, "audit", "README.md").source.endswith("README.md")
    refold("sync", "README.md", code=1)
    assert refold("sessions", "--json").json["sessions"] == []


class TestSeveralSessionsInAFile:
    @pytest.fixture
    def several(self, refold: Refold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refold:
        register(monkeypatch)
        said_in = [("one", "a"), ("two", "b"), ("one", "c")]
        records = [
            {
                "kind": "say",
                "in": session,
                "id": each,
                "after": None,
                "message": {"who": "person", "text": "x"},
            }
            for session, each in said_in
        ]
        (tmp_path / "file").write_bytes(
            HEADER + b"".join(json.dumps(each).encode() + b"\n" for each in records)
        )
        return refold

    def test_each_is_told_of(self, several: Refold) -> None:
        found = several("sync", "file", "--json").json["sessions"]
        assert [(each["id"], each["events"]) for each in found] == [("one", 2), ("two", 1)]
        assert [line.split()[0] for line in several("sync", "file").lines] == ["one", "two"]

    def test_a_command_on_the_file_asks_for_one(self, several: Refold) -> None:
        refused = several.refused(BadInputError, "log", "file")
        assert all(name in refused.problem for name in ("one", "two"))
        assert several("log", "two", "--json").code == 0


def test_an_impossible_session_id_names_its_file(refold: Refold, tmp_path: Path) -> None:
    write_to = tmp_path / "long.jsonl"
    write_to.write_bytes(header(session="s" * 600) + said("hello", "a", None))
    assert refold("sync", "long.jsonl", code=1).errors.startswith("refold: long.jsonl: session 'sss")
    assert refold.refused(BadInputError, "audit", "long.jsonl").source == "long.jsonl"
    refold("sync", "long.jsonl", "--as", "shorter")


def test_exports_beside_other_files_are_found(refold: Refold, tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    write(folder / "tale.jsonl")
    (folder / "export.json").write_text('{"info": {"id": "ses_1"}, "messages": []}')
    outcome = refold("sync", "both")
    assert (len(outcome.lines), outcome.notes) == (2, [])


def test_a_folder_may_hold_files_without_a_session(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    write(tmp_path / "begun" / "tale.jsonl")
    (tmp_path / "begun" / "empty.jsonl").touch()
    (tmp_path / "begun" / "z.jsonl").write_bytes(line(type="file-history-snapshot") + b"\n")
    (note,) = refold("sync", "begun").notes
    assert "2 files without a session yet, such as begun/empty.jsonl" in note


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_files_beside_a_damaged_session_are_imported(
    told: Refold, tmp_path: Path, options: list[str]
) -> None:
    damage(told.store, 1, 3)
    (tmp_path / "z.jsonl").write_bytes(header(session="z") + said("one", "a", None))
    outcome = told("sync", "tale.jsonl", "z.jsonl", *options, code=1)
    (problem,) = outcome.errors.splitlines()
    assert (repr(SESSION) in problem, "run 'refold verify'" in problem) == (True, True)
    assert "z" in [each["id"] for each in told("sessions", "--json").json["sessions"]]


def test_a_folder_among_paths_fails_alone(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "tale.jsonl")
    printed = refold("sync", "empty", "gone.jsonl", "tale.jsonl", "--json", code=1).json
    assert [(each["file"], each["known"]) for each in printed["failed"]] == [
        ("empty", False),
        ("gone.jsonl", False),
    ]
    (project,) = printed["projects"]
    assert (project["folder"], project["new"], project["events"]) == (".", 1, 16)


def test_a_dry_run_of_paths_imports_nothing(refold: Refold, tmp_path: Path) -> None:
    write(tmp_path / "tale.jsonl")
    (tmp_path / "foreign.jsonl").write_bytes(FOREIGN)
    (tmp_path / "empty").mkdir()
    paths = ("tale.jsonl", "foreign.jsonl", "empty", "gone.jsonl")
    dry = refold("sync", *paths, "--dry-run", "--json", code=1)
    assert not refold.store.exists()
    real = refold("sync", *paths, "--json", code=1)
    assert (dry.json["failed"], dry.errors) == (real.json["failed"], real.errors)
    assert [each["new"] for each in dry.json["projects"]] == [each["new"] for each in real.json["projects"]]
    assert (dry.json["dryRun"], dry.json["sessions"]) == (True, [])


def test_a_reported_file_fails_again_when_named(refold: Refold, tmp_path: Path) -> None:
    folder = tmp_path / ".pi/agent/sessions/one"
    folder.mkdir(parents=True)
    (folder / "bad.jsonl").write_text("a shopping list\n")
    refold("sync", "--home", tmp_path, code=1)
    refold("sync", "--home", tmp_path)
    again = refold("sync", folder / "bad.jsonl", "--json", code=1)
    assert str(folder / "bad.jsonl") in again.errors
    assert again.json["failed"][0]["known"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ["--as", "new"],
        ["tale.jsonl", "--as", "new", "--dry-run"],
        ["tale.jsonl", "--as", "new", "--watch"],
        ["tale.jsonl", "--home", "."],
        ["--watch", "--dry-run"],
        ["--watch", "gone.jsonl"],
    ],
)
def test_options_that_exclude_each_other_are_refused(told: Refold, arguments: list[str]) -> None:
    told.refused(click.UsageError, "sync", *arguments, code=2)


def two_sessions(count: int) -> bytes:
    """A file of Claude Code's with two sessions of so many messages, the second a subagent's."""
    records = [
        line(
            type="user",
            uuid=f"{chain}{number}",
            parentUuid=f"{chain}{number - 1}" if number else None,
            isSidechain=chain == "side",
            sessionId="s",
            message={"role": "user", "content": "go on"},
        )
        for number in range(count)
        for chain in ("main", "side")
    ]
    return b"".join(each + b"\n" for each in records)


@pytest.mark.parametrize("damaged", [(2, 2), (5, 5), (2, 5), (5, 2)])
@pytest.mark.parametrize("count", [4, 6])
def test_each_damaged_session_of_a_file_is_reported(
    refold: Refold, tmp_path: Path, count: int, damaged: tuple[int, int]
) -> None:
    (tmp_path / "two.jsonl").write_bytes(two_sessions(4))
    ids = [each["id"] for each in refold("sync", "two.jsonl", "--json").json["sessions"]]
    for number, seq in enumerate(damaged, start=1):
        damage(refold.store, number, seq)
    (tmp_path / "two.jsonl").write_bytes(two_sessions(count))
    write(tmp_path / "tale.jsonl")
    outcome = refold("sync", "two.jsonl", "tale.jsonl", "--json", code=1)
    told = sorted(outcome.errors.splitlines())
    for problem, each in zip(told, sorted(ids), strict=True):
        assert problem.startswith(f"refold: two.jsonl: session {each!r}, event ")
        assert "run 'refold verify'" in problem
    assert sorted(f"refold: two.jsonl: {each['problem']}" for each in outcome.json["failed"]) == told
    assert SESSION in [each["id"] for each in outcome.json["sessions"]]


@pytest.mark.parametrize("seq", [1, 2])
def test_each_damaged_session_of_a_folder_is_reported(refold: Refold, tmp_path: Path, seq: int) -> None:
    folder = tmp_path / "several"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.jsonl").write_bytes(header(session=name) + said("one", f"{name}1", None))
    refold("sync", "several")
    damage(refold.store, 1, seq)
    damage(refold.store, 3, seq)
    (folder / "d.jsonl").write_bytes(header(session="d") + said("one", "d1", None))
    outcome = refold("sync", "several", code=1)
    told = [problem.split(", ")[0] for problem in outcome.errors.splitlines()]
    assert told == [f"refold: several/{name}.jsonl: session '{name}'" for name in "ac"]
    assert {"b", "d"} <= {printed.split()[0] for printed in outcome.lines}


def test_home_sync_reports_each_damaged_session(refold: Refold, tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/one"
    folder.mkdir(parents=True)
    (folder / "two.jsonl").write_bytes(two_sessions(4))
    refold("sync", "--home", tmp_path)
    for number in (1, 2):
        damage(refold.store, number, 5)
    (folder / "two.jsonl").write_bytes(two_sessions(6))
    told = refold("sync", "--home", tmp_path, code=1).errors.splitlines()
    assert [f"{folder}/two.jsonl: session " in problem for problem in told] == [True, True]
