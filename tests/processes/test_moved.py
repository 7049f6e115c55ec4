"""Files that are taken from under an open store: it takes no more appends, and none that it took is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from select import select
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest

from eventstore import open_store
from eventstore.backup import backup
from eventstore.errors import StoreError
from eventstore.lmdb.data_files import StoreFiles
from eventstore.lmdb.environment import Durability
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import verify
from tests.support.events import event, message
from tests.support.processes import Program, output_of, running

TOGETHER = 3
"""Events an append."""

APPEND_UNTIL_REFUSED = f"""
import itertools, json, sys, threading
from eventstore import open_store
from eventstore.errors import StoreError
from tests.support.crowd import tell
from tests.support.events import event
def work(thread):
    for number in itertools.count():
        name = f"{{thread}}.{{number}}"
        try:
            log.append("s", [event(f"{{name}}-{{part}}", data="x" * 2000) for part in range({TOGETHER})])
        except StoreError as error:
            tell(json.dumps([error.path, error.problem]))
            return
        tell(name)
with open_store(sys.argv[1], durability=sys.argv[2]) as log:
    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"[: int(sys.argv[3])]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

APPEND_ONE = """
import sys
from eventstore import open_store
from tests.support.events import message
with open_store(sys.argv[1]) as log:
    print(log.append("other", [message("a")]).version, flush=True)
"""

TRY_TO_OPEN = """
import sys
from eventstore import open_store
from eventstore.errors import StoreError
try:
    with open_store(sys.argv[1], create=False):
        print("opened")
except StoreError as error:
    print(error.problem)
"""


def remove_lock(folder: Path) -> None:
    (folder / "lock.mdb").unlink()


def move_folder(folder: Path) -> None:
    folder.rename(folder.with_name("aside"))


def replace_folder(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("copy"))
    folder.rename(folder.with_name("aside"))
    folder.with_name("copy").rename(folder)


def replace_data(folder: Path) -> None:
    folder.with_name("aside").mkdir()
    shutil.copy(folder / "data.mdb", folder / "copy.mdb")
    os.link(folder / "data.mdb", folder.with_name("aside") / "data.mdb")
    (folder / "copy.mdb").replace(folder / "data.mdb")


def replace_lock(folder: Path) -> None:
    (folder / "new").touch()
    (folder / "new").replace(folder / "lock.mdb")


DISTURBANCES: dict[Callable[[Path], None], str] = {
    remove_lock: "lock.mdb",
    replace_lock: "lock.mdb",
    move_folder: "data.mdb",
    replace_folder: "data.mdb",
    replace_data: "data.mdb",
}
"""Changes to a store's files, with the file that the open store's error names."""


def appends(log: LmdbLog) -> set[str]:
    """The appends that a sound store holds, each of which has to be there whole."""
    assert verify(log).findings == []
    with log.snapshot() as snapshot:
        ids = list(snapshot.ids("s"))
    names = {name.rpartition("-")[0] for name in ids}
    assert len(ids) == TOGETHER * len(names)
    return names


@pytest.mark.slow
@pytest.mark.parametrize(("durability", "threads"), [("each", 1), ("batch", 3)])
@pytest.mark.parametrize(("disturb", "name"), DISTURBANCES.items())
def test_a_writer_whose_files_are_taken_away_stops_and_loses_no_append(
    tmp_path: Path, disturb: Callable[[Path], None], name: str, durability: Durability, threads: int
) -> None:
    path = tmp_path / "store"
    with running(APPEND_UNTIL_REFUSED, path, durability, str(threads)) as writer:
        lines = [writer.hear() for _ in range(20)]
        disturb(path)
        lines += writer.finish()
    refused = [line for line in lines if line.startswith("[")]
    assert len(refused) == threads
    assert all(str(path) in line and name in line for line in refused)
    kept = tmp_path / "aside" if (tmp_path / "aside").exists() else path
    with open_store(kept, create=False) as log:
        assert appends(log) == set(lines) - set(refused)


@pytest.mark.slow
def test_two_writers_without_a_common_lock_file_never_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store"
    acknowledged: set[str] = set()
    for turn in range(8):
        session = f"other{turn}"
        with running(APPEND_UNTIL_REFUSED, path, "each", "1") as writer:
            lines = [writer.hear() for _ in range(5)]
            remove_lock(path)
            with open_store(path) as log:
                for number in range(20):
                    assert log.append(session, [message(f"e{number}")]).version == number + 1
            lines += writer.finish()
        assert lines[-1].startswith("[")
        # Each writer gives its appends the names of the one before, which sends what is stored already again.
        acknowledged |= set(lines[:-1])
    with open_store(path, create=False) as log, log.snapshot() as snapshot:
        assert appends(log) == acknowledged
        assert [head.version for head in snapshot.heads() if head.name != "s"] == [20] * 8


@pytest.mark.slow
def test_who_makes_a_new_lock_file_waits_for_the_commit_in_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store"
    commit = StoreFiles.commit
    running_others: list[Program] = []
    with open_store(path) as log, ExitStack() as others:

        def commit_without_lock_file(files: StoreFiles, env: Any, transaction: Any) -> None:
            def taken_away() -> None:
                remove_lock(path)
                other = others.enter_context(running(APPEND_ONE, path))
                while not (path / "lock.mdb").exists():
                    sleep(0.01)
                assert select([other.process.stdout], [], [], 1)[0] == []
                transaction.commit()
                running_others.append(other)

            commit(files, env, SimpleNamespace(id=transaction.id, commit=taken_away))

        monkeypatch.setattr(StoreFiles, "commit", commit_without_lock_file)
        log.append("s", [message("a")])
        assert running_others[0].finish() == ["1"]
    with open_store(path) as log, log.snapshot() as snapshot:
        assert [(head.name, head.version) for head in snapshot.heads()] == [("other", 1), ("s", 1)]


@pytest.mark.parametrize(("disturb", "name"), DISTURBANCES.items())
def test_an_append_to_files_that_were_taken_away_is_refused_and_leaves_nothing(
    tmp_path: Path, disturb: Callable[[Path], None], name: str
) -> None:
    path = tmp_path / "store"
    with open_store(path) as log:
        log.append("s", [message("a")])
        disturb(path)
        for use in (
            lambda: log.append("s", [message("b")]),
            lambda: log.append("t", [message("b")], blobs=[b"payload"]),
            lambda: log.keep([(b"key", b"value")]),
        ):
            with pytest.raises(StoreError) as info:
                use()
            assert info.value.path == str(path)
            assert info.value.problem.startswith(f"its {name} ")
        with log.snapshot() as snapshot:
            assert [(head.name, head.version) for head in snapshot.heads()] == [("s", 1)]
            assert snapshot.derived(b"key") is None
    kept = tmp_path / "aside" if (tmp_path / "aside").exists() else path
    with open_store(kept, create=False) as log:
        assert log.append("s", [message("b")]).version == 2
        assert verify(log).findings == []


def test_a_store_with_a_relative_name_stays_the_same_where_the_process_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("store") as log:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert log.append("s", [message("a")]).version == 1


def test_a_link_that_leads_elsewhere_takes_no_more_appends(tmp_path: Path) -> None:
    for name in ("one", "two"):
        open_store(tmp_path / name).close()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    with open_store(tmp_path / "link") as log:
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to(tmp_path / "two")
        with pytest.raises(StoreError):
            log.append("s", [message("a")])


def test_a_data_file_that_another_is_copied_into_takes_no_more_appends(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as log:
        log.append("s", [event("a", data="x" * 9000)])
        backup(log, tmp_path / "copy")
        log.append("s", [event("b", data="x" * 9000)])
        whole = (tmp_path / "copy" / "data.mdb").read_bytes()
        with (tmp_path / "store" / "data.mdb").open("rb+") as file:
            file.write(whole)
        with pytest.raises(StoreError) as info:
            log.append("s", [event("c", data="x" * 9000)])
        assert info.value.problem.startswith("its data.mdb ")


def test_a_store_whose_data_was_replaced_is_not_opened_while_another_process_has_the_old(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store"
    with open_store(path) as log:
        for number in range(3):
            log.append("s", [message(f"e{number}")])
        backup(log, tmp_path / "copy")
        log.append("s", [message("later")])
        (tmp_path / "copy" / "data.mdb").replace(path / "data.mdb")
        assert output_of(TRY_TO_OPEN, path).startswith("its data.mdb ")
    assert output_of(TRY_TO_OPEN, path) == "opened\n"
    with open_store(path) as log:
        assert log.append("s", [message("e3")]).version == 4
        assert verify(log).findings == []
