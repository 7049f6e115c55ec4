from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest

from eventstore.errors import BadInputError
from tests.cli.running import Refold
from tests.cli.tale import SESSION, tale, write
from tests.support.madeup.format import HEADER, register
from tests.support.pi_files import header, said

OTHER = "0199bbbb-0000-7000-8000-000000000002"


def test_json_tells_of_each_session_what_the_file_holds_and_what_was_new(
    refold: Refold, tmp_path: Path
) -> None:
    write(tmp_path / "tale.jsonl")
    (session,) = refold("import", "tale.jsonl", "--json").json["sessions"]
    told = {name: session[name] for name in ("id", "format", "events", "added", "skipped")}
    assert told == {"id": SESSION, "format": "pi/3", "events": 16, "added": 16, "skipped": []}


def test_a_line_is_printed_for_each_session(refold: Refold, tmp_path: Path) -> None:
    write(tmp_path / "tale.jsonl")
    (told,) = refold("import", "tale.jsonl").lines
    assert [told.split()[at] for at in (0, 1, 2, 4, -1)] == [SESSION, "pi/3", "16", "16", "tale.jsonl"]


def test_importing_twice_adds_nothing(told: Refold) -> None:
    before = told("sessions", "--json").raw
    (session,) = told("import", "tale.jsonl", "--json").json["sessions"]
    assert (session["events"], session["added"]) == (16, 0)
    assert told("sessions", "--json").raw == before


def test_importing_a_copy_under_another_name_adds_no_event(told: Refold, tmp_path: Path) -> None:
    write(tmp_path / "copy.jsonl")
    assert told("import", "copy.jsonl", "--json").json["sessions"][0]["added"] == 0
    assert len(told("sessions", "--json").json["sessions"]) == 1


def test_a_file_that_grew_adds_what_is_new(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale() + said("one more", "u9", "i1"))
    (session,) = told("import", "tale.jsonl", "--json").json["sessions"]
    assert (session["events"], session["added"]) == (17, 1)


def test_a_file_that_lost_its_end_adds_nothing(told: Refold, tmp_path: Path) -> None:
    shorter = b"".join(tale().splitlines(keepends=True)[:9])
    (tmp_path / "tale.jsonl").write_bytes(shorter)
    assert told("import", "tale.jsonl", "--json").json["sessions"][0]["added"] == 0
    assert told("tree", SESSION, "--json").json["leaf"] == "i1"


def test_several_files_are_imported_in_the_order_given(refold: Refold, tmp_path: Path) -> None:
    write(tmp_path / "tale.jsonl")
    (tmp_path / "other.jsonl").write_bytes(header(session=OTHER) + said("hello", "x1", None))
    imported = refold("import", "other.jsonl", "tale.jsonl", "--json").json["sessions"]
    assert [each["id"] for each in imported] == [OTHER, SESSION]


def test_a_file_that_is_no_session_keeps_no_other_from_being_imported(refold: Refold, tmp_path: Path) -> None:
    write(tmp_path / "tale.jsonl")
    (tmp_path / "notes.txt").write_text("a shopping list\n")
    (tmp_path / "other.jsonl").write_bytes(header(session=OTHER) + said("hello", "x1", None))
    outcome = refold("import", "tale.jsonl", "notes.txt", "gone.jsonl", "other.jsonl", code=1)
    assert [line.split()[0] for line in outcome.lines] == [SESSION, OTHER]
    errors = outcome.errors.splitlines()
    assert [error.split(": ")[1] for error in errors] == ["notes.txt", "gone.jsonl"]


def test_json_is_printed_of_what_was_imported_beside_a_bad_file(refold: Refold, tmp_path: Path) -> None:
    write(tmp_path / "tale.jsonl")
    outcome = refold("import", "gone.jsonl", "tale.jsonl", "--json", code=1)
    assert [each["id"] for each in outcome.json["sessions"]] == [SESSION]


def test_a_folder_stands_for_the_session_files_in_it(refold: Refold, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    write(folder / "b.jsonl")
    (folder / "a.jsonl").write_bytes(header(session=OTHER) + said("hello", "x1", None))
    (folder / "notes.txt").write_text("a shopping list\n")
    imported = refold("import", "sessions", "--json").json["sessions"]
    assert [each["id"] for each in imported] == [OTHER, SESSION]


def test_a_folder_without_session_files_is_told(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert told_of(refold, "empty") == "empty"


CLAUDE_CODE = b'{"type":"mode","mode":"normal","sessionId":"s"}\n{"type":"user","sessionId":"s"}\n'


def test_a_session_of_another_harness_is_told(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(CLAUDE_CODE)
    told = refold("import", "a.jsonl", code=1).errors
    assert ("a.jsonl: " in told, "Claude Code" in told) == (True, True)


def test_many_sessions_of_another_harness_in_a_folder_are_told_in_one_line(
    refold: Refold, tmp_path: Path
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_bytes(CLAUDE_CODE)
    write(folder / "c.jsonl")
    outcome = refold("import", "sessions", "--json", code=1)
    (told,) = outcome.errors.splitlines()
    assert [each in told for each in ("sessions: ", "2 files", "Claude Code")] == [True] * 3
    assert [each["id"] for each in outcome.json["sessions"]] == [SESSION]


def test_a_folder_with_exports_of_opencode_alone_says_so(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "a.json").write_text('{\n "info": {"id": "ses_1"}, "messages": []\n}')
    told = refold("import", "exports", code=1).errors
    assert ("exports/a.json: " in told, "opencode" in told) == (True, True)


def told_of(refold: Refold, name: str) -> str:
    """The file that the one line is about which is told of what cannot be imported."""
    (told,) = refold("import", name, code=1).errors.splitlines()
    return told.removeprefix("refold: ").partition(": ")[0]


def test_an_empty_file_is_told(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert told_of(refold, "empty.jsonl") == "empty.jsonl"


def test_lines_that_hold_no_record_are_reported_with_their_number_and_why(
    refold: Refold, tmp_path: Path
) -> None:
    lines = tale().splitlines(keepends=True)
    (tmp_path / "tale.jsonl").write_bytes(b"".join([*lines[:3], b"{broken\n", *lines[3:]]))
    (session,) = refold("import", "tale.jsonl", "--json").json["sessions"]
    assert (session["events"], [each["line"] for each in session["skipped"]]) == (16, [4])


def test_skipped_lines_are_told_to_people_with_file_and_line(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale() + b"[1]\n")
    _, told = refold("import", "tale.jsonl").lines
    assert told.split(": ")[0].strip() == "tale.jsonl:18"


def test_a_session_of_version_1_gets_the_same_ids_in_every_store(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_bytes(header(1) + said("hello") + said("again"))
    ids = []
    for name in ("one", "two"):
        store = Refold(tmp_path / name)
        store("import", tmp_path / "old.jsonl")
        ids.append([node["id"] for node in store("tree", "@last", "--json").json["nodes"]])
    assert ids[0] == ids[1]


def test_a_file_whose_name_is_no_utf_8_is_imported(refold: Refold, tmp_path: Path) -> None:
    name = os.fsdecode(b"tale-\xff.jsonl")
    write(tmp_path / name)
    assert json.loads(refold("import", name, "--json").raw)["sessions"][0]["added"] == 16
    assert refold("sessions", "--json").json["sessions"][0]["source"].endswith("tale-\ufffd.jsonl")


def test_under_another_name_a_file_is_another_session(told: Refold) -> None:
    (session,) = told("import", "tale.jsonl", "--as", "second", "--json").json["sessions"]
    assert (session["id"], session["added"]) == ("second", 16)
    assert len(told("sessions", "--json").json["sessions"]) == 2


def test_another_name_is_for_one_file(told: Refold) -> None:
    told.refused(click.UsageError, "import", "tale.jsonl", "tale.jsonl", "--as", "second", code=2)


def test_a_record_that_its_harness_changed_is_counted(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale().replace(b"Fix the parser.", b"Mend the parser."))
    (session,) = told("import", "tale.jsonl", "--json").json["sessions"]
    assert (session["id"], session["rewritten"]) == (SESSION, 1)


def test_a_session_that_grew_here_and_elsewhere_is_said_to_have_diverged(
    told: Refold, tmp_path: Path
) -> None:
    told("append", SESSION, stdin=said("said here"))
    (tmp_path / "tale.jsonl").write_bytes(tale() + said("said there", "u9", "i1"))
    assert told("import", "tale.jsonl", "--json").json["sessions"][0]["diverged"] is True
    (tmp_path / "tale.jsonl").write_bytes(tale() + said("said there", "u9", "i1") + said("more", "v9", "u9"))
    assert len(told("import", "tale.jsonl").lines) == 2


def test_a_session_that_grew_in_one_place_has_not_diverged(told: Refold) -> None:
    assert told("import", "tale.jsonl", "--json").json["sessions"][0]["diverged"] is False


def test_where_the_harness_reads_otherwise_is_reported_with_line_and_reason(
    refold: Refold, tmp_path: Path
) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale() + said("an id once more", "u1", "i1"))
    (session,) = refold("import", "tale.jsonl", "--json").json["sessions"]
    (remark,) = session["differs_from_harness"]
    assert remark["line"] == 18
    assert remark["reason"]


def test_many_remarks_of_a_kind_share_a_line(refold: Refold, tmp_path: Path) -> None:
    head, *records = tale().splitlines(keepends=True)
    (tmp_path / "tale.jsonl").write_bytes(head + b"".join(record * 2 for record in records))
    _, remark = refold("import", "tale.jsonl").lines
    assert ("tale.jsonl:3: " in remark, "3, 5, 7, 9, 11, 13, …" in remark) == (True, True)
    (session,) = refold("import", "tale.jsonl", "--json").json["sessions"]
    assert [each["line"] for each in session["skipped"]] == list(range(3, 35, 2))


def test_remarks_that_differ_in_names_alone_are_of_a_kind(refold: Refold, tmp_path: Path) -> None:
    orphans = b"".join(said("x", f"x{at}", f"'\"gone{at}") for at in range(9))
    (tmp_path / "tale.jsonl").write_bytes(tale() + orphans)
    assert len(refold("import", "tale.jsonl").lines) == 2


def test_records_that_are_no_utf_8_are_counted_and_told_in_one_line(refold: Refold, tmp_path: Path) -> None:
    odd = said("caf?", "e1", "i1") + said("?", "e2", "e1")
    (tmp_path / "tale.jsonl").write_bytes(tale() + odd.replace(b"?", b"\xe9"))
    _, remark = refold("import", "tale.jsonl").lines
    assert ("tale.jsonl:18: " in remark, " 2 " in remark) == (True, True)
    (session,) = refold("import", "tale.jsonl", "--json").json["sessions"]
    assert [each["line"] for each in session["not_utf8"]] == [18, 19]


def test_a_file_in_utf_16_is_told(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale().decode().encode("utf-16"))
    assert told_of(refold, "tale.jsonl") == "tale.jsonl:1"


def test_a_file_that_was_written_anew_is_said_to_be_another_generation(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "anew.jsonl").write_bytes(header() + said("hello", "x1", None) + said("again", "x2", "x1"))
    line, remark = told("import", "anew.jsonl").lines
    assert line.startswith(f"{SESSION}~2 ")
    assert f"'{SESSION}'" in remark
    assert told("import", "anew.jsonl", "--json").json["sessions"][0]["earlier"] == SESSION


def test_a_text_that_quotes_a_session_is_refused_and_makes_none(refold: Refold, tmp_path: Path) -> None:
    quoted = (
        b"# A tool\n\nIts sessions look like this:\n\n"
        + header()
        + said("a", "a", None)
        + b"\nThat is all.\n"
    )
    (tmp_path / "README.md").write_bytes(quoted)
    assert refold.refused(BadInputError, "audit", "README.md").source.endswith("README.md")
    refold("import", "README.md", code=1)
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
        found = several("import", "file", "--json").json["sessions"]
        assert [(each["id"], each["events"]) for each in found] == [("one", 2), ("two", 1)]
        assert [line.split()[0] for line in several("import", "file").lines] == ["one", "two"]

    def test_a_command_on_the_file_asks_for_one_of_them(self, several: Refold) -> None:
        refused = several.refused(BadInputError, "log", "file")
        assert all(name in refused.problem for name in ("one", "two"))
        assert several("log", "two", "--json").code == 0
