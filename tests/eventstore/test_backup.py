"""Copies of a store in use: one consistent state, verified, a store of its own; or nothing at all."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from eventstore import open_store
from eventstore.backup import backup
from eventstore.errors import StoreError
from eventstore.lmdb.data_files import lock
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import read_heads, verify
from tests.support.events import decision, events, frames, message, version
from tests.support.permissions import modes
from tests.support.processes import running
from tests.support.tampering import event_key, tables

TOGETHER = 5

APPEND_UNTIL_TOLD = f"""
import itertools, select, sys
from eventstore import open_store
from tests.support.events import event
with open_store(sys.argv[1]) as log:
    for number in itertools.count():
        names = [f"e{{number}}-{{part}}" for part in range({TOGETHER})]
        log.append("s", [event(name, data="x" * (number * 997 % 5000)) for name in names])
        log.keep([(b"key", bytes(10_000))])
        if not number:
            print("begun", flush=True)
        if select.select([sys.stdin], [], [], 0)[0]:
            break
"""

BACK_UP_AND_STOP = """
import sys
import eventstore.backup
from cli.main import main
from eventstore.verify import verify
def stopping(log, **options):
    print("verifying", flush=True)
    sys.stdin.readline()
    return verify(log, **options)
eventstore.backup.verify = stopping
main(["--store", sys.argv[1], "backup", "--json", sys.argv[2]])
"""


@pytest.fixture
def filled(store: LmdbLog) -> LmdbLog:
    store.append("s", [message("a"), decision("d"), message("b")], blobs=[b"payload"], source="file")
    store.append("t", [message("c", "text " * 5000)])
    store.keep([(b"key", b"value")])
    return store


def refusal(log: LmdbLog, target: Path, **options) -> StoreError:
    """Return the error of a refused backup: it has one line, and nothing is left behind."""
    before = sorted(target.parent.iterdir()) if target.parent.exists() else []
    with pytest.raises(StoreError) as caught:
        backup(log, target, **options)
    assert (sorted(target.parent.iterdir()) if target.parent.exists() else []) == before
    assert "\n" not in str(caught.value)
    assert caught.value.path == str(target)
    return caught.value


class TestCopies:
    def test_a_backup_is_a_store_with_the_same_in_it(self, filled: LmdbLog, tmp_path: Path) -> None:
        made = backup(filled, tmp_path / "copy")
        assert (made.path, made.bytes) == (
            str(tmp_path / "copy"),
            (tmp_path / "copy" / "data.mdb").stat().st_size,
        )
        assert (made.verification.sessions, made.verification.events) == (2, 4)
        with open_store(tmp_path / "copy", create=False) as copy:
            for session in ("s", "t"):
                assert frames(copy, session) == frames(filled, session)
            with filled.snapshot() as original, copy.snapshot() as snapshot:
                assert list(snapshot.heads()) == list(original.heads())
                assert snapshot.derived(b"key") == b"value"
            assert verify(copy).findings == []
            assert copy.append("s", [message("e")]).version == 4
        assert version(filled, "s") == 3

    def test_a_backup_holds_one_file_that_needs_no_other(self, filled: LmdbLog, tmp_path: Path) -> None:
        backup(filled, tmp_path / "copy")
        assert [entry.name for entry in (tmp_path / "copy").iterdir()] == ["data.mdb"]
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy", "copy.heads", "store"]

    def test_a_backup_leaves_free_pages_out(self, filled: LmdbLog, tmp_path: Path) -> None:
        filled.keep([(b"large", bytes(1_000_000))])
        filled.keep([(b"large", b"")])
        made = backup(filled, tmp_path / "copy")
        assert made.bytes < filled.size().file_bytes - 900_000
        with open_store(tmp_path / "copy") as copy:
            assert copy.size().free_bytes == 0

    def test_an_empty_store_can_be_backed_up(self, store: LmdbLog, tmp_path: Path) -> None:
        assert backup(store, tmp_path / "copy").verification.events == 0
        with open_store(tmp_path / "copy", create=False) as copy:
            assert copy.append("s", [message("a")]).version == 1

    def test_a_backup_of_a_backup_is_one(self, filled: LmdbLog, tmp_path: Path) -> None:
        backup(filled, tmp_path / "copy")
        with open_store(tmp_path / "copy") as copy:
            assert backup(copy, tmp_path / "second").verification.events == 4

    def test_a_backup_may_have_a_relative_name(
        self, filled: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert backup(filled, "copy").path == "copy"
        assert (tmp_path / "copy" / "data.mdb").exists()

    def test_progress_tells_of_the_verification(self, filled: LmdbLog, tmp_path: Path) -> None:
        told: list[tuple[int, int]] = []
        backup(filled, tmp_path / "copy", progress=lambda *numbers: told.append(numbers))
        assert told[-1] == (4, 4)


class TestInUse:
    def test_a_backup_of_a_store_that_is_written_has_whole_appends_up_to_a_moment(
        self, store: LmdbLog, tmp_path: Path
    ) -> None:
        with running(APPEND_UNTIL_TOLD, store.path) as writer:
            assert writer.hear() == "begun"
            held = [0]
            while len(set(held)) < 5:
                least = version(store, "s")
                made = backup(store, tmp_path / f"{len(held)}")
                assert made.verification.events % TOGETHER == 0
                assert made.verification.events >= max(least, held[-1])
                held.append(made.verification.events)
            writer.say("enough")
            writer.finish()
        everything = [event.id for event in events(store, "s")]
        for number, count in enumerate(held[1:], 1):
            with open_store(tmp_path / f"{number}", create=False) as copy:
                assert [event.id for event in events(copy, "s")] == everything[:count]
                assert copy.append("s", [message("other")]).version == count + 1

    def test_a_backup_may_be_made_inside_an_open_snapshot(self, filled: LmdbLog, tmp_path: Path) -> None:
        with filled.snapshot() as snapshot:
            filled.append("s", [message("e")])
            assert backup(filled, tmp_path / "copy").verification.events == 5
            assert len(list(snapshot.frames("s"))) == 3


class TestRefused:
    @pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
    def test_what_is_there_already_is_left_alone(
        self, filled: LmdbLog, tmp_path: Path, make: Callable[[Path], None]
    ) -> None:
        make(tmp_path / "copy")
        assert not isinstance(refusal(filled, tmp_path / "copy").__cause__, OSError)
        assert (tmp_path / "copy").exists()

    def test_a_backup_goes_into_a_folder_that_is_there(self, filled: LmdbLog, tmp_path: Path) -> None:
        assert isinstance(refusal(filled, tmp_path / "nowhere" / "copy").__cause__, FileNotFoundError)

    def test_a_backup_does_not_go_into_a_file(self, filled: LmdbLog, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(StoreError) as caught:
            backup(filled, tmp_path / "file" / "copy")
        assert isinstance(caught.value.__cause__, OSError)

    def test_a_name_that_is_too_long_is_refused(self, filled: LmdbLog, tmp_path: Path) -> None:
        assert isinstance(refusal(filled, tmp_path / ("x" * 255)).__cause__, OSError)

    def test_a_folder_that_comes_meanwhile_is_not_replaced(self, filled: LmdbLog, tmp_path: Path) -> None:
        target = tmp_path / "copy"

        def progress(*_: int) -> None:
            target.mkdir(exist_ok=True)
            (target / "mine").touch()

        with pytest.raises(StoreError) as caught:
            backup(filled, target, progress=progress)
        assert isinstance(caught.value.__cause__, OSError)
        assert [entry.name for entry in target.iterdir()] == ["mine"]
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy", "store"]

    def test_a_copy_that_is_not_sound_is_no_backup(self, filled: LmdbLog, tmp_path: Path) -> None:
        filled.close()
        with tables(filled.path) as changing:
            changing.put("events", event_key(1, 2), changing.get("events", event_key(1, 2))[:-1] + b"!")
        with open_store(filled.path) as damaged:
            refused = refusal(damaged, tmp_path / "copy")
        assert "(s #2: " in refused.problem
        assert "refold verify" in refused.remedy

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_a_backup_that_is_broken_off_leaves_nothing(
        self, filled: LmdbLog, tmp_path: Path, error: type[BaseException]
    ) -> None:
        def progress(*_: int) -> None:
            raise error

        with pytest.raises(error):
            backup(filled, tmp_path / "copy", progress=progress)
        assert [entry.name for entry in tmp_path.iterdir()] == ["store"]
        assert backup(filled, tmp_path / "copy").verification.events == 4

    def test_a_copy_that_cannot_be_flushed_is_no_backup(
        self, filled: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fsync(_: int) -> None:
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fsync)
            assert "(Input/output error)" in refusal(filled, tmp_path / "copy").problem

    def test_a_closed_store_is_not_copied(self, filled: LmdbLog, tmp_path: Path) -> None:
        filled.close()
        with pytest.raises(StoreError) as caught:
            backup(filled, tmp_path / "copy")
        assert caught.value.path == str(filled.path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["store"]


def _fail(*_: object) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


class TestHeads:
    def test_the_heads_beside_a_backup_are_those_of_its_sessions(
        self, filled: LmdbLog, tmp_path: Path
    ) -> None:
        made = backup(filled, tmp_path / "copy")
        assert made.heads == str(tmp_path / "copy.heads")
        saved = read_heads(made.heads)
        with open_store(tmp_path / "copy") as copy, copy.snapshot() as snapshot:
            found = [(head.name, head.version, head.digest.hex()) for head in snapshot.heads()]
        assert [(head.session, head.version, head.digest) for head in saved.heads] == found
        assert saved.by == "backup"

    def test_a_file_in_the_place_of_the_heads_is_left_alone(self, filled: LmdbLog, tmp_path: Path) -> None:
        (tmp_path / "copy.heads").write_text("of another backup")
        with pytest.raises(StoreError) as info:
            backup(filled, tmp_path / "copy", progress=_fail)
        assert info.value.path == str(tmp_path / "copy.heads")
        assert (tmp_path / "copy.heads").read_text() == "of another backup"
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy.heads", "store"]

    @pytest.mark.parametrize("knows_links", [True, False])
    def test_heads_that_come_meanwhile_are_not_replaced(
        self, filled: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, knows_links: bool
    ) -> None:
        heads = tmp_path / "copy.heads"
        if not knows_links:
            monkeypatch.setattr(os, "link", _fail)
        with pytest.raises(StoreError) as info:
            backup(filled, tmp_path / "copy", progress=lambda *_: heads.write_text("mine") and None)
        assert info.value.path == str(heads)
        assert heads.read_text() == "mine"
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy.heads", "store"]

    def test_a_file_system_without_links_holds_a_backup(
        self, filled: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "link", _fail)
        assert read_heads(backup(filled, tmp_path / "copy").heads).heads

    def test_a_folder_in_the_place_of_the_heads_is_left_alone(self, filled: LmdbLog, tmp_path: Path) -> None:
        (tmp_path / "copy.heads").mkdir()
        refusal(filled, tmp_path / "copy.heads")
        with pytest.raises(StoreError):
            backup(filled, tmp_path / "copy")
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy.heads", "store"]


@pytest.mark.skipif(os.name != "posix", reason="this system knows no such permissions")
@pytest.mark.parametrize("mask", [0, 0o077])
def test_a_backup_is_its_owners_alone(filled: LmdbLog, tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        backup(filled, tmp_path / "copy")
    finally:
        os.umask(before)
    assert modes(tmp_path / "copy") == {"copy": 0o700, "data.mdb": 0o600}
    assert modes(tmp_path / "copy.heads") == {"copy.heads": 0o600}


class TestKilled:
    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_backup_that_is_told_to_end_leaves_nothing(
        self, filled: LmdbLog, tmp_path: Path, number: signal.Signals
    ) -> None:
        if signal.getsignal(number) is signal.SIG_IGN:
            pytest.skip("whoever runs the tests ignores this signal, and so do its children")
        with running(BACK_UP_AND_STOP, filled.path, tmp_path / "copy") as program:
            assert program.hear() == "verifying"
            program.process.send_signal(number)
            program.process.wait()
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["store"]

    @pytest.mark.slow
    def test_what_a_killed_backup_leaves_goes_with_the_next(self, filled: LmdbLog, tmp_path: Path) -> None:
        with running(BACK_UP_AND_STOP, filled.path, tmp_path / "copy") as program:
            assert program.hear() == "verifying"
            program.kill()
        (left,) = set(tmp_path.iterdir()) - {tmp_path / "store"}
        assert left.name.startswith(".")
        backup(filled, tmp_path / "copy")
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy", "copy.heads", "store"]

    @pytest.mark.slow
    def test_a_backup_that_is_going_on_is_left_alone(self, filled: LmdbLog, tmp_path: Path) -> None:
        with running(BACK_UP_AND_STOP, filled.path, tmp_path / "copy") as program:
            assert program.hear() == "verifying"
            before = set(tmp_path.iterdir())
            backup(filled, tmp_path / "other")
            assert set(tmp_path.iterdir()) == before | {tmp_path / "other", tmp_path / "other.heads"}
            program.say("go on")
            program.finish()
        assert backup(filled, tmp_path / "third").verification == verify(filled)
        assert (tmp_path / "copy" / "data.mdb").exists()


@pytest.mark.skipif(os.name != "posix", reason="this system locks no folders")
class TestLeftovers:
    def test_a_folder_that_was_left_empty_goes_with_the_next_backup(
        self, filled: LmdbLog, tmp_path: Path
    ) -> None:
        (tmp_path / ".refold-backup-left").mkdir()
        backup(filled, tmp_path / "copy")
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy", "copy.heads", "store"]

    def test_a_new_folder_that_another_backup_removes_is_made_again(
        self, filled: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make, made = tempfile.mkdtemp, []

        def mkdtemp(**options) -> str:
            made.append(make(**options))
            if len(made) == 1:
                shutil.rmtree(made[0])
            return made[-1]

        monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
        assert backup(filled, tmp_path / "copy").verification.events == 4
        assert len(made) == 2

    def test_a_new_folder_that_another_backup_looks_at_is_locked_all_the_same(
        self, filled: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make = tempfile.mkdtemp
        gained: list[bool] = []
        looking: list[Thread] = []

        def mkdtemp(**options) -> str:
            made = make(**options)
            handle = os.open(made, os.O_RDONLY)
            assert lock(handle)

            def look() -> None:
                time.sleep(0.1)
                os.close(handle)

            looking.append(Thread(target=look))
            looking[0].start()
            return made

        def progress(*_: int) -> None:
            looking[0].join()
            (folder,) = tmp_path.glob(".refold-backup-*")
            handle = os.open(folder, os.O_RDONLY)
            gained.append(lock(handle, waits=False))
            os.close(handle)

        monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
        backup(filled, tmp_path / "copy", progress=progress)
        assert set(gained) == {False}


def test_a_store_of_many_events_has_a_backup(tmp_path: Path) -> None:
    # LMDB copies a table of many duplicates wrongly, or crashes.
    with open_store(tmp_path / "store") as log:
        log.append("s", [message(f"m{number}") for number in range(3000)])
        assert backup(log, tmp_path / "copy").verification.events == 3000


def test_everything_is_flushed_before_a_backup_appears(
    filled: LmdbLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, target = os.fsync, tmp_path / "copy"
    flushed: list[tuple[bool, int]] = []

    def noting(handle: int) -> None:
        flushed.append((target.exists(), os.fstat(handle).st_ino))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noting)
    backup(filled, target)
    inodes = [path.stat().st_ino for path in (target / "data.mdb", tmp_path / "copy.heads", target)]
    assert {(False, inode) for inode in inodes} <= set(flushed)
    assert flushed[-1] == (True, tmp_path.stat().st_ino)
