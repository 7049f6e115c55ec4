"""Finding session files of all harnesses, and importing those that are new or have changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eventstore import open_store
from eventstore.errors import BadInputError, StoreError
from eventstore.files import syncing
from eventstore.files.discovery import SessionFile, files_below, session_files
from eventstore.files.syncing import FileImport, compare_sources, import_files
from eventstore.lmdb.store import LmdbLog
from eventstore.log import AppendResult
from eventstore.verify import verify
from tests.support import claude_code
from tests.support.events import NOW
from tests.support.growth import NO_SQUARE, times_as_long
from tests.support.homes import CLAUDE, OMP, PI, a_home, chains, pi_session, write
from tests.support.madeup.format import HEADER, register
from tests.support.pi_files import header, said


def changes(log: LmdbLog, files: list[SessionFile]) -> dict[str, str]:
    with log.snapshot() as snapshot:
        return {Path(each.file.path).name: each.change for each in compare_sources(snapshot, files)}


@pytest.fixture
def other_store(tmp_path: Path) -> Iterator[LmdbLog]:
    with open_store(tmp_path / "other", clock=lambda: NOW) as log:
        yield log


Divide = Callable[[list[SessionFile], dict[str, list[str]]], object]


@pytest.mark.parametrize("divide", [syncing._newest_apart, syncing._queues])
def test_a_chain_of_related_files_is_found_in_a_time_that_grows_with_it(divide: Divide) -> None:
    def chain(count: int) -> tuple[list[SessionFile], dict[str, list[str]]]:
        names = [str(number) for number in range(count)]
        files = [
            SessionFile(harness="", place="", folder=name, path=name, status=Path().stat()) for name in names
        ]
        return files, {name: [f"tie-{name}", f"tie-{int(name) + 1}"] for name in names}

    def run(of: tuple[list[SessionFile], dict[str, list[str]]]) -> None:
        found = divide(*of)
        assert found in (([], of[0]), [of[0]])

    assert times_as_long(run, chain(300), chain(2400)) < NO_SQUARE


class TestFinding:
    def test_files_of_every_harness_are_found_with_their_project(self, tmp_path: Path) -> None:
        home = a_home(tmp_path)
        found = session_files({}, [str(home)])
        projects = {"pi": ("one", "two", "three"), "oh-my-pi": ("p", "q"), "claude-code": ("-home-me",)}
        assert {(each.harness, Path(each.folder).name) for each in found} == {
            (harness, folder) for harness, folders in projects.items() for folder in folders
        }
        assert len(found) == 18

    def test_a_parent_comes_before_its_children(self, tmp_path: Path) -> None:
        found = [each.path for each in session_files({}, [str(a_home(tmp_path))])]
        for project in ("p", "q"):
            parent = next(path for path in found if path.endswith(f"{project}/2026_x.jsonl"))
            child = next(path for path in found if path.endswith(f"{project}/2026_x/worker.jsonl"))
            assert found.index(parent) < found.index(child)

    def test_variables_move_the_places_of_this_user_but_of_no_other_home(self, tmp_path: Path) -> None:
        home = a_home(tmp_path)
        write(tmp_path / "moved" / "sessions" / "x" / "a.jsonl", header(session="a"))
        environment = {"PI_CODING_AGENT_DIR": str(tmp_path / "moved")}
        moved = [each.path for each in session_files(environment) if each.path.startswith(str(tmp_path))]
        assert moved == [str(tmp_path / "moved" / "sessions" / "x" / "a.jsonl")]
        assert len(session_files(environment, [str(home)])) == 18

    def test_several_homes_give_no_file_twice(self, tmp_path: Path) -> None:
        home, other = a_home(tmp_path), tmp_path / "other-home"
        pi_session(other, "x", "elsewhere")
        os.link(home / PI / "one" / "one-0.jsonl", other / PI / "x" / "again.jsonl")
        found = session_files({}, [str(home), str(other)])
        assert len(found) == 18 + 1
        assert len({each.status.st_ino for each in found}) == len(found)

    def test_what_is_no_file_is_none(self, tmp_path: Path) -> None:
        folder = tmp_path / PI / "x"
        folder.mkdir(parents=True)
        os.mkfifo(folder / "pipe.jsonl")
        (folder / "folder.jsonl").mkdir()
        (folder / "gone.jsonl").symlink_to("nowhere")
        assert session_files({}, [str(tmp_path)]) == []

    def test_below_a_folder_files_are_recognized_by_their_contents(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        register(monkeypatch)
        write(tmp_path / "a" / "made.up", HEADER + b'{"in":"m","id":"1","kind":"say"}\n')
        write(tmp_path / "a" / "b.jsonl", header(session="b"))
        write(tmp_path / "a" / "notes.txt", b"a shopping list\n")
        write(tmp_path / "a" / "codex.json", b'{"info":{"id":"ses_1"},"messages":[]}')
        found = [Path(each.path).name for each in files_below(str(tmp_path))]
        assert found == ["b.jsonl", "codex.json", "made.up"]

    @pytest.mark.parametrize("folder", [".", "./", "below", "{}"])
    def test_a_file_belongs_to_the_folder_directly_in_its_place(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        folder = folder.format(tmp_path)
        write(Path(folder) / "here.jsonl", header(session="a"))
        write(Path(folder) / "project" / "there.jsonl", header(session="b"))
        write(Path(folder) / "project" / "deep" / "er.jsonl", header(session="c"))
        found = {Path(each.path).name: each.folder for each in files_below(folder)}
        assert found.keys() == {"here.jsonl", "there.jsonl", "er.jsonl"}
        assert Path(found["here.jsonl"]) == Path(folder)
        assert {Path(found[name]) for name in ("there.jsonl", "er.jsonl")} == {Path(folder, "project")}


class TestImporting:
    def test_a_second_run_finds_everything_unchanged(self, store: LmdbLog, tmp_path: Path) -> None:
        files = session_files({}, [str(a_home(tmp_path))])
        assert set(changes(store, files).values()) == {"new"}
        imported = list(import_files(store, files))
        assert [each.error for each in imported] == [None] * 18
        assert set(changes(store, files).values()) == {"unchanged"}
        assert verify(store).findings == []

    def test_a_file_that_has_not_changed_is_not_opened(self, store: LmdbLog, tmp_path: Path) -> None:
        path = pi_session(tmp_path, "x", "a")
        list(import_files(store, session_files({}, [str(tmp_path)])))
        with path.open("r+b") as file:
            # As long as before, and of the same time: only who opens it sees that it is none of a session.
            file.write(b"x" * path.stat().st_size)
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert changes(store, session_files({}, [str(tmp_path)])) == {"a.jsonl": "unchanged"}

    def test_grown_rewritten_renamed_and_replaced_files_have_changed(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        for name in ("grown", "rewritten", "replaced", "renamed", "same"):
            pi_session(tmp_path, "x", name)
        list(import_files(store, session_files({}, [str(tmp_path)])))
        folder = tmp_path / PI / "x"
        with (folder / "grown.jsonl").open("ab") as file:
            file.write(said("more", "n1", "e2"))
        os.utime(folder / "grown.jsonl", (1_000_000_000, 1_000_000_000))
        content = (folder / "rewritten.jsonl").read_bytes()
        (folder / "rewritten.jsonl").write_bytes(content.replace(b"text 1", b"TEXT 1"))
        write(folder / "new", (folder / "replaced.jsonl").read_bytes()).replace(folder / "replaced.jsonl")
        (folder / "renamed.jsonl").rename(folder / "other.jsonl")
        files = session_files({}, [str(tmp_path)])
        assert changes(store, files) == {
            "grown.jsonl": "changed",
            "rewritten.jsonl": "changed",
            "replaced.jsonl": "changed",
            "other.jsonl": "new",
            "same.jsonl": "unchanged",
        }
        added = {each.file.path: each.sessions[0].added for each in import_files(store, files)}
        assert added[str(folder / "grown.jsonl")] == 1
        assert added[str(folder / "other.jsonl")] == 0

    def test_a_file_that_cannot_be_read_keeps_no_other_from_being_imported(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        pi_session(tmp_path, "x", "a")
        write(tmp_path / PI / "x" / "b.jsonl", b"a shopping list\n")
        pi_session(tmp_path, "x", "c")
        found = list(import_files(store, session_files({}, [str(tmp_path)])))
        assert set(chains(store)) == {"a", "c"}
        (failed,) = [each for each in found if each.error]
        assert isinstance(failed.error, BadInputError)
        assert failed.file.path == str(tmp_path / PI / "x" / "b.jsonl")

    def test_progress_ends_at_the_size_of_all_files(self, store: LmdbLog, tmp_path: Path) -> None:
        files = session_files({}, [str(a_home(tmp_path))])
        heard: list[tuple[int, int]] = []
        list(import_files(store, files, progress=lambda done, total: heard.append((done, total))))
        total = sum(each.status.st_size for each in files)
        assert heard[-1] == (total, total)
        assert heard == sorted(heard)

    @pytest.mark.parametrize("name", ["one-1", "three-3", "parent-p", "child-q", "c2"])
    def test_the_file_that_changed_last_is_the_most_recently_written_session(
        self, store: LmdbLog, tmp_path: Path, name: str
    ) -> None:
        home = a_home(tmp_path)
        parent = home / OMP / "p" / "2026_x.jsonl"
        write(parent, parent.read_bytes().replace(b'"a1"', b'"own1"'))
        files = session_files({}, [str(home)])
        newest = next(each.path for each in files if name in _session_of(each.path))
        _touch(newest)
        write(home / PI / "one" / "unreadable.jsonl", b"a shopping list\n", time=1_200_000_000)
        imported = list(import_files(store, session_files({}, [str(home)])))
        assert imported[-1].file.path == newest
        assert _last_written(store) == imported[-1].sessions[0].id
        assert verify(store).findings == []

    def test_a_new_harness_needs_no_change(
        self, store: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        register(monkeypatch)
        records = [{"in": "m", "id": "1", "kind": "say", "message": {"who": "person", "text": "hi"}}]
        write(
            tmp_path / "made" / "kept" / "a.log",
            HEADER + b"".join(json.dumps(each).encode() + b"\n" for each in records),
        )
        environment = {"MADEUP_HOME": str(tmp_path / "made")}
        files = [each for each in session_files(environment) if each.harness == "madeup"]
        assert [each.error for each in import_files(store, files)] == [None]
        assert changes(store, files) == {"a.log": "unchanged"}
        with store.snapshot() as snapshot:
            assert [each.harness for each in snapshot.sources()] == ["madeup"]


class TestProcesses:
    @pytest.fixture(autouse=True)
    def small_files_are_worth_a_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(syncing, "_WORTH_A_PROCESS", 1)

    @pytest.mark.slow
    def test_several_processes_make_the_store_that_one_makes(
        self, store: LmdbLog, other_store: LmdbLog, tmp_path: Path
    ) -> None:
        files = session_files({}, [str(a_home(tmp_path))])
        alone = list(import_files(other_store, files, jobs=1))
        heard: list[int] = []
        together = list(import_files(store, files, jobs=3, progress=lambda done, _: heard.append(done)))
        assert chains(store) == chains(other_store)
        assert len(chains(store)) == 18
        assert _told(together) == _told(alone)
        assert heard[-1] == sum(each.status.st_size for each in files)
        with store.snapshot() as snapshot, other_store.snapshot() as other:
            assert sorted(snapshot.sources(), key=str) == sorted(other.sources(), key=str)

    @pytest.mark.slow
    def test_the_file_that_changed_last_is_imported_alone_after_all_others(
        self, store: LmdbLog, other_store: LmdbLog, tmp_path: Path
    ) -> None:
        home = a_home(tmp_path)
        newest = home / PI / "two" / "two-1.jsonl"
        _touch(newest)
        files = session_files({}, [str(home)])
        for log, jobs in ((store, 3), (other_store, 1)):
            assert list(import_files(log, files, jobs=jobs))[-1].file.path == str(newest)
            assert _last_written(log) == "two-1"
        assert chains(store) == chains(other_store)

    def test_one_file_needs_no_process(self, store: LmdbLog, tmp_path: Path) -> None:
        pi_session(tmp_path, "p", "only")
        found = list(import_files(store, session_files({}, [str(tmp_path)]), jobs=3))
        assert [each.error for each in found] == [None]

    def test_copies_of_a_session_in_several_folders_are_one_session(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        content = pi_session(tmp_path, "p0", "same", records=50).read_bytes()
        for number in range(1, 6):
            write(tmp_path / PI / f"p{number}" / "same.jsonl", content)
        found = list(import_files(store, session_files({}, [str(tmp_path)]), jobs=3))
        assert [each.error for each in found] == [None] * 6
        assert list(chains(store)) == ["same"]
        assert sum(each.sessions[0].added for each in found) == 50
        assert verify(store).findings == []

    def test_versions_of_a_session_that_contradict_each_other_are_imported_one_after_another(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        content = pi_session(tmp_path, "p0", "same", records=50).read_bytes()
        for number in range(1, 6):
            write(tmp_path / PI / f"p{number}" / "same.jsonl", content.replace(b"text", b"word%d" % number))
        found = list(import_files(store, session_files({}, [str(tmp_path)]), jobs=3))
        assert [each.error for each in found] == [None] * 6
        assert verify(store).findings == []

    def test_copies_in_several_projects_are_linked_as_one_process_links_them(
        self, store: LmdbLog, other_store: LmdbLog, tmp_path: Path
    ) -> None:
        for number in range(8):
            lines = [claude_code.said("u1", None, "hello"), claude_code.answer("a1", "u1", "m1", "yes")]
            lines.append(claude_code.said(f"own-{number}", "a1", "go on", at=5 + number))
            content = b"\n".join(lines).replace(claude_code.SESSION.encode(), b"c%d" % number) + b"\n"
            write(tmp_path / CLAUDE / f"project-{number}" / f"c{number}.jsonl", content)
        files = session_files({}, [str(tmp_path)])
        list(import_files(other_store, files, jobs=1))
        list(import_files(store, files, jobs=4))
        assert chains(store) == chains(other_store)

    @pytest.mark.slow
    def test_a_store_that_cannot_be_written_ends_the_import(
        self, store: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: Any, **__: Any) -> AppendResult:
            raise StoreError(store.path, "the disk is full", "free some space")

        monkeypatch.setattr(store, "append", full)
        with pytest.raises(StoreError):
            list(import_files(store, session_files({}, [str(a_home(tmp_path))]), jobs=2))


def _told(imported: list[FileImport]) -> list[tuple[str, object]]:
    return sorted((each.file.path, each.sessions) for each in imported)


def _session_of(path: str) -> str:
    """Return the ids in a session file's first lines."""
    return Path(path).read_text()[:2000]


def _touch(path: str | Path) -> None:
    os.utime(path, (1_100_000_000, 1_100_000_000))


def _last_written(log: LmdbLog) -> str:
    with log.snapshot() as snapshot:
        return max(snapshot.heads(), key=lambda head: head.position).name
