from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventstore.errors import StoreError
from eventstore.lmdb.store import LmdbLog
from eventstore.log import AppendResult
from tests.cli.running import Refold
from tests.cli.tale import tale
from tests.support import claude_code
from tests.support.homes import CLAUDE, PI, a_home, pi_session, write
from tests.support.pi_files import header, said
from tests.support.tampering import tables


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return a_home(tmp_path)


def counts(printed: dict[str, object]) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    """Return the new, changed and unchanged files and the new events by harness and project."""
    return {
        (each["harness"], Path(each["folder"]).name): (
            each["new"],
            each["changed"],
            each["unchanged"],
            each["events"],
        )
        for each in printed["projects"]
    }


def test_an_empty_file_is_noted_and_no_failure(refold: Refold, tmp_path: Path) -> None:
    folder = tmp_path / PI / "one"
    folder.mkdir(parents=True)
    (folder / "begun.jsonl").touch()
    (folder / "tale.jsonl").write_bytes(tale())
    (note,) = refold("sync", "--home", tmp_path).notes
    assert "1 file without a session yet" in note


def test_a_file_of_snapshots_alone_is_no_failure(refold: Refold, tmp_path: Path) -> None:
    begun = write(tmp_path / CLAUDE / "p" / "begun.jsonl", claude_code.line(type="file-history-snapshot"))
    (note,) = refold("sync", "--home", tmp_path).notes
    assert "1 file without a session yet" in note
    assert refold("sync", "--home", tmp_path).errors == ""
    with begun.open("ab") as file:
        file.write(claude_code.said("u1", None, "hello"))
    assert counts(refold("sync", "--home", tmp_path, "--json").json) == {("claude-code", "p"): (1, 0, 0, 2)}


def test_everything_new_is_imported_and_counted_by_harness_and_project(refold: Refold, home: Path) -> None:
    printed = refold("sync", "--home", home, "--json").json
    assert (printed["dryRun"], printed["failed"], printed["unread"]) == (False, [], [])
    assert counts(printed) == {
        ("pi", "one"): (4, 0, 0, 12),
        ("pi", "two"): (4, 0, 0, 12),
        ("pi", "three"): (4, 0, 0, 12),
        ("oh-my-pi", "p"): (2, 0, 0, 2),
        ("oh-my-pi", "q"): (2, 0, 0, 2),
        ("claude-code", "-home-me"): (2, 0, 0, 6),
    }
    assert sum(each["sessions"] for each in printed["projects"]) == 18


def test_only_what_has_changed_is_imported_the_next_time(refold: Refold, home: Path) -> None:
    refold("sync", "--home", home)
    path = home / PI / "one" / "one-0.jsonl"
    with path.open("ab") as file:
        file.write(said("more", "n1", "e2"))
    os.utime(path, (2e9, 2e9))
    pi_session(home, "two", "new")
    found = counts(refold("sync", "--home", home, "--json").json)
    assert found["pi", "one"] == (0, 1, 3, 1)
    assert found["pi", "two"] == (1, 0, 4, 3)
    assert found["pi", "three"] == (0, 0, 4, 0)


def test_files_of_one_session_count_as_one_session(refold: Refold, home: Path) -> None:
    path = home / PI / "one" / "one-0.jsonl"
    content = path.read_bytes()
    write(path.with_name("one-0-later.jsonl"), content + said("more", "n1", "e2"))
    printed = refold("sync", "--home", home, "--json").json
    (one,) = (each for each in printed["projects"] if each["folder"] == str(path.parent))
    assert (one["new"], one["sessions"]) == (5, 4)


def test_a_rewritten_file_adds_a_generation_and_says_so(refold: Refold, home: Path) -> None:
    path = home / PI / "one" / "one-0.jsonl"
    assert not any("generation" in line for line in refold("sync", "--home", home).lines)
    path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n" + said("another talk", "n1", None))
    outcome = refold("sync", "--home", home)
    (line,) = [line for line in outcome.lines if "generation" in line]
    assert line.split()[0] == "1"
    listing = shlex.split(line[line.index("refold ") : line.rindex(" lists")])[1:]
    assert any("one-0~2" in each for each in refold(*listing).lines)
    assert "one-0~2" in refold("sessions", "--json").raw.decode()


def test_a_file_that_is_read_again_but_is_the_same_is_unchanged(refold: Refold, home: Path) -> None:
    refold("sync", "--home", home)
    os.utime(home / PI / "one" / "one-0.jsonl", (2e9, 2e9))
    printed = refold("sync", "--home", home, "--json").json
    assert counts(printed)["pi", "one"] == (0, 0, 4, 0)
    assert sum(each["bytes"] for each in printed["projects"]) == 0


@pytest.mark.parametrize(
    ("ends", "code"),
    [(StoreError("store", "the disk is full", "free some space"), 1), (KeyboardInterrupt(), 130)],
    ids=["a full disk", "Ctrl-C"],
)
def test_a_full_disk_ends_it_with_the_number_of_files_that_are_in(
    refold: Refold, home: Path, monkeypatch: pytest.MonkeyPatch, ends: BaseException, code: int
) -> None:
    append = LmdbLog.append

    def until_full(log: LmdbLog, session: str, *args: Any, **options: Any) -> AppendResult:
        if session == "three-1":
            raise ends
        return append(log, session, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(LmdbLog, "append", until_full)
        told = refold("sync", "--home", home, code=code).errors
    assert told.count("\n\n") == 0
    done = int(re.findall(r"([0-9]+) files? imported", told)[0])
    assert 0 < done < 18
    again = refold("sync", "--home", home, "--json").json
    assert sum(each["unchanged"] for each in again["projects"]) == done


def test_a_dry_run_says_the_same_and_makes_no_store(refold: Refold, home: Path) -> None:
    dry = refold("sync", "--home", home, "--dry-run", "--json").json
    assert not refold.store.exists()
    assert dry["dryRun"] is True
    real = refold("sync", "--home", home, "--json").json
    assert {key: files[:3] for key, files in counts(dry).items()} == {
        key: files[:3] for key, files in counts(real).items()
    }
    before = refold("sessions", "--json").raw
    pi_session(home, "two", "new")
    again = counts(refold("sync", "--home", home, "--dry-run", "--json").json)
    assert again["pi", "two"] == (1, 0, 4, 0)
    assert refold("sessions", "--json").raw == before


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content,
        lambda content: content + said("more", "n1", "e2"),
        lambda content: content.replace(b"text 1", b"TEXT 1"),
        lambda content: content.replace(b'"e2"', b'"n2"'),
        lambda content: content[: len(content) // 2],
        lambda content: content + b"\n",
        lambda content: header(session="another") + content.partition(b"\n")[2],
        lambda _: b"a shopping list\n",
    ],
    ids=["touched", "grown", "rewritten", "other id", "truncated", "blank line", "renamed", "garbage"],
)
def test_a_dry_run_counts_a_changed_file_as_an_import_does(
    refold: Refold, home: Path, change: Callable[[bytes], bytes]
) -> None:
    refold("sync", "--home", home)
    path = home / PI / "one" / "one-0.jsonl"
    path.write_bytes(change(path.read_bytes()))
    os.utime(path, (2e9, 2e9))
    dry, real = (
        refold("sync", "--home", home, "--json", *options, code=None) for options in (["--dry-run"], [])
    )
    assert {key: files[:3] for key, files in counts(dry.json).items()} == {
        key: files[:3] for key, files in counts(real.json).items()
    }
    for name in ("bytes", "folder"):
        assert [each[name] for each in dry.json["projects"]] == [each[name] for each in real.json["projects"]]
    assert (dry.json["failed"], dry.code) == (real.json["failed"], real.code)


def test_a_dry_run_of_a_damaged_store_is_refused(refold: Refold, home: Path) -> None:
    refold.store.mkdir()
    (refold.store / "data.mdb").write_bytes(b"x" * 40_000)
    refold.refused(StoreError, "sync", "--home", home, "--dry-run")


def test_growth_of_a_damaged_session_is_refused_with_a_line_that_names_verify(
    refold: Refold, home: Path
) -> None:
    refold("sync", "--home", home)
    with tables(refold.store) as stored:
        for key, value in stored.items("events"):
            stored.put("events", key, value.replace(b'"digest":"', b'"digest":"0'))
    path = home / PI / "one" / "one-0.jsonl"
    path.write_bytes(path.read_bytes() + said("more", "n1", "e2"))
    (line,) = refold("sync", "--home", home, code=1).errors.splitlines()
    assert ("one-0" in line, "run 'refold verify'" in line) == (True, True)


def test_a_dry_run_reports_a_damaged_session_as_an_import_does_and_counts_the_others(
    refold: Refold, home: Path
) -> None:
    files = [home / PI / "one" / f"one-{number}.jsonl" for number in range(2)]
    refold("sync", "--home", home)
    with tables(refold.store) as stored:
        for key, value in stored.items("events"):
            if b"one-0" in value:
                stored.put("events", key, value.replace(b'"digest":"', b'"digest":"0'))
    for path in files:
        os.utime(path, (1, 1))
    dry = refold("sync", "--home", home, "--dry-run", "--json", code=1)
    real = refold("sync", "--home", home, "--json", code=1)
    assert [each["file"] for each in dry.json["failed"]] == [str(files[0])]
    assert (dry.json["failed"], counts(dry.json)) == (real.json["failed"], counts(real.json))


def test_files_that_cannot_be_read_have_a_line_each_and_the_others_are_imported(
    refold: Refold, home: Path
) -> None:
    for name in ("bad", "worse"):
        write(home / PI / "one" / f"{name}.jsonl", b"a shopping list\n")
    dry = refold("sync", "--home", home, "--dry-run", "--json", code=1)
    outcome = refold("sync", "--home", home, "--json", code=1)
    assert (dry.json["failed"], dry.errors) == (outcome.json["failed"], outcome.errors)
    expected = [str(home / PI / "one" / f"{name}.jsonl") for name in ("bad", "worse")]
    assert [each["file"] for each in outcome.json["failed"]] == expected
    assert [line.split(": ")[1] for line in outcome.errors.splitlines()] == expected
    assert counts(outcome.json)["pi", "one"] == (4, 0, 0, 12)


def test_a_file_that_stays_unreadable_is_only_counted(refold: Refold, home: Path) -> None:
    for name in ("bad", "worse"):
        write(home / PI / "one" / f"{name}.jsonl", b"a shopping list\n")
    refold("sync", "--home", home, code=1)
    for options in ((), ("--dry-run",)):
        (line,) = refold("sync", "--home", home, *options).errors.splitlines()
        assert "2 unreadable files" in line
    failed = refold("sync", "--home", home, "--json").json["failed"]
    assert [each["known"] for each in failed] == [True, True]


def test_only_a_run_without_paths_remembers_reports(refold: Refold, home: Path) -> None:
    path = home / PI / "one" / "bad.jsonl"
    write(path, b"a shopping list\n")
    for arguments in ((path,), (path,), ("--home", home)):
        assert str(path) in refold("sync", *arguments, code=1).errors


def test_a_changed_file_that_fails_at_every_retry(refold: Refold, home: Path) -> None:
    refold("sync", "--home", home)
    path = home / PI / "one" / "one-0.jsonl"
    whole = path.read_bytes()
    for state in (b"a shopping list\n", b"a longer shopping list\n"):
        write(path, state)
        (line,) = refold("sync", "--home", home, code=1).errors.splitlines()
        assert str(path) in line
        for retry in range(2):
            pi_session(home, "two", f"{len(state)}-{retry}")
            again = refold("sync", "--home", home, "--json")
            assert "1 unreadable file" in again.errors
            assert counts(again.json)["pi", "two"][0] == 1
    write(path, whole + said("more", "n1", "e2"))
    assert counts(refold("sync", "--home", home, "--json").json)["pi", "one"] == (0, 1, 3, 1)


def test_an_unreadable_line_is_told(refold: Refold, home: Path) -> None:
    path = home / PI / "one" / "one-0.jsonl"
    write(path, path.read_bytes().replace(b'"e2"', b'"e2'))
    outcome = refold("sync", "--home", home, "--json")
    assert outcome.errors.startswith(f"refold: note: {path}: 1 line skipped")
    assert sum(each["skipped"] for each in outcome.json["projects"]) == 1
    assert refold("sync", "--home", home).errors == ""


def test_records_of_unknown_types_are_counted(refold: Refold, home: Path) -> None:
    path = home / PI / "one" / "one-0.jsonl"
    odd = b"".join(
        b'{"type":"%s","id":"x%d","parentId":null,"timestamp":"2025-12-08T22:00:00.000Z"}\n' % (type_, at)
        for at, type_ in enumerate([b"hologram", b"telepathy", b"hologram"])
    )
    write(path, path.read_bytes() + odd)
    outcome = refold("sync", "--home", home, "--json")
    (note,) = outcome.errors.splitlines()
    assert ("3 " in note, "hologram (2)" in note, "telepathy (1)" in note) == (True, True, True)
    assert max(each["unknown"] for each in outcome.json["projects"]) == 3
    assert refold("sync", "--home", home).errors == ""


def test_an_unreadable_file_that_has_changed_is_reported_again(refold: Refold, home: Path) -> None:
    bad = write(home / PI / "one" / "bad.jsonl", b"a shopping list\n")
    refold("sync", "--home", home, code=1)
    write(bad, b"another shopping list\n")
    assert str(bad) in refold("sync", "--home", home, code=1).errors


def test_a_dry_run_does_not_count_as_a_report(refold: Refold, home: Path) -> None:
    refold("sync", "--home", home)
    bad = write(home / PI / "one" / "bad.jsonl", b"a shopping list\n")
    for options in (("--dry-run",), ()):
        assert str(bad) in refold("sync", "--home", home, *options, code=1).errors


def test_many_files_of_another_harness_in_one_place_are_reported_in_one_line(
    refold: Refold, home: Path
) -> None:
    for name in ("a", "b", "c"):
        write(home / PI / "one" / f"{name}.jsonl", b'{"sessionId":"1","projectHash":"2"}')
    outcome = refold("sync", "--home", home, "--json")
    (line,) = outcome.errors.splitlines()
    assert ("3 files" in line, "Gemini CLI" in line) == (True, True)
    assert (len(outcome.json["failed"]), outcome.json["unread"]) == (3, ["Gemini CLI"])
    assert refold("sync", "--home", home).errors == ""


def test_harnesses_that_cannot_be_imported_are_named_and_no_failure(refold: Refold, home: Path) -> None:
    write(home / ".gemini/tmp/shop/chats/session-1.json", b'{"sessionId":"1","projectHash":"2"}')
    assert refold("sync", "--home", home, "--json").json["unread"] == ["Gemini CLI"]


def test_several_homes(refold: Refold, home: Path, tmp_path: Path) -> None:
    pi_session(tmp_path / "other", "x", "hers")
    found = counts(refold("sync", "--home", home, "--home", tmp_path / "other", "--json").json)
    assert found["pi", "x"] == (1, 0, 0, 3)
    assert len(found) == 7


def test_where_no_session_is_found_it_says_where_it_looked(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for option in ((), ("--dry-run",)):
        outcome = refold("sync", "--home", tmp_path / "empty", *option, code=1)
        assert str(tmp_path / "empty" / PI) in outcome.out
        assert "refold sync DIR" in outcome.lines[-1]
    assert refold("sync", "--home", tmp_path / "empty", "--json", code=1).json["projects"] == []
    assert not refold.store.exists()


def test_where_only_unsupported_harnesses_have_sessions_nothing_after_it_runs(
    refold: Refold, tmp_path: Path
) -> None:
    write(tmp_path / ".gemini/tmp/shop/chats/session-1.json", b'{"sessionId":"1","projectHash":"2"}')
    outcome = refold("sync", "--home", tmp_path, code=1)
    assert "Gemini CLI" in outcome.out
    assert not refold.store.exists()


def test_a_file_whose_name_is_no_utf_8_is_imported_and_remembered(refold: Refold, home: Path) -> None:
    path = home / PI / "one" / "one-0.jsonl"
    path.rename(path.with_name(os.fsdecode(b"one-\xff.jsonl")))
    refold("sync", "--home", home)
    assert counts(refold("sync", "--home", home, "--json").json)["pi", "one"] == (0, 0, 4, 0)


def test_what_was_imported_by_its_path_is_known(refold: Refold, home: Path) -> None:
    refold("sync", home / PI / "one", home / PI / "two" / "two-0.jsonl")
    found = counts(refold("sync", "--home", home, "--json").json)
    assert (found["pi", "one"], found["pi", "two"][:3]) == ((0, 0, 4, 0), (3, 0, 1))
